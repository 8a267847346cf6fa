// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/data/distributed_sampler.hpp>

#include <weft/core/fingerprint.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <string>
#include <vector>

#include "../message_of.hpp"

namespace distributed_sampler_tests {

using namespace weft;
using namespace weft::data;
using weft::testing::message_of;

TEST_CASE("samples are those of PyTorch, index for index") {
  std::ifstream file(WEFT_TESTS "/data/data/samplers.json");
  const auto cases = nlohmann::json::parse(file);
  CHECK(cases.size() == 32);
  for (const auto& expected : cases) {
    CAPTURE(expected.dump());
    const int ranks = expected["ranks"];
    for (int rank = 0; rank < ranks; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      DistributedSampler sampler(expected["samples"], ranks, rank,
                                 {.shuffle = expected["shuffle"],
                                  .seed = expected["seed"],
                                  .drop_last = expected["drop_last"]});
      sampler.set_epoch(expected["epoch"]);
      const auto indices = sampler.indices();
      CHECK(sampler.size() == expected["sizes"][at].get<index_t>());
      CHECK(std::ssize(indices) == sampler.size());
      Fingerprint fingerprint;
      for (const index_t index : indices) fingerprint.add(static_cast<std::uint64_t>(index));
      CHECK(std::to_string(fingerprint.value()) == expected["hashes"][at].get<std::string>());
      if (expected.contains("indices")) {
        CHECK(indices == expected["indices"][at].get<std::vector<index_t>>());
      }
    }
  }
}

TEST_CASE("an exact sampler reads every sample once, in one order for any number of ranks") {
  for (const index_t samples : {0, 1, 7, 100}) {
    ExactSampler alone(samples, 1, 0, true, 3);
    alone.set_epoch(5);
    const auto order = alone.indices();
    for (const int ranks : {2, 3, 8}) {
      CAPTURE(samples, ranks);
      std::vector<index_t> read(static_cast<std::size_t>(samples), -1);
      for (int rank = 0; rank < ranks; ++rank) {
        ExactSampler sampler(samples, ranks, rank, true, 3);
        sampler.set_epoch(5);
        const auto mine = sampler.indices();
        CHECK(std::ssize(mine) == sampler.size());
        for (std::size_t i = 0; i < mine.size(); ++i) {
          read[i * static_cast<std::size_t>(ranks) + static_cast<std::size_t>(rank)] = mine[i];
        }
      }
      CHECK(read == order);
    }
    auto sorted = order;
    std::ranges::sort(sorted);
    CHECK(sorted == ExactSampler(samples, 1, 0, false).indices());
  }
}

TEST_CASE("epochs and seeds differ") {
  DistributedSampler sampler(50, 1, 0);
  const auto first = sampler.indices();
  sampler.set_epoch(1);
  CHECK(sampler.indices() != first);
  CHECK(sampler.indices() == DistributedSampler(50, 1, 0, {.seed = 1}).indices());
}

TEST_CASE("a sampler for a rank that is none is refused") {
  CHECK(message_of<ArgumentError>([] { return DistributedSampler(10, 2, 2); }) ==
        "a sampler of 10 samples for rank 2 of 2");
  CHECK_THROWS_AS(DistributedSampler(10, 0, 0), ArgumentError);
  CHECK_THROWS_AS(ExactSampler(-1, 1, 0), ArgumentError);
  CHECK_THROWS_AS(torch_permutation(index_t{1} << 32, 0), ArgumentError);
}

}  // namespace distributed_sampler_tests
