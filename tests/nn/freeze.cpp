// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/parameter.hpp>

#include <weft/comm/launch.hpp>
#include <weft/parallel/chunked.hpp>
#include <weft/parallel/distributed_data_parallel.hpp>
#include <weft/parallel/gradient_accumulation.hpp>
#include <weft/testing/small_translation.hpp>
#include <weft/train/device_batch.hpp>
#include <weft/train/saved_model.hpp>
#include <weft/train/saved_state.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "../message_of.hpp"
#include "../temporary_folder.hpp"

namespace freeze_tests {

using namespace weft;
using namespace weft::testing;

namespace {

constexpr nn::TransformerShape shape{
    .d_model = 16, .heads = 2, .d_ff = 24, .encoder_layers = 2, .decoder_layers = 1};
using Model = nn::Transformer<shape>;
using Loss = Chunked<nn::Generator<shape>, nn::LabelSmoothing>;
using Objective = parallel::Objective<Model, Loss>;
constexpr parallel::Recipe recipe{.seed = 5, .lanes = 2, .micro_batches = 2, .clip_norm = 1.0};

Objective objective_of(bool frozen) {
  Model model({small_vocabulary, small_vocabulary, 24});
  if (frozen) {
    nn::freeze(model.encoder);
    nn::freeze(model.source_embedding);
  }
  return Objective(model, nn::LabelSmoothing(0.1f), 5);
}

template <class Strategy>
void train_some(Strategy& strategy) {
  for (std::uint32_t update = 0; update < 5; ++update) {
    strategy.step(train::DeviceBatch(random_translations(7, update)), 0.01);
  }
}

template <class Strategy>
std::vector<float> values_of(const Strategy& strategy, const nn::Parameter& p) {
  const float* const begin = strategy.state().values().data() + p.value_offset;
  return {begin, begin + p.size()};
}

bool starts(const std::string& name) {
  return name.starts_with("encoder.") || name.starts_with("source_embedding.");
}

}  // namespace

TEST_CASE("what is frozen stays, has no gradient and no place in an optimizer; the rest learns") {
  Cpu device;
  const auto free = objective_of(false), objective = objective_of(true);
  index_t frozen = 0;
  for (const auto& [name, p] : nn::named_parameters(objective)) {
    CHECK(p.trained == (!p.computed && !starts(name)));
    if (!p.trained && !p.computed) frozen += p.size();
  }
  CHECK(objective.layout().trained == free.layout().trained - frozen);
  CHECK(objective.layout().values == free.layout().values);

  GradientAccumulation<Model, Loss> strategy(device, objective, optim::Adam(), recipe);
  CHECK(strategy.state().buffer(0).size() == objective.layout().trained);
  const auto parameters = nn::named_parameters(strategy.objective());
  std::vector<std::vector<float>> before;
  for (const auto& [name, p] : parameters) before.push_back(values_of(strategy, p));
  train_some(strategy);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    CAPTURE(parameters[i].name);
    CHECK((values_of(strategy, parameters[i].parameter) == before[i]) ==
          !parameters[i].parameter.trained);
  }
}

TEST_CASE("projections that are one product are frozen together, or refused") {
  Cpu device;
  auto objective = objective_of(false);
  auto model = objective.model();
  model.encoder.layers[1].self_attention.key_weight.trained = false;
  GradientAccumulation<Model, Loss> strategy(device, Objective(model, nn::LabelSmoothing(0.1f), 5),
                                             optim::Adam(), recipe);
  CHECK(message_of<ArgumentError>([&] {
          train_some(strategy);
        }).starts_with("some of 3 parameters of (16, 16)"));
}

TEST_CASE("frozen weights begin with random numbers of their own") {
  const auto objective = objective_of(true);
  const auto values = nn::initial_values(objective.layout(), 1, objective);
  const auto& first = objective.model().encoder.layers[0].feed_forward.inner.weight;
  const auto& second = objective.model().encoder.layers[1].feed_forward.inner.weight;
  CHECK_FALSE(std::equal(values.begin() + first.value_offset,
                         values.begin() + first.value_offset + first.size(),
                         values.begin() + second.value_offset));
}

TEST_CASE("ranks train around what is frozen, with the bits of one device") {
  Cpu device;
  GradientAccumulation<Model, Loss> single(device, objective_of(true), optim::Adam(), recipe);
  train_some(single);
  const auto expected = to_host(single.state().values());
  std::vector<int> same(3);
  comm::launch_threads(3, comm::Timeout(60), [&](comm::ThreadCommunicator& communicator) {
    Cpu cpu;
    DistributedDataParallel<Model, Loss, Zero<3>> strategy(cpu, communicator, objective_of(true),
                                                           optim::Adam(), recipe);
    train_some(strategy);
    const auto whole = strategy.whole_values();
    same[static_cast<std::size_t>(communicator.rank())] =
        to_host(strategy.state().values()) == expected ? 1 : 0;
  });
  CHECK(same == std::vector<int>{1, 1, 1});
}

TEST_CASE("a model with frozen parts is saved whole, and its training goes on") {
  const TemporaryFolder folder;
  Cpu device;
  GradientAccumulation<Model, Loss> free(device, objective_of(false), optim::Adam(), recipe);
  train_some(free);
  train::save_model(free, folder.path("free"), {});
  using Frozen = GradientAccumulation<Model, Loss>;
  Frozen one(device, objective_of(true), optim::Adam(), recipe);
  train::load_model(one, folder.path("free"));  // the encoder that another run has trained
  train_some(one);
  train::save_state(one, folder.path("state"), {});
  Frozen other(device, objective_of(true), optim::Adam(), recipe);
  train::load_state(other, folder.path("state"));
  CHECK(to_host(other.state().values()) == to_host(one.state().values()));
  CHECK(to_host(other.state().buffer(1)) == to_host(one.state().buffer(1)));
  CHECK(message_of<FormatError>([&] { return train::load_state(free, folder.path("state")); }) !=
        "(no error)");
}

TEST_CASE("a shared weight cannot be frozen") {
  SmallModel model({small_vocabulary, small_vocabulary, 24});
  nn::freeze(model.source_embedding);
  CHECK(message_of<ArgumentError>([&] {
          return SmallObjective(model, nn::LabelSmoothing(0.1f), 5);
        }) == "freeze: a weight that modules share by a tie cannot be frozen");
}

}  // namespace freeze_tests
