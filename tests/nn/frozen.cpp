// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/frozen.hpp>

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
#include <weft/testing/small_translation.hpp>
#include <weft/train/device_batch.hpp>

#include <catch2/catch.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace frozen_tests {

using namespace weft;
using namespace weft::testing;

namespace {

constexpr index_t C = 24;
using Layer = nn::EncoderLayer<C, 3, 40>;
using Before = nn::Sequential<nn::Embedding<C>, nn::LayerStack<Layer, 4, C, true>>;
template <class First>
using ModelOf = nn::Sequential<First, Layer, nn::LayerNorm<C>>;
using Loss = Chunked<nn::BasicGenerator<C>, nn::LabelSmoothing>;
constexpr parallel::Recipe recipe{.seed = 2, .lanes = 3, .micro_batches = 3};

//! The source's words, each its own label.
struct Words {
  data::TranslationBatch batch;

  [[nodiscard]] index_t size() const { return batch.size(); }
  [[nodiscard]] std::uint64_t fingerprint() const { return batch.source.fingerprint(); }
  [[nodiscard]] parallel::MicroBatch<TokenSequences<Cpu>, Cpu> part(Cpu& device,
                                                                    Range range) const {
    auto input = train::to_sequences(device, batch.source, range);
    return {input, input.ids};
  }
};

//! With so much dropout in the layers that are frozen.
template <class First>
auto objective_of(float dropout) {
  const auto layer = [](float p) { return Layer(nn::Dropouts::everywhere(p)); };
  Before before(nn::Embedding<C>(small_vocabulary, 24, 0.0f),
                nn::LayerStack<Layer, 4, C, true>(layer(dropout)));
  if constexpr (std::is_same_v<First, Before>) nn::freeze(before);
  return parallel::Objective<ModelOf<First>, Loss>(ModelOf<First>(First(before), layer(0.2f), {}),
                                                   nn::BasicGenerator<C>(small_vocabulary),
                                                   nn::LabelSmoothing(0.1f));
}

template <class Strategy>
std::vector<float> values_after_updates(Strategy& strategy) {
  for (std::uint32_t update = 0; update < 4; ++update) {
    (void)strategy.step(Words{random_translations(60, update)}, 0.003);
  }
  [[maybe_unused]] const auto whole = strategy.whole_values();
  return to_host(strategy.state().values());
}

//! The parameters after some updates on one device, and the most bytes that were in use.
template <class First>
std::pair<std::vector<float>, index_t> trained(float dropout) {
  Cpu device;
  GradientAccumulation<ModelOf<First>, Loss> strategy(device, objective_of<First>(dropout),
                                                      optim::Adam(), recipe);
  auto values = values_after_updates(strategy);
  return {std::move(values), device.memory().statistics().peak};
}

}  // namespace

TEST_CASE("behind a frozen module the same is learnt as behind one whose gradient is computed") {
  const auto [values, bytes] = trained<Before>(0.0f);
  const auto [found, fewer] = trained<nn::Frozen<Before>>(0.4f);  // of which none is dropped
  CHECK(found == values);
  CHECK(fewer < bytes / 2);
  const auto initial = objective_of<Before>(0.0f);
  CHECK(found != nn::initial_values(initial.layout(), recipe.seed, initial));
}

TEST_CASE("a frozen module has the names of the module alone, and nothing of it is trained") {
  const auto frozen = objective_of<nn::Frozen<Before>>(0.0f);
  const auto plain = objective_of<Before>(0.0f);
  const auto names = nn::named_parameters(frozen), expected = nn::named_parameters(plain);
  REQUIRE(names.size() == expected.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    CHECK(names[i].name == expected[i].name);
    CHECK(names[i].parameter.trained == expected[i].parameter.trained);
  }
  STATIC_REQUIRE(nn::parameter_count(nn::Frozen<Layer>()) == 0);
}

TEST_CASE("ranks go through frozen layers once, with the bits of one device") {
  const auto expected = trained<nn::Frozen<Before>>(0.0f).first;
  std::vector<int> same(3);
  comm::launch_threads(3, comm::Timeout(60), [&](comm::ThreadCommunicator& communicator) {
    Cpu device;
    DistributedDataParallel<ModelOf<nn::Frozen<Before>>, Loss, Zero<3>> strategy(
        device, communicator, objective_of<nn::Frozen<Before>>(0.0f), optim::Adam(), recipe);
    same[static_cast<std::size_t>(communicator.rank())] =
        values_after_updates(strategy) == expected ? 1 : 0;
  });
  CHECK(same == std::vector<int>{1, 1, 1});
}

}  // namespace frozen_tests
