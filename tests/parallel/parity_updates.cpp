// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/parallel/gradient_accumulation.hpp>

#include <weft/nn/criteria.hpp>
#include <weft/nn/generator.hpp>
#include <weft/nn/transformer.hpp>
#include <weft/optim/adam.hpp>
#include <weft/optim/sgd.hpp>
#include <weft/parallel/chunked.hpp>

#include "../parity.hpp"

#include <catch2/catch.hpp>

#include <span>
#include <string>
#include <vector>

namespace parity_updates_tests {

using namespace weft;
using namespace weft::testing;

namespace {

constexpr nn::TransformerShape shape{
    .d_model = 24, .heads = 4, .d_ff = 40, .encoder_layers = 2, .decoder_layers = 2};
using Model = nn::Transformer<shape>;
using Loss = Chunked<nn::Generator<shape>, nn::LabelSmoothing>;
using Objective = parallel::Objective<Model, Loss>;

//! The sentences of the file, any range of which is a micro-batch.
class Sentences {
 public:
  explicit Sentences(const Fixture& fixture)
      : source_(side(fixture, "source", "source_lengths")),
        target_(side(fixture, "target", "target_lengths")),
        labels_(side(fixture, "labels", "target_lengths")) {}

  [[nodiscard]] index_t size() const { return std::ssize(source_); }

  [[nodiscard]] parallel::MicroBatch<nn::TranslationInput<>, Cpu> part(Cpu& device,
                                                                       Range range) const {
    return {{sequences(device, source_, range), sequences(device, target_, range)},
            sequences(device, labels_, range).ids};
  }

 private:
  using Side = std::vector<std::vector<token_t>>;

  static Side side(const Fixture& fixture, const std::string& ids, const std::string& lengths) {
    const auto all = fixture.read<token_t>(ids);
    Side rows;
    auto next = all.begin();
    for (const index_t length : fixture.read<index_t>(lengths)) {
      rows.emplace_back(next, next + length);
      next += length;
    }
    return rows;
  }

  static TokenSequences<Cpu> sequences(Cpu& device, const Side& side, Range range) {
    std::vector<token_t> ids;
    std::vector<index_t> lengths;
    for (index_t b = range.begin; b < range.end; ++b) {
      const auto& row = side[static_cast<std::size_t>(b)];
      ids.insert(ids.end(), row.begin(), row.end());
      lengths.push_back(std::ssize(row));
    }
    return {to_device<token_t>(device, ids, {std::ssize(ids)}),
            make_layout(device, std::span<const index_t>(lengths),
                        static_cast<std::uint32_t>(range.begin))};
  }

  Side source_, target_, labels_;
};

//! Ten updates from PyTorch's first values, against ten of torch.optim's.
template <class Optimizer>
void check(const std::string& name, const Optimizer& optimizer, double rate,
           const parallel::Recipe& recipe) {
  INFO(name << " with " << recipe.micro_batches << " micro-batches in " << recipe.lanes
            << " lanes");
  Cpu device(2);
  const Fixture models("nn/data/transformer.safetensors");
  const Fixture expected("parallel/data/updates.safetensors");
  GradientAccumulation<Model, Loss, Optimizer> train(
      device, Objective(Model({29, 29, 16}), nn::LabelSmoothing(0.1f), 3), optimizer, recipe);
  const auto& objective = train.objective();
  const Parity before(device, models, "pre/", objective, objective.layout());
  const Parity after(device, expected, name + "/", objective, objective.layout());
  const std::span<float> values(train.state().values().data(),
                                static_cast<std::size_t>(objective.layout().values));
  before.load(values);
  const std::vector<float> first(values.begin(), values.end());

  const Sentences batch(models);
  std::vector<double> losses;
  for (int update = 0; update < 10; ++update) {
    losses.push_back(train.step(batch, rate).loss.loss.value());
  }
  losses.push_back(train.evaluate(batch).loss.value());

  const auto expected_losses = expected.read<double>(name + "/losses");
  REQUIRE(losses.size() == expected_losses.size());
  for (std::size_t i = 0; i < losses.size(); ++i) {
    INFO("after " << i << " updates");
    CHECK(losses[i] == Approx(expected_losses[i]).epsilon(parity));
  }

  // Tensor by tensor the values; and what ten updates changed of them, a tenth of their size, which
  // has to hold for the optimizer's own arithmetic.
  std::vector<float> should = first;
  after.load(should);
  after.check_values(values);
  std::vector<float> change(values.begin(), values.end());
  for (std::size_t i = 0; i < change.size(); ++i) {
    change[i] -= first[i];
    should[i] -= first[i];
  }
  CHECK(relative_error(change, should) < parity);
}

void check_all(const parallel::Recipe& recipe) {
  check("adam", optim::Adam({.beta1 = 0.9, .beta2 = 0.98, .epsilon = 1e-9, .weight_decay = 0.01}),
        3e-3, recipe);
  check("adamw", optim::AdamW({.epsilon = 1e-5, .weight_decay = 0.1}), 4e-3, recipe);
  check("sgd", optim::SgdMomentum({.momentum = 0.9, .weight_decay = 0.01}), 0.06, recipe);
}

}  // namespace

TEST_CASE("ten updates of a whole Transformer equal torch.optim's") { check_all({}); }

TEST_CASE("ten updates equal torch.optim's where a batch is cut into micro-batches") {
  check_all({.lanes = 2, .micro_batches = 3});
}

}  // namespace parity_updates_tests
