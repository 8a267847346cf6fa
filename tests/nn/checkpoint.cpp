// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/checkpoint.hpp>

#include <weft/comm/launch.hpp>
#include <weft/nn/criteria.hpp>
#include <weft/nn/embedding.hpp>
#include <weft/nn/encoder.hpp>
#include <weft/nn/generator.hpp>
#include <weft/nn/layer_stack.hpp>
#include <weft/nn/sequential.hpp>
#include <weft/parallel/chunked.hpp>
#include <weft/parallel/distributed_data_parallel.hpp>
#include <weft/parallel/gradient_accumulation.hpp>
#include <weft/parallel/pipe.hpp>
#include <weft/parallel/schedule/gpipe.hpp>
#include <weft/testing/small_translation.hpp>

#include <catch2/catch.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "source_words.hpp"

namespace checkpoint_tests {

using namespace weft;
using namespace weft::testing;

namespace {

using Layer = nn::EncoderLayer<24, 3, 40>;
using Loss = Chunked<nn::BasicGenerator<24>, nn::LabelSmoothing>;
template <class L>
using ModelOf = nn::Sequential<nn::Embedding<24>, nn::LayerStack<L, 6, 24, true>>;

template <class L>
auto objective_of() {
  const Layer layer({.residual = 0.2f, .attention = 0.1f, .activation = 0.1f}, true);
  return parallel::Objective<ModelOf<L>, Loss>(
      ModelOf<L>(nn::Embedding<24>(small_vocabulary, 24, 0.1f),
                 nn::LayerStack<L, 6, 24, true>(L(layer))),
      nn::LabelSmoothing(0.1f));
}

//! The parameters after some updates, and the most bytes that were in use.
template <class L>
std::pair<std::vector<float>, index_t> trained() {
  Cpu device;
  GradientAccumulation<ModelOf<L>, Loss> strategy(device, objective_of<L>(), optim::Adam(),
                                                  {.micro_batches = 2});
  for (std::uint32_t update = 0; update < 5; ++update) {
    (void)strategy.step(SourceWords{random_translations(400, update)}, 0.003);
  }
  return {to_host(strategy.state().values()), device.memory().statistics().peak};
}

}  // namespace

TEST_CASE("layers that are computed again give the same bits in less memory") {
  const auto [values, bytes] = trained<Layer>();
  const auto [again, fewer] = trained<nn::Checkpoint<Layer>>();
  CHECK(again == values);
  CHECK(fewer < bytes / 2);
}

TEST_CASE("a stack that is computed again as a whole may have parameters that ranks share") {
  using Stack = nn::LayerStack<Layer, 3, 24, true>;
  using Model = nn::Sequential<nn::Embedding<24>, nn::Checkpoint<Stack>>;
  const auto objective = [] {
    const Stack stack(Layer({.residual = 0.2f}, true));
    return parallel::Objective<Model, Loss>(
        Model(nn::Embedding<24>(small_vocabulary, 24, 0.1f), nn::Checkpoint<Stack>(stack)),
        nn::LabelSmoothing(0.1f));
  };
  const parallel::Recipe recipe{.seed = 5, .lanes = 2, .micro_batches = 3};
  const auto learnt = [](auto& strategy) {
    for (std::uint32_t update = 0; update < 3; ++update) {
      (void)strategy.step(SourceWords{random_translations(9, update)}, 0.003);
    }
    [[maybe_unused]] const auto whole = strategy.whole_values();
    return to_host(strategy.state().values());
  };
  Cpu device;
  GradientAccumulation<Model, Loss> one(device, objective(), optim::Adam(), recipe);
  const auto expected = learnt(one);
  std::vector<int> alike(2);
  comm::launch_threads(2, comm::Timeout(60.0), [&](comm::ThreadCommunicator& communicator) {
    Cpu mine;
    DistributedDataParallel<Model, Loss, Zero<3>> strategy(mine, communicator, objective(),
                                                           optim::Adam(), recipe);
    alike[static_cast<std::size_t>(communicator.rank())] = learnt(strategy) == expected ? 1 : 0;
  });
  CHECK(alike == std::vector<int>{1, 1});
}

TEST_CASE("a checkpoint does not show in the names of parameters") {
  const auto plain = nn::named_parameters(objective_of<Layer>());
  const auto kept = nn::named_parameters(objective_of<nn::Checkpoint<Layer>>());
  REQUIRE(plain.size() == kept.size());
  for (std::size_t i = 0; i < plain.size(); ++i) CHECK(plain[i].name == kept[i].name);
}

TEST_CASE("nor in those of a pipeline's stages, nor in what a tied generator finds") {
  using First = nn::Sequential<nn::Embedding<24>, nn::LayerStack<Layer, 2, 24, false>>;
  using Last = nn::Sequential<Layer, nn::LayerNorm<24>>;
  using Tied = Chunked<nn::BasicGenerator<24, false, true>, nn::LabelSmoothing>;
  const auto learnt = []<class A, class B>(const A& first, const B& last) {
    using Model = Pipe<GPipe<2>, A, B>;
    Cpu device;
    GradientAccumulation<Model, Tied> strategy(
        device, parallel::Objective<Model, Tied>(Model(first, last), nn::LabelSmoothing(0.1f)),
        optim::Adam(), {.micro_batches = 2});
    (void)strategy.step(SourceWords{random_translations(9, 1)}, 0.003);
    std::vector<std::pair<std::string, index_t>> places;
    for (const auto& [name, p] : nn::named_parameters(strategy.objective())) {
      places.emplace_back(name, p.value_offset);
    }
    return std::pair(places, to_host(strategy.state().values()));
  };
  const First first(nn::Embedding<24>(small_vocabulary, 24, 0.1f),
                    nn::LayerStack<Layer, 2, 24, false>(Layer({.residual = 0.2f}, true)));
  const Last last(Layer({.residual = 0.2f}, true), {});
  const auto plain = learnt(first, last);
  CHECK(learnt(nn::Checkpoint(first), last) == plain);
  CHECK(learnt(nn::Checkpoint(first), nn::Checkpoint(last)) == plain);
}

}  // namespace checkpoint_tests
