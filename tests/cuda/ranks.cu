// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
// Strategies of several ranks, each a thread with a logical device of a GPU.
#include <weft/cuda.cuh>

#include <catch2/catch.hpp>
#include <cstddef>
#include <vector>

#include <weft/comm/launch.hpp>

#include "updates.hpp"

namespace ranks_tests {

using namespace weft;
using namespace weft::testing;
using comm::ThreadCommunicator;

namespace {

//! What `updates(communicator)` gives on each rank.
template <class Updates>
std::vector<std::vector<float>> on_ranks(int ranks, const Updates& updates) {
  std::vector<std::vector<float>> values(static_cast<std::size_t>(ranks));
  comm::launch_threads(ranks, comm::Timeout(60), [&](ThreadCommunicator& communicator) {
    values[static_cast<std::size_t>(communicator.rank())] = updates(communicator);
  });
  return values;
}

}  // namespace

TEST_CASE("ranks with a logical device each end with the bits of one that accumulates") {
  const auto expected = updates_on_one_gpu();
  for (const int ranks : {1, 2, 4}) {
    CAPTURE(ranks);
    for (const auto& values : on_ranks(ranks, distributed_updates<Zero<0>, ThreadCommunicator>)) {
      CHECK(values == expected);
    }
    for (const auto& values : on_ranks(ranks, distributed_updates<Zero<2>, ThreadCommunicator>)) {
      CHECK(values == expected);
    }
    for (const auto& values : on_ranks(ranks, distributed_updates<Zero<3>, ThreadCommunicator>)) {
      CHECK(values == expected);
    }
  }
}

TEST_CASE("a pipeline of logical devices ends with the bits of one") {
  const auto expected = stages_on_one_gpu();
  for (const auto& values : on_ranks(2, pipeline_updates<ThreadCommunicator>)) {
    CHECK(values == expected);
  }
}

TEST_CASE("ranks that round weights at other times end with the same bits in 16 bits") {
  // Zero<3> rounds a weight for each product, Zero<2> before a batch, the others as it is updated.
  constexpr auto precision = ProductPrecision::bfloat16;
  const auto expected = updates_on_one_gpu(precision);
  for (const auto& values :
       on_ranks(2, distributed_updates<Zero<0>, ThreadCommunicator, precision>)) {
    CHECK(values == expected);
  }
  for (const auto& values :
       on_ranks(2, distributed_updates<Zero<2>, ThreadCommunicator, precision>)) {
    CHECK(values == expected);
  }
  for (const auto& values :
       on_ranks(2, distributed_updates<Zero<3>, ThreadCommunicator, precision>)) {
    CHECK(values == expected);
  }
  const auto stages = stages_on_one_gpu(precision);
  for (const auto& values : on_ranks(2, pipeline_updates<ThreadCommunicator, precision>)) {
    CHECK(values == stages);
  }
}

}  // namespace ranks_tests
