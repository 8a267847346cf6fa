// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// Batches, a head and a loss of one's own: a model that gives each word of a sentence a tag, and
// one that gives it a number.
//
//     build/examples/guides/guide_write_a_loss
//
// Prints:
//   at least 95 of 100 tags are right: yes
//   two devices end with the bits of one: yes
//   the mean squared error is below 0.003: yes

// [include]
#include "mean_squared_error.hpp"

#include <weft/core/fingerprint.hpp>
#include <weft/nn/embedding.hpp>
#include <weft/nn/encoder.hpp>
#include <weft/nn/layer_norm.hpp>
#include <weft/nn/linear.hpp>
#include <weft/weft.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <span>
#include <vector>

using namespace weft;

// [include]
const char* said(bool holds) { return holds ? "yes" : "no"; }

// [include]
constexpr index_t words_known = 10, words_at_most = 8;
// [include]

//! Sentences of two to eight words.
data::TokenRows random_sentences(index_t count, unsigned seed) {
  std::mt19937 random(seed);
  data::TokenRows rows;
  for (index_t row = 0; row < count; ++row) {
    for (auto left = 2 + random() % (words_at_most - 1); left > 0; --left) {
      rows.tokens.push_back(static_cast<token_t>(random() % words_known));
    }
    rows.end_row();
  }
  return rows;
}

// [batch]
constexpr token_t untagged = -1;

//! Sentences with a tag for each word, or `untagged`.
struct TaggedSentences {
  data::TokenRows words, tags;

  //! How many there are to divide.
  [[nodiscard]] index_t size() const { return words.size(); }

  //! Sentences `range` on a device: what the model reads, and what it should say of each word.
  template <class D>
  [[nodiscard]] parallel::MicroBatch<TokenSequences<D>, D> part(D& device, Range range) const {
    return {train::to_sequences(device, words, range),
            train::to_sequences(device, tags, range).ids};
  }

  //! Differs where batches do: ranks compare it, as each has to bring the same batch.
  [[nodiscard]] std::uint64_t fingerprint() const {
    return Fingerprint().add(words.fingerprint()).add(tags.fingerprint()).value();
  }
};
// [batch]

//! Of three tags: whether a word is smaller than the sentence's first, the same, or larger. Every
//! eighth word has none.
TaggedSentences tagged_sentences(index_t count, unsigned seed) {
  TaggedSentences batch{random_sentences(count, seed), {}};
  for (index_t row = 0; row < count; ++row) {
    const auto words = batch.words[row];
    for (const token_t word : words) {
      const token_t tag = word < words[0] ? 0 : word == words[0] ? 1 : 2;
      const bool has_tag = batch.tags.tokens.size() % 8 != 7;
      batch.tags.tokens.push_back(has_tag ? tag : untagged);
    }
    batch.tags.end_row();
  }
  return batch;
}

// [head]
constexpr index_t C = 16, tags = 3;
using Model = nn::Sequential<nn::Embedding<C>, nn::EncoderLayer<C, 2, 32>, nn::LayerNorm<C>>;
using Head = nn::BasicGenerator<C, /*Bias=*/true>;
using Train = DataParallel<Model, Chunked<Head, nn::CrossEntropy>>;

Train::Objective tagger() {
  return Train::Objective(
      Model(nn::Embedding<C>(words_known, words_at_most, /*dropout=*/0.0f), {}, {}), Head(tags),
      nn::CrossEntropy(/*ignore=*/untagged));
}
// [head]

// [predict]
//! The share of tags that the model gets right.
double accuracy(Train& train, const TaggedSentences& batch) {
  const std::vector<token_t> predicted = train::predict(train, batch);  // for each word of all
  index_t right = 0, all = 0;
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    if (batch.tags.tokens[i] == untagged) continue;
    ++all;
    if (predicted[i] == batch.tags.tokens[i]) ++right;
  }
  return static_cast<double>(right) / static_cast<double>(all);
}
// [predict]

//! The parameters after training; `right`: the share of tags that are right then.
std::vector<float> train_tagger(int devices, double& right) {
  const DeviceGroup<Cpu> group(devices);
  Train train(group, tagger(), optim::Adam(), {.seed = 1, .lanes = 2, .micro_batches = 2});
  for (unsigned update = 0; update < 300; ++update) {
    (void)train.step(tagged_sentences(64, update), /*rate=*/0.01);
  }
  right = accuracy(train, tagged_sentences(200, 1'000));
  return to_host(train.state().values());
}

// [numbers]
//! Sentences with a number for each word.
struct MeasuredSentences {
  data::TokenRows words;
  std::vector<float> numbers;

  [[nodiscard]] index_t size() const { return words.size(); }

  template <class D>
  [[nodiscard]] parallel::MicroBatch<TokenSequences<D>, D, Tensor<float, D>> part(
      D& device, Range range) const {
    auto input = train::to_sequences(device, words, range);
    const auto first = words.offsets[static_cast<std::size_t>(range.begin)];
    const auto part = std::span(numbers).subspan(static_cast<std::size_t>(first),
                                                 static_cast<std::size_t>(input.ids.size()));
    return {std::move(input), to_device<float>(device, part, {std::ssize(part)})};
  }

  [[nodiscard]] std::uint64_t fingerprint() const {
    return Fingerprint().add(words.fingerprint()).add(numbers).value();
  }
};

using Regression = nn::Sequential<nn::Embedding<C>, nn::EncoderLayer<C, 2, 32>, nn::Linear<C, 1>>;
using TrainRegression = GradientAccumulation<Regression, guides::MeanSquaredError>;
// [numbers]

//! What a sentence's words are on average, tenths of it, for each of them.
MeasuredSentences measured_sentences(index_t count, unsigned seed) {
  MeasuredSentences batch{random_sentences(count, seed), {}};
  for (index_t row = 0; row < count; ++row) {
    const auto words = batch.words[row];
    float sum = 0.0f;
    for (const token_t word : words) sum += static_cast<float>(word);
    const float number = sum / static_cast<float>(10 * words.size());
    batch.numbers.insert(batch.numbers.end(), words.size(), number);
  }
  return batch;
}

int main() {
  double right = 0.0;
  const auto one = train_tagger(1, right), two = train_tagger(2, right);
  std::printf("at least 95 of 100 tags are right: %s\n", said(right >= 0.95));
  std::printf("two devices end with the bits of one: %s\n", said(one == two));

  Cpu device;
  TrainRegression train(device,
                        TrainRegression::Objective(
                            Regression(nn::Embedding<C>(words_known, words_at_most, 0.0f), {}, {})),
                        optim::Adam(), {.seed = 1, .lanes = 1, .micro_batches = 1});
  for (unsigned update = 0; update < 500; ++update) {
    (void)train.step(measured_sentences(64, update), 0.01);
  }
  const auto error = train.evaluate(measured_sentences(200, 1'000));
  std::printf("the mean squared error is below 0.003: %s\n",
              said(mean(error.loss, error.tokens).value() < 0.003));
}
