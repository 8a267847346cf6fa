// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/parameter_groups.hpp>

#include <weft/comm/launch.hpp>
#include <weft/optim/adam.hpp>
#include <weft/optim/sgd.hpp>
#include <weft/parallel/chunked.hpp>
#include <weft/parallel/data_parallel.hpp>
#include <weft/parallel/distributed_data_parallel.hpp>
#include <weft/parallel/gradient_accumulation.hpp>
#include <weft/testing/small_translation.hpp>
#include <weft/train/device_batch.hpp>
#include <weft/train/saved_model.hpp>
#include <weft/train/saved_state.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "../message_of.hpp"
#include "../temporary_folder.hpp"

namespace parameter_groups_tests {

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

//! The encoder at half the rate, and no weight decay of vectors.
Objective objective_in_groups() {
  Model model({small_vocabulary, small_vocabulary, 24});
  nn::scale_learning_rate(model.encoder, 0.5f);
  Objective objective(model, nn::LabelSmoothing(0.1f), 5);
  nn::decay_matrices_only(objective);
  return objective;
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

namespace {

//! All three uses of the embedding are one weight.
SmallObjective tied_objective(bool frozen) {
  SmallModel model({small_vocabulary, small_vocabulary, 24}, nn::Dropouts::everywhere(0.1f));
  if (frozen) nn::freeze(model.source_embedding);
  return SmallObjective(model, nn::LabelSmoothing(0.1f), 5);
}

}  // namespace

TEST_CASE("a weight that modules share is frozen in all its uses, and the rest learns as before") {
  const TemporaryFolder folder;
  Cpu device;
  const parallel::Recipe unclipped{.seed = 5, .lanes = 2, .micro_batches = 2};
  using Strategy = GradientAccumulation<SmallModel, SmallLoss, optim::Sgd>;
  Strategy free(device, tied_objective(false), optim::Sgd(), unclipped);
  Strategy frozen(device, tied_objective(true), optim::Sgd(), unclipped);
  train::save_model(free, folder.path("model"), {});
  train::load_model(frozen, folder.path("model"));
  const auto parameters = nn::named_parameters(frozen.objective());
  const auto of_free = nn::named_parameters(free.objective());
  const auto embedding = values_of(frozen, parameters[0].parameter);
  for (auto* strategy : {&free, &frozen}) {
    strategy->step(train::DeviceBatch(random_translations(7, 0)), 0.01);
  }
  REQUIRE(parameters[0].name == "source_embedding.weight");
  CHECK(values_of(frozen, parameters[0].parameter) == embedding);
  CHECK(values_of(free, of_free[0].parameter) != embedding);
  for (std::size_t i = 1; i < parameters.size(); ++i) {
    CAPTURE(parameters[i].name);
    CHECK(values_of(frozen, parameters[i].parameter) == values_of(free, of_free[i].parameter));
  }
}

TEST_CASE("all strategies train around a frozen weight that modules share with the same bits") {
  Cpu device;
  GradientAccumulation<SmallModel, SmallLoss> single(device, tied_objective(true), optim::Adam(),
                                                     recipe);
  train_some(single);
  const auto expected = to_host(single.state().values());
  const DeviceGroup<Cpu> devices(2, 1);
  DataParallel<SmallModel, SmallLoss> several(devices, tied_objective(true), optim::Adam(), recipe);
  train_some(several);
  CHECK(to_host(several.state().values()) == expected);
  std::vector<int> same(2);
  comm::launch_threads(2, comm::Timeout(60), [&](comm::ThreadCommunicator& communicator) {
    Cpu cpu;
    DistributedDataParallel<SmallModel, SmallLoss, Zero<3>> strategy(
        cpu, communicator, tied_objective(true), optim::Adam(), recipe);
    train_some(strategy);
    const auto whole = strategy.whole_values();
    same[static_cast<std::size_t>(communicator.rank())] =
        to_host(strategy.state().values()) == expected ? 1 : 0;
  });
  CHECK(same == std::vector<int>{1, 1});
}

TEST_CASE("an update of each parameter is that of its own rate and weight decay") {
  const auto updated = [](Cpu& device, const Objective& objective, double rate, double decay) {
    GradientAccumulation<Model, Loss, optim::AdamW> strategy(
        device, objective, optim::AdamW({.weight_decay = decay}), recipe);
    strategy.step(train::DeviceBatch(random_translations(7, 0)), rate);
    return to_host(strategy.state().values());
  };
  Cpu device;
  const auto groups = objective_in_groups();
  const auto found = updated(device, groups, 0.01, 0.1);
  const auto plain = objective_of(false);
  index_t halved = 0, undecayed = 0;
  for (const auto& [name, p] : nn::named_parameters(groups)) {
    if (p.computed) continue;
    CAPTURE(name);
    const bool is_encoder = name.starts_with("encoder."), is_vector = p.shape.rank() == 1;
    CHECK(p.rate_scale == (is_encoder ? 0.5f : 1.0f));
    CHECK(p.decay_scale == (is_vector ? 0.0f : 1.0f));
    const auto expected = updated(device, plain, is_encoder ? 0.005 : 0.01, is_vector ? 0.0 : 0.1);
    const auto first = static_cast<std::ptrdiff_t>(p.value_offset);
    CHECK(std::equal(found.begin() + first, found.begin() + first + p.size(),
                     expected.begin() + first));
    halved += is_encoder ? 1 : 0;
    undecayed += is_vector ? 1 : 0;
  }
  CHECK(halved > 0);
  CHECK(undecayed > 0);
}

TEST_CASE("scales are multiplied, and neighbours of the same scales are a group") {
  Model model({small_vocabulary, small_vocabulary, 24});
  nn::scale_learning_rate(model.encoder, 0.5f);
  nn::scale_learning_rate(model.encoder.layers[1], 0.5f);
  nn::scale_weight_decay(model.encoder, 3.0f);
  const Objective objective(model, nn::LabelSmoothing(0.1f), 5);
  const auto& groups = objective.layout().groups;
  REQUIRE(groups.size() >= 2);
  CHECK(groups[0].rate_scale == 0.5f);
  CHECK(groups[0].decay_scale == 3.0f);
  CHECK(groups[0].range ==
        Range{objective.layout().units[0].begin, objective.layout().units[0].end});
  CHECK(groups[1].rate_scale == 0.25f);
  CHECK(groups[1].range ==
        Range{objective.layout().units[1].begin, objective.layout().units[1].end});
  CHECK(objective_of(false).layout().groups.empty());
}

TEST_CASE("devices and ranks update groups of parameters with the bits of one device") {
  Cpu device;
  const optim::AdamW optimizer({.weight_decay = 0.1});
  GradientAccumulation<Model, Loss, optim::AdamW> single(device, objective_in_groups(), optimizer,
                                                         recipe);
  train_some(single);
  const auto expected = to_host(single.state().values());

  const DeviceGroup<Cpu> devices(2, 1);
  DataParallel<Model, Loss, optim::AdamW> parallel(devices, objective_in_groups(), optimizer,
                                                   recipe);
  train_some(parallel);
  CHECK(to_host(parallel.state().values()) == expected);

  std::vector<int> same(3);
  comm::launch_threads(3, comm::Timeout(60), [&](comm::ThreadCommunicator& communicator) {
    Cpu cpu;
    DistributedDataParallel<Model, Loss, Zero<3>, optim::AdamW> strategy(
        cpu, communicator, objective_in_groups(), optimizer, recipe);
    train_some(strategy);
    const auto whole = strategy.whole_values();
    same[static_cast<std::size_t>(communicator.rank())] =
        to_host(strategy.state().values()) == expected ? 1 : 0;
  });
  CHECK(same == std::vector<int>{1, 1, 1});
}

TEST_CASE("ranks that freeze or group other parameters are told so") {
  const auto change = GENERATE(0, 1, 2);
  CAPTURE(change);
  const auto train = [&](comm::ThreadCommunicator& communicator) {
    Cpu device;
    Model model({small_vocabulary, small_vocabulary, 24});
    auto& layers = model.encoder.layers;
    if (change == 0) nn::scale_learning_rate(layers[0], communicator.rank() == 0 ? 0.5f : 0.25f);
    if (change == 1 && communicator.rank() == 0) nn::scale_weight_decay(layers[0], 0.5f);
    if (change == 2) nn::freeze(layers[static_cast<std::size_t>(communicator.rank())]);
    DistributedDataParallel<Model, Loss> strategy(
        device, communicator, Objective(model, nn::LabelSmoothing(0.1f), 5), optim::Adam(), recipe);
  };
  const auto message =
      message_of<comm::RanksDiffer>([&] { comm::launch_threads(2, comm::Timeout(60), train); });
  CHECK(message.find("the ranks differ: rank 0 has frozen parameters and groups ") !=
        std::string::npos);
}

TEST_CASE("scales that cannot be are refused") {
  SmallModel model({small_vocabulary, small_vocabulary, 24});
  CHECK(message_of<ArgumentError>([&] { nn::scale_learning_rate(model, -1.0f); }) ==
        "scale_learning_rate: a scale of -1, needs one of 0 or more");
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK_THROWS_AS(nn::scale_weight_decay(model, infinity), ArgumentError);
  CHECK_THROWS_AS(nn::scale_weight_decay(model, std::numeric_limits<float>::quiet_NaN()),
                  ArgumentError);
}

TEST_CASE("a weight that modules share has the scales of where it is declared") {
  SmallModel model({small_vocabulary, small_vocabulary, 24});
  nn::scale_learning_rate(model, 0.5f);
  nn::scale_learning_rate(model.source_embedding, 0.5f);
  const SmallObjective objective(model, nn::LabelSmoothing(0.1f), 5);
  const auto& weight = objective.model().source_embedding.weight;
  CHECK(weight.rate_scale == 0.25f);
  CHECK(objective.layout().groups.front().rate_scale == 0.25f);
  CHECK(objective.layout().groups.front().range ==
        Range{weight.value_offset, weight.value_offset + weight.size()});
}

namespace {

//! A rule without settings.
struct PlainDescent {
  struct Step {
    float rate;
  };
  static constexpr std::array<std::string_view, 0> state_names{};
  static Step step(index_t, double rate, double scale) {
    return {static_cast<float>(rate * scale)};
  }
  template <class D>
  static void update(D&, const Step& step, optim::Part part, const float* gradients, float* values,
                     const std::array<float*, 0>&) {
    const index_t end = std::min(part.end * ops::block_size, part.parameters);
    for (index_t i = part.begin * ops::block_size; i < end; ++i) {
      values[i] -= step.rate * gradients[i];
    }
  }
};

}  // namespace

TEST_CASE("a weight decay that an optimizer has not cannot be scaled, its rate can") {
  Cpu device;
  Model model({small_vocabulary, small_vocabulary, 24});
  nn::scale_learning_rate(model.encoder, 0.0f);
  using Train = GradientAccumulation<Model, Loss, PlainDescent>;
  Train strategy(device, Objective(model, nn::LabelSmoothing(0.1f), 5), PlainDescent(), recipe);
  const auto& weight = strategy.objective().model().encoder.layers[0].feed_forward.inner.weight;
  const auto before = values_of(strategy, weight);
  train_some(strategy);
  CHECK(values_of(strategy, weight) == before);

  nn::decay_matrices_only(model);
  CHECK(message_of<ArgumentError>([&] {
          return Train(device, Objective(model, nn::LabelSmoothing(0.1f), 5), PlainDescent(),
                       recipe);
        }) ==
        "parameters scale the weight decay by 0, and the optimizer has no settings() with a "
        "weight_decay, of which another can be made");
}

}  // namespace parameter_groups_tests
