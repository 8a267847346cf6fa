// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Layers of Llama's kind under each strategy: rotary positions, heads that share keys,
//! gates.
#include <weft/comm/launch.hpp>
#include <weft/nn/criteria.hpp>
#include <weft/nn/generator.hpp>
#include <weft/nn/language_model.hpp>
#include <weft/nn/sequential.hpp>
#include <weft/parallel/chunked.hpp>
#include <weft/parallel/data_parallel.hpp>
#include <weft/parallel/distributed_data_parallel.hpp>
#include <weft/parallel/gradient_accumulation.hpp>
#include <weft/parallel/pipeline_parallel.hpp>
#include <weft/parallel/schedule/zero_bubble.hpp>

#include <catch2/catch.hpp>

#include <cstdint>
#include <type_traits>
#include <vector>

#include "small_pipes.hpp"

namespace llama_layers_tests {

using namespace weft;
using namespace weft::testing;

namespace {

constexpr nn::LanguageModelShape shape{.d_model = 24,
                                       .heads = 6,
                                       .key_heads = 2,
                                       .d_ff = 40,
                                       .layers = 2,
                                       .rms_norm = true,
                                       .activation = ops::Activation::silu,
                                       .gated = true,
                                       .positions = nn::Positions::rotary};
using Model = nn::LanguageModel<shape>;
using Loss = Chunked<nn::LanguageModelGenerator<shape>, nn::LabelSmoothing>;
using Layer = Model::Layer;
using Stages = Pipe<ZeroBubble<3>, nn::Sequential<Model::EmbeddingType, Layer>,
                    nn::Sequential<Layer, Model::Normalisation>>;

constexpr parallel::Recipe recipe{.seed = 3, .lanes = 1, .micro_batches = 3, .clip_norm = 1.0};

template <class M>
using Objective = parallel::Objective<M, Loss>;

template <class M>
Objective<M> objective() {
  const nn::LabelSmoothing criterion(0.1f);
  if constexpr (std::is_same_v<M, Model>) {
    return Objective<M>(Model(small_vocabulary, 24, pipe_dropouts), criterion, 5);
  } else {
    const Layer layer(pipe_dropouts, true);
    const nn::Sequential first(Model::EmbeddingType(small_vocabulary, 24, 0.2f), layer);
    const nn::Sequential last(layer, Model::Normalisation());
    return Objective<M>(Stages(first, last), criterion, 5);
  }
}

template <class Strategy>
std::vector<float> trained(Strategy& strategy) {
  for (std::uint32_t update = 0; update < 5; ++update) {
    (void)strategy.step(WordsBatch(random_translations(13, update)), 0.003);
  }
  [[maybe_unused]] const auto whole = strategy.whole_values();
  return to_host(strategy.state().values());
}

template <class M>
std::vector<float> trained_on_one_device(const parallel::Recipe& r) {
  Cpu device;
  GradientAccumulation<M, Loss> strategy(device, objective<M>(), optim::Adam(), r);
  return trained(strategy);
}

}  // namespace

TEST_CASE("layers of Llama's kind have the bits of one device under every strategy") {
  parallel::Recipe of_three = recipe;
  of_three.lanes = 3;
  const auto expected = trained_on_one_device<Model>(of_three);
  const DeviceGroup<Cpu> devices(3);
  DataParallel<Model, Loss> replicas(devices, objective<Model>(), optim::Adam(), of_three);
  CHECK(trained(replicas) == expected);
  std::vector<int> same(3);
  comm::launch_threads(3, comm::Timeout(60), [&](comm::ThreadCommunicator& communicator) {
    Cpu device;
    DistributedDataParallel<Model, Loss, Zero<3>> strategy(device, communicator, objective<Model>(),
                                                           optim::Adam(), of_three);
    same[static_cast<std::size_t>(communicator.rank())] = trained(strategy) == expected ? 1 : 0;
  });
  CHECK(same == std::vector{1, 1, 1});

  const auto of_stages = trained_on_one_device<Stages>(recipe);
  same.assign(2, 0);
  comm::launch_threads(2, comm::Timeout(60), [&](comm::ThreadCommunicator& communicator) {
    Cpu device;
    PipelineParallel<Stages, Loss> strategy(device, communicator, objective<Stages>(),
                                            optim::Adam(), recipe);
    same[static_cast<std::size_t>(communicator.rank())] = trained(strategy) == of_stages ? 1 : 0;
  });
  CHECK(same == std::vector{1, 1});
}

}  // namespace llama_layers_tests
