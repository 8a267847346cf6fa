// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/train/predict.hpp>

#include <weft/comm/launch.hpp>
#include <weft/comm/threads.hpp>
#include <weft/nn/translation_steps.hpp>
#include <weft/parallel/distributed_data_parallel.hpp>
#include <weft/parallel/pipeline_parallel.hpp>
#include <weft/parallel/schedule/gpipe.hpp>
#include <weft/parallel/split.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../message_of.hpp"
#include "small_runs.hpp"

namespace predict_tests {

using namespace weft;
using namespace weft::testing;
using comm::ThreadCommunicator;
using train::DeviceBatch;

namespace {

//! A model in stages has no tied weights.
constexpr nn::TransformerShape staged_shape{
    .d_model = 24, .heads = 3, .d_ff = 40, .encoder_layers = 1, .decoder_layers = 2};

//! What the model and its generator say without a strategy's help.
struct Expected {
  std::vector<float> outputs;
  std::vector<token_t> labels;
};

template <class Strategy>
Expected expected_of(Strategy& strategy, const data::TranslationBatch& batch) {
  Expected expected;
  nn::Context<Cpu> ctx(strategy.device(0), strategy.state().values().data());
  for (index_t m = 0; m < strategy.recipe().micro_batches; ++m) {
    const Range range = share(batch.size(), strategy.recipe().micro_batches, m);
    if (range.size() == 0) continue;
    const auto part = DeviceBatch(batch).part(strategy.device(0), range);
    const auto y = strategy.objective().model().forward(ctx, part.input).output;
    const auto logits = strategy.objective().loss().generator.logits(ctx, y.values);
    const auto numbers = to_host(y.values);
    expected.outputs.insert(expected.outputs.end(), numbers.begin(), numbers.end());
    for (index_t n = 0; n < logits.rows(); ++n) {
      const float* row = View<const float>(logits).row(n);
      expected.labels.push_back(
          static_cast<token_t>(std::max_element(row, row + logits.columns()) - row));
    }
  }
  return expected;
}

//! What is to be predicted has no labels yet.
struct Unlabelled {
  const data::TranslationBatch* batch;

