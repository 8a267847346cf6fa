// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/parallel/pipeline_parallel.hpp>

#include <weft/comm/launch.hpp>
#include <weft/nn/criteria.hpp>
#include <weft/nn/generator.hpp>
#include <weft/nn/layer_norm.hpp>
#include <weft/nn/linear.hpp>
#include <weft/parallel/chunked.hpp>
#include <weft/parallel/gradient_accumulation.hpp>
#include <weft/parallel/schedule/gpipe.hpp>
#include <weft/testing/random.hpp>

#include <catch2/catch.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "forgetful.hpp"

namespace pipelines_of_rows_tests {

using namespace weft;
using comm::ThreadCommunicator;
using testing::Forgetful;

namespace {

constexpr index_t K = 3, C = 8, words = 5, length = 2;
constexpr parallel::Recipe recipe{.seed = 2, .lanes = 1, .micro_batches = 2};

//! Sequences of two rows of numbers, with a label for each.
struct Measured {
  index_t sequences = 6;

  [[nodiscard]] index_t size() const { return sequences; }
  [[nodiscard]] std::uint64_t fingerprint() const { return 1; }  // all are the same

  template <class D>
  [[nodiscard]] parallel::MicroBatch<Rows<K, D>, D> part(D& device, Range range) const {
    const auto numbers = testing::random_values(sequences * length * K, 1);
    const index_t rows = range.size() * length;
    const auto mine = std::span(numbers).subspan(static_cast<std::size_t>(range.begin * length * K),
                                                 static_cast<std::size_t>(rows * K));
    std::vector<token_t> labels;
    for (index_t n = 0; n < rows; ++n) {
      labels.push_back(static_cast<token_t>((range.begin * length + n) % words));
    }
    const std::vector<index_t> lengths(static_cast<std::size_t>(range.size()), length);
    return {{to_device<float>(device, mine, {rows, K}), make_layout<D>(device, lengths)},
            to_device<token_t>(device, labels, {rows})};
  }
};

//! Hands on the first row of all.
struct FirstRow {
  template <class Self, class Visit>
  static constexpr void members(Self&, Visit&&) {}
  template <class D>
  struct Saved {};
  template <class D>
  [[nodiscard]] nn::Result<Rows<K, D>, Saved<D>> forward(nn::Context<D>& ctx,
                                                         const Rows<K, D>& x) const {
    const std::vector<index_t> one{1};
    return {{x.values.slice(0, 1), make_layout<D>(ctx.device(), one)}, {}};
  }
  template <class D>
  [[nodiscard]] Rows<K, D> backward(nn::Context<D>&, Saved<D>&&, const Rows<K, D>& dy) const {
    return dy;
  }
};

using Loss = Chunked<nn::BasicGenerator<C>, nn::CrossEntropy>;

template <class Model>
parallel::Objective<Model, Loss> objective() {
  return parallel::Objective<Model, Loss>(Model(), nn::BasicGenerator<C>(words),
                                          nn::CrossEntropy());
}

template <class Train>
std::vector<float> trained(Train& train) {
  for (int update = 0; update < 4; ++update) (void)train.step(Measured(), 0.01);
  [[maybe_unused]] const auto whole = train.whole_values();
  return to_host(train.state().values());
}

//! What the first of two ranks that fails says of one update.
template <class Model>
std::string error_of_ranks() {
  try {
    comm::launch_threads(2, comm::Timeout(60.0), [&](ThreadCommunicator& communicator) {
      Cpu cpu;
      PipelineParallel<Model, Loss> strategy(cpu, communicator, objective<Model>(), optim::Adam(),
                                             recipe);
      (void)strategy.step(Measured(), 0.01);
    });
  } catch (const comm::RankError& error) {
    return error.message();
  }
  return "";
}

}  // namespace

TEST_CASE("a pipeline that reads rows has the bits of one device") {
  using Model = Pipe<GPipe<2>, nn::Linear<K, C>, nn::LayerNorm<C>>;
  Cpu device;
  GradientAccumulation<Model, Loss> single(device, objective<Model>(), optim::Adam(), recipe);
  const auto expected = trained(single);
  std::vector<int> alike(2);
  comm::launch_threads(2, comm::Timeout(60.0), [&](ThreadCommunicator& communicator) {
    Cpu cpu;
    PipelineParallel<Model, Loss> strategy(cpu, communicator, objective<Model>(), optim::Adam(),
                                           recipe);
    alike[static_cast<std::size_t>(communicator.rank())] = trained(strategy) == expected ? 1 : 0;
  });
  CHECK(alike == std::vector<int>{1, 1});
}

TEST_CASE("a stage before the last that changes the number of rows is refused") {
  CHECK(error_of_ranks<Pipe<GPipe<2>, FirstRow, nn::Linear<K, C>>>() ==
        "rank 0: pipeline: stage 0 hands on (1, 3), and the next one expects "
        "(6, 3), as many rows as the micro-batch's input has");
}

TEST_CASE("a rank of a pipeline looks for the gradients of its stages") {
  CHECK(
      error_of_ranks<Pipe<GPipe<2>, nn::Linear<K, C>, Forgetful<C>>>() ==
      "rank 1: backward: nobody computed the gradient of \"1.gain\": its module's backward has to "
      "hand it to ctx.gradient; what is not to be trained is told by nn::freeze");
  CHECK(error_of_ranks<Pipe<GPipe<2>, nn::Linear<K, C>, nn::LayerNorm<C>>>() == "");
}

}  // namespace pipelines_of_rows_tests
