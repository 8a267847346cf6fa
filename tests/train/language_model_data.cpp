// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/train/language_model_data.hpp>

#include <weft/nn/criteria.hpp>
#include <weft/nn/language_model.hpp>
#include <weft/optim/schedules.hpp>
#include <weft/optim/sgd.hpp>
#include <weft/parallel/chunked.hpp>
#include <weft/parallel/gradient_accumulation.hpp>
#include <weft/train/trainer.hpp>

#include <catch2/catch.hpp>

#include <cmath>
#include <vector>

#include "../message_of.hpp"
#include "../temporary_folder.hpp"

namespace language_model_data_tests {

using namespace weft;
using weft::testing::message_of;
using weft::testing::TemporaryFolder;

namespace {

constexpr nn::LanguageModelShape shape{
    .d_model = 16, .heads = 2, .d_ff = 16, .layers = 1, .norm = nn::Norm::post};
using Model = nn::LanguageModel<shape>;
using Loss = Chunked<nn::LanguageModelGenerator<shape>, nn::CrossEntropy>;
using Strategy = GradientAccumulation<Model, Loss, optim::Sgd>;

//! 0 1 2 ... 6 0 1 2 ...: each word says what the next one is.
std::vector<token_t> counting(index_t words) {
  std::vector<token_t> all;
  for (index_t i = 0; i < words; ++i) all.push_back(static_cast<token_t>(i % 7));
  return all;
}

struct Run {
  Cpu device;
  Strategy strategy{device,
                    Strategy::Objective(Model(7, 8), nn::CrossEntropy()),
                    optim::Sgd(),
                    {.seed = 3, .clip_norm = 0.5}};
  data::Columns text{counting(600), 5, 8, "text"};
  data::Columns valid{counting(100), 3, 8, "valid"};
  std::vector<double> losses;

  //! The loss per word of the validation text, once trained for 3 epochs.
  double train(const std::string& folder, index_t interrupt_after = -1) {
    train::TrainerHooks hooks;
    index_t updates = 0;
    hooks.after_update = [&](const train::UpdateReport& report) {
      ++updates;
      losses.push_back(report.step.loss.loss.value());
    };
    hooks.interrupted = [&] { return updates == interrupt_after; };
    const train::LanguageModelData data(text, valid);
    train::Trainer trainer(strategy, data, optim::Constant{1.0}, train::RunFolder(folder),
                           {.max_epochs = 3}, hooks);
    if (std::filesystem::exists(folder + "/state.safetensors")) trainer.resume();
    trainer.run();
    return trainer.validate();
  }
};

}  // namespace

TEST_CASE("a language model learns a text, and goes on after an interruption with the same bits") {
  const TemporaryFolder folder;
  Run whole;
  const double loss = whole.train(folder.path("whole"));
  CHECK(whole.losses.size() == 45);  // 15 chunks of 119 words
  CHECK(loss < 0.1);                 // of log(7) = 1.95 at first
  Run first, second;
  first.train(folder.path("pieces"), 20);
  CHECK(first.losses.size() == 20);
  CHECK(second.train(folder.path("pieces")) == loss);
  CHECK(second.losses == std::vector<double>(whole.losses.begin() + 20, whole.losses.end()));
}

TEST_CASE("a batch in which words have no next ones is refused") {
  data::LanguageModelBatch batch;
  data::Columns(counting(100), 4, 8, "text").fill(0, batch);
  --batch.output.offsets[1];
  CHECK(message_of<DataError>([&] { return train::LanguageModelDeviceBatch(batch).size(); }) ==
        "a batch: rows of input are not as long as those of output");
}

TEST_CASE("batches with other words, or other next ones, have other fingerprints") {
  data::LanguageModelBatch batch;
  data::Columns(counting(100), 4, 8, "text").fill(0, batch);
  const auto fingerprint = [&] { return train::LanguageModelDeviceBatch(batch).fingerprint(); };
  const auto before = fingerprint();
  for (data::TokenRows* rows : {&batch.input, &batch.output}) {
    ++rows->tokens.back();
    CHECK(fingerprint() != before);
    --rows->tokens.back();
  }
  CHECK(fingerprint() == before);
}

TEST_CASE("an epoch reads every chunk, or the first ones") {
  const data::Columns text(counting(100), 4, 8, "text");
  CHECK(train::ColumnsLoader(text, 0, {}).batches_in_epoch() == 3);
  CHECK(train::ColumnsLoader(text, 50, {}).batches_in_epoch() == 3);
  train::ColumnsLoader loader(text, 2, {.epoch = 1, .batch = 1});
  data::LanguageModelBatch batch, expected;
  loader.next(batch);
  text.fill(1, expected);
  CHECK(batch == expected);
  CHECK(loader.position() == data::BatchPosition{2, 0});
  loader.next(batch);
  text.fill(0, expected);
  CHECK(batch == expected);
  CHECK(loader.position() == data::BatchPosition{2, 1});
  CHECK(message_of<ArgumentError>([&] {
          return train::ColumnsLoader(text, 2, {.epoch = 0, .batch = 2}).batches_in_epoch();
        }) == "loader: cannot start at batch 2 of epoch 0, which has 2");
}

}  // namespace language_model_data_tests
