// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/parallel/lanes.hpp>

#include <weft/nn/criteria.hpp>
#include <weft/nn/embedding.hpp>
#include <weft/nn/generator.hpp>
#include <weft/nn/initialize.hpp>
#include <weft/nn/parameter_groups.hpp>
#include <weft/nn/sequential.hpp>
#include <weft/parallel/chunked.hpp>
#include <weft/parallel/gradient_accumulation.hpp>
#include <weft/testing/small_translation.hpp>
#include <weft/train/device_batch.hpp>

#include <catch2/catch.hpp>

#include <vector>

#include "../message_of.hpp"
#include "forgetful.hpp"
#include "small_pipes.hpp"

namespace lanes_tests {

using namespace weft;
using namespace weft::parallel;
using namespace weft::testing;

namespace {

//! Uses its gain twice, and hands on one of the two gradients.
struct HalfForgetful : Forgetful<4> {
  nn::Parameter use;

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("gain", self.gain);
    visit.tie(self.use, self.gain);
  }
  template <class D>
  [[nodiscard]] Rows<4, D> backward(nn::Context<D>& ctx, Saved<D>&&, const Rows<4, D>& dy) const {
    ctx.gradient(gain, [&device = ctx.device()](View<float> dgain, ops::Write) {
      device.clear(dgain.data, dgain.size() * index_t{sizeof(float)});
    });
    return dy;
  }
};

}  // namespace

TEST_CASE("a gradient that no module computes is an error, unless its parameter is frozen") {
  using Model = nn::Sequential<nn::Embedding<4>, Forgetful<4>>;
  using ItsObjective = Objective<Model, Chunked<nn::BasicGenerator<4>, nn::CrossEntropy>>;
  const auto batch = random_translations(4, 1);
  const auto run = [&](const Forgetful<4>& last) {
    const ItsObjective objective(Model(nn::Embedding<4>(small_vocabulary, 24, 0.0f), last),
                                 nn::BasicGenerator<4>(small_vocabulary), nn::CrossEntropy());
    const auto values = nn::initial_values(objective.layout(), 1, objective);
    Cpu device;
    LaneRunner<ItsObjective, Cpu> runner(device, objective);
    std::vector<LossSum> losses(1);
    runner.run({}, {0, 1}, WordsBatch(batch), true, values.data(), RandomKey(1, 1), losses);
    return losses;
  };
  CHECK(
      message_of([&] { return run(Forgetful<4>()); }) ==
      "backward: nobody computed the gradient of \"1.gain\": its module's backward has to hand it "
      "to ctx.gradient; what is not to be trained is told by nn::freeze");
  Forgetful<4> frozen;
  nn::freeze(frozen);
  CHECK(run(frozen).front().tokens.value() > 0);
}

TEST_CASE("so is that of a further use of a weight") {
  using Model = nn::Sequential<nn::Embedding<4>, HalfForgetful>;
  Cpu device;
  GradientAccumulation<Model, Chunked<nn::BasicGenerator<4>, nn::CrossEntropy>> strategy(
      device,
      Objective<Model, Chunked<nn::BasicGenerator<4>, nn::CrossEntropy>>(
          Model(nn::Embedding<4>(small_vocabulary, 24, 0.0f), {}), nn::CrossEntropy()),
      optim::Adam(), {});
  const auto batch = random_translations(4, 1);
  CHECK(message_of([&] { return strategy.step(WordsBatch(batch), 0.01); }) ==
        "backward: nobody computed the gradient of a further use of \"1.gain\": the backward of "
        "the module that ties it has to hand it to ctx.gradient");
}

TEST_CASE("a device keeps one sum for neighbouring lanes that the tree joins") {
  Cpu device;
  const auto objective = small_objective();
  LaneRunner<SmallObjective, Cpu> runner(device, objective);
  const auto values = nn::initial_values(objective.layout(), 1, objective);
  const auto batch = random_translations(8, 1);
  const Recipe recipe{.lanes = 8, .micro_batches = 8};
  std::vector<LossSum> losses(8);

  const auto held = [&](Range lanes) {
    runner.run(recipe, lanes, train::DeviceBatch(batch), true, values.data(), RandomKey(1, 1),
               losses);
    std::vector<index_t> present;
    for (index_t lane = 0; lane < 8; ++lane) {
      if (runner.gradients(lane) != nullptr) present.push_back(lane);
    }
    CHECK(present == held_lanes(lanes));
    return present;
  };
  CHECK(held({0, 8}) == std::vector<index_t>{0});
  CHECK(held({4, 8}) == std::vector<index_t>{4});
  CHECK(held({2, 5}) == std::vector<index_t>{2, 4});
  CHECK(held({1, 4}) == std::vector<index_t>{1, 2});
  CHECK(held({3, 3}).empty());
}

}  // namespace lanes_tests