  struct Part {
    nn::TranslationInput<Cpu> input;
  };
  [[nodiscard]] index_t size() const { return batch->size(); }
  [[nodiscard]] Part part(Cpu& device, Range range) const {
    return {DeviceBatch(*batch).part(device, range).input};
  }
};

//! Trains a little and asks; whether the answers are the expected ones.
template <class Strategy>
bool says(Strategy& strategy, const Expected& expected, const data::TranslationBatch& batch) {
  train_on(strategy, 0, 3);
  return train::predict(strategy, DeviceBatch(batch)) == expected.labels &&
         train::outputs(strategy, DeviceBatch(batch)) == expected.outputs;
}

}  // namespace

TEST_CASE("predictions are the labels of the largest logits, on any number of devices and ranks") {
  const auto batch = random_translations(7, 100);
  OneDevice<> one;
  train_on(one.strategy, 0, 3);
  const auto expected = expected_of(one.strategy, batch);
  REQUIRE(std::ssize(expected.labels) == std::ssize(batch.target_output.tokens));
  CHECK(std::ranges::count(expected.labels, expected.labels[0]) < std::ssize(expected.labels));
  CHECK(train::predict(one.strategy, Unlabelled{&batch}) == expected.labels);
  CHECK(says(one.strategy, expected, batch) == false);  // which has learnt more meanwhile
  for (const int devices : {1, 2, 3}) {
    CAPTURE(devices);
    Devices many(devices);
    CHECK(says(many.strategy, expected, batch));
  }
  std::vector<int> alike(2);
  comm::launch_threads(2, comm::Timeout(60.0), [&](ThreadCommunicator& communicator) {
    Cpu device;
    DistributedDataParallel<SmallModel, SmallLoss, Zero<3>> strategy(
        device, communicator, small_objective(), optim::Adam(), small_recipe);
    alike[static_cast<std::size_t>(communicator.rank())] = says(strategy, expected, batch) ? 1 : 0;
    train_on(strategy, 3, 4);  // goes on: nobody holds the values
  });
  CHECK(alike == std::vector<int>{1, 1});
}

TEST_CASE("every rank of a pipeline predicts what one device does") {
  constexpr parallel::Recipe recipe{.seed = 5, .lanes = 1, .micro_batches = 2};
  using Loss = Chunked<nn::Generator<staged_shape>, nn::LabelSmoothing>;
  const auto objective = [] {
    auto pipe = split<GPipe<2>, 2>(nn::steps_of(nn::Transformer<staged_shape>(
        {small_vocabulary, small_vocabulary, 24}, nn::Dropouts::everywhere(0.1f))));
    return parallel::Objective<decltype(pipe), Loss>(std::move(pipe), nn::LabelSmoothing(0.1f));
  };
  using Model = std::remove_cvref_t<decltype(objective().model())>;
  const auto batch = random_translations(7, 100);
  Cpu alone;
  GradientAccumulation<Model, Loss> one(alone, objective(), optim::Adam(), recipe);
  train_on(one, 0, 3);
  const auto expected = expected_of(one, batch);
  std::vector<int> alike(2);
  comm::launch_threads(2, comm::Timeout(60.0), [&](ThreadCommunicator& communicator) {
    Cpu device;
    PipelineParallel<Model, Loss> strategy(device, communicator, objective(), optim::Adam(),
                                           recipe);
    alike[static_cast<std::size_t>(communicator.rank())] = says(strategy, expected, batch) ? 1 : 0;
  });
  CHECK(alike == std::vector<int>{1, 1});
}

TEST_CASE("batches that leave micro-batches, devices and ranks without sentences") {
  OneDevice<> one;
  Devices three(3);
  for (const index_t sentences : {0, 1, 2}) {
    CAPTURE(sentences);
    const auto batch = random_translations(sentences, 100);
    const auto expected = expected_of(one.strategy, batch);
    CHECK(train::predict(one.strategy, DeviceBatch(batch)) == expected.labels);
    CHECK(train::predict(three.strategy, DeviceBatch(batch)) == expected.labels);
    comm::launch_threads(2, comm::Timeout(60.0), [&](ThreadCommunicator& communicator) {
      Cpu device;
      DistributedDataParallel<SmallModel, SmallLoss> strategy(
          device, communicator, small_objective(), optim::Adam(), small_recipe);
      if (train::predict(strategy, DeviceBatch(batch)) != expected.labels) {
        throw Error("other labels");
      }
    });
  }
}

TEST_CASE("a model that computes no numbers predicts no label") {
  OneDevice<> one;
  one.strategy.state().values().data()[0] = std::numeric_limits<float>::quiet_NaN();
  const auto batch = random_translations(3, 100);
  auto poisoned = batch;
  std::ranges::fill(poisoned.source.tokens, 0);  // whose embedding that is
  const auto labels = train::predict(one.strategy, DeviceBatch(poisoned));
  CHECK(labels == std::vector<token_t>(batch.target_output.tokens.size(), -1));
}

TEST_CASE("ranks that were given other batches hear of it, all of them") {
  std::vector<std::string> heard(2);
  comm::launch_threads(2, comm::Timeout(60.0), [&](ThreadCommunicator& communicator) {
    Cpu device;
    DistributedDataParallel<SmallModel, SmallLoss> strategy(device, communicator, small_objective(),
                                                            optim::Adam(), small_recipe);
    const auto batch = random_translations(5, static_cast<std::uint32_t>(communicator.rank()));
    heard[static_cast<std::size_t>(communicator.rank())] =
        message_of<comm::RanksDiffer>([&] { return train::predict(strategy, DeviceBatch(batch)); });
  });
  CHECK(heard[0] == heard[1]);
  CHECK_THAT(heard[0],
             Catch::StartsWith("the ranks differ: rank 0 was given a batch with the "
                               "fingerprint ") &&
                 Catch::EndsWith("; each is given the whole batch, and computes its part"));
}

TEST_CASE("a rank that cannot predict its part takes the others with it, and answers no other") {
  auto wrong = random_translations(7, 1);
  wrong.source.tokens.back() = small_vocabulary;  // in the last rank's part
  const auto right = random_translations(7, 2);
  std::vector<std::vector<std::string>> heard(2);
  const auto program = [&](ThreadCommunicator& communicator) {
    Cpu device;
    DistributedDataParallel<SmallModel, SmallLoss> strategy(device, communicator, small_objective(),
                                                            optim::Adam(), small_recipe);
    for (const auto& batch : {wrong, right}) {
      heard[static_cast<std::size_t>(communicator.rank())].push_back(
          message_of<Error>([&] { return train::predict(strategy, DeviceBatch(batch)); }));
    }
  };
  comm::launch_threads(2, comm::Timeout(60.0), program);
  const std::string said = text("embedding: word ", small_vocabulary);
  for (const auto& message : {heard[0][0], heard[0][1], heard[1][1]}) {
    CHECK_THAT(message, Catch::StartsWith("rank 1 failed: " + said));
  }
  CHECK_THAT(heard[1][0], Catch::StartsWith(said));
}

}  // namespace predict_tests
