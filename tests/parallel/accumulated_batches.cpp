// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/parallel/accumulated_batches.hpp>

#include <weft/parallel/gradient_accumulation.hpp>
#include <weft/testing/small_translation.hpp>
#include <weft/train/device_batch.hpp>

#include <catch2/catch.hpp>

#include <stdexcept>

namespace accumulated_batches_tests {

using namespace weft;
using namespace weft::parallel;
using namespace weft::testing;

namespace {

data::TranslationBatch joined(const data::TranslationBatch& a, const data::TranslationBatch& b) {
  data::TranslationBatch both;
  const auto add = [](data::TokenRows& to, const data::TokenRows& from) {
    for (index_t row = 0; row < from.size(); ++row) {
      to.append(from[row]);
      to.end_row();
    }
  };
  for (const auto* batch : {&a, &b}) {
    add(both.source, batch->source);
    add(both.target_input, batch->target_input);
    add(both.target_output, batch->target_output);
    both.sentences.insert(both.sentences.end(), batch->sentences.begin(), batch->sentences.end());
  }
  return both;
}

//! Without dropout, whose numbers depend on where a sentence stands.
SmallObjective plain_objective() {
  return SmallObjective(SmallModel({small_vocabulary, small_vocabulary, 24}),
                        nn::LabelSmoothing(0.1f), 5);
}

}  // namespace

TEST_CASE("two batches of an update equal one batch of both, cut in two") {
  const auto a = random_translations(6, 1), b = random_translations(6, 2);
  Cpu device;
  using Strategy = GradientAccumulation<SmallModel, SmallLoss>;
  Strategy one(device, plain_objective(), optim::Adam(), {.micro_batches = 2, .clip_norm = 0.5});
  Strategy two(device, plain_objective(), optim::Adam(), {.micro_batches = 1, .clip_norm = 0.5});
  for (int update = 0; update < 3; ++update) {
    const auto whole = one.step(train::DeviceBatch(joined(a, b)), 0.01);
    two.accumulate(train::DeviceBatch(a));
    const auto parts = two.step(train::DeviceBatch(b), 0.01);
    CHECK(parts.loss.loss == whole.loss.loss);
    CHECK(parts.loss.tokens == whole.loss.tokens);
    CHECK(parts.gradient_norm == whole.gradient_norm);
  }
  CHECK(to_host(two.state().values()) == to_host(one.state().values()));
}

TEST_CASE("dropout differs between the batches of an update") {
  AccumulatedBatches batches;
  const Recipe recipe;
  auto first = batches.begin(recipe, /*loads=*/0);
  first.keep();
  const auto second = batches.begin(recipe, /*loads=*/0);
  CHECK(first.is_first());
  CHECK_FALSE(second.is_first());
  const auto draw = [](const RandomKey& key) { return philox({0, 0, 0, 0}, key)[0]; };
  CHECK(draw(first.key(1, 7)) != draw(second.key(1, 7)));
  CHECK(draw(second.key(1, 7)) != draw(second.key(1, 8)));
}

TEST_CASE("a batch that fails takes the update with it") {
  AccumulatedBatches batches;
  const Recipe recipe{.micro_batches = 3};
  {
    auto turn = batches.begin(recipe, /*loads=*/0);
    turn.losses()[2].tokens = Count<of::Tokens>(5);
    turn.keep();
  }
  try {
    const auto turn = batches.begin(recipe, /*loads=*/0);
    CHECK(turn.all_losses().size() == 6);
    CHECK(total(turn.all_losses()).tokens.value() == 5);
    throw std::runtime_error("a device failed");
  } catch (const std::runtime_error&) {
  }
  const auto turn = batches.begin(recipe, /*loads=*/0);
  CHECK(turn.is_first());
  CHECK(turn.all_losses().size() == 3);
  CHECK(total(turn.all_losses()).tokens.value() == 0);
}

TEST_CASE("batches of before a state was loaded are forgotten") {
  AccumulatedBatches batches;
  const Recipe recipe;
  batches.begin(recipe, /*loads=*/0).keep();
  auto turn = batches.begin(recipe, /*loads=*/1);
  CHECK(turn.is_first());
  CHECK(turn.all_losses().size() == 1);
  turn.keep();
  CHECK_FALSE(batches.begin(recipe, /*loads=*/1).is_first());
}

}  // namespace accumulated_batches_tests
