// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// A model that was trained for one task goes on as a part of another: it is loaded, partly frozen,
// and trained at rates of its own; a moving average of all parameters is what is kept.
//
//     build/examples/guides/guide_fine_tune
//
// Prints:
//   at least 95 of 100 sentences are right: yes
//   the embedding is the file's: yes
//   the average is saved: yes
//   three ranks end with the bits of one device: yes

// [include]
#include "mean_pooling.hpp"

#include <weft/comm/launch.hpp>
#include <weft/nn/embedding.hpp>
#include <weft/nn/encoder.hpp>
#include <weft/nn/layer_norm.hpp>
#include <weft/parallel/distributed_data_parallel.hpp>
#include <weft/train/saved_model.hpp>
#include <weft/weft.hpp>
// [include]

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using namespace weft;

const char* said(bool holds) { return holds ? "yes" : "no"; }

constexpr index_t words_known = 10, words_at_most = 8;

//! Sentences with labels: one for each word, or one for each sentence.
struct LabelledSentences {
  data::TokenRows words, labels;

  [[nodiscard]] index_t size() const { return words.size(); }

  template <class D>
  [[nodiscard]] parallel::MicroBatch<TokenSequences<D>, D> part(D& device, Range range) const {
    return {train::to_sequences(device, words, range),
            train::to_sequences(device, labels, range).ids};
  }

  [[nodiscard]] std::uint64_t fingerprint() const {
    return Fingerprint().add(words.fingerprint()).add(labels.fingerprint()).value();
  }
};

//! Whether a word is smaller than the sentence's first, the same, or larger; of a sentence, whether
//! more of its words are smaller than are larger, as many, or fewer.
LabelledSentences sentences(index_t count, unsigned seed, bool whole) {
  std::mt19937 random(seed);
  LabelledSentences batch;
  for (index_t row = 0; row < count; ++row) {
    const auto first = static_cast<token_t>(random() % words_known);
    token_t difference = 0;
    for (auto left = 2 + random() % (words_at_most - 1), all = left; left > 0; --left) {
      const token_t word = left == all ? first : static_cast<token_t>(random() % words_known);
      const token_t sign = word < first ? -1 : word == first ? 0 : 1;
      difference += sign;
      batch.words.tokens.push_back(word);
      if (!whole) batch.labels.tokens.push_back(1 + sign);
    }
    if (whole) batch.labels.tokens.push_back(difference < 0 ? 0 : difference == 0 ? 1 : 2);
    batch.words.end_row();
    batch.labels.end_row();
  }
  return batch;
}

// [models]
constexpr index_t C = 16, labels = 3;
using Words = nn::Sequential<nn::Embedding<C>, nn::EncoderLayer<C, 2, 32>, nn::LayerNorm<C>>;
using Loss = Chunked<nn::BasicGenerator<C, /*Bias=*/true>, nn::CrossEntropy>;
using Tagger = GradientAccumulation<Words, Loss>;  // a label for each word

using Sentences = nn::Sequential<Words, guides::MeanPooling<C>>;  // one for each sentence
// [models]

Words words() { return Words(nn::Embedding<C>(words_known, words_at_most, 0.0f), {}, {}); }

//! Writes the tagger's model, without its head.
void train_tagger(const std::string& path) {
  Cpu device;
  Tagger train(device, Tagger::Objective(words(), nn::BasicGenerator<C, true>(labels)),
               optim::Adam(), {});
  for (unsigned update = 0; update < 300; ++update) {
    (void)train.step(sentences(64, update, /*whole=*/false), 0.01);
  }
  // [save]
  train::save_part(train, train.objective().model(), path, {});
  // [save]
}

// [objective]
using Objective = parallel::Objective<Sentences, Loss>;

Objective objective() {
  Words model = words();
  nn::freeze(std::get<0>(model.modules));  // the embedding
  nn::scale_learning_rate(model, 0.1f);    // what was trained before learns slower than the head
  Objective objective(Sentences(model, {}), nn::BasicGenerator<C, true>(labels));
  nn::decay_matrices_only(objective);  // weight decay is not for biases and gains
  return objective;
}
// [objective]

// [rate]
//! Rises for 20 updates, then falls to 0 until the 100th.
constexpr optim::LinearDecay schedule{.peak = 0.05, .updates = 100, .warmup = 20};
// [rate]

// [average]
using Averaging = optim::MovingAverage<optim::AdamW>;

Averaging optimizer() { return Averaging(optim::AdamW(), /*decay=*/0.9); }
// [average]

//! What training from the tagger's parameters ends with.
struct Ended {
  std::vector<float> values, average;
  double right = 0.0;  //!< the share of labels that the average gets right

  friend bool operator==(const Ended&, const Ended&) = default;
};

template <class Strategy>
Ended fine_tune(Strategy& train, const std::string& from, const std::string& to) {
  // [train]
  train::load_part(train, std::get<0>(train.objective().model().modules), from);
  for (unsigned update = 0; update < 100; ++update) {
    (void)train.step(sentences(64, update, /*whole=*/true), schedule(train.state().updates() + 1));
  }
  parallel::with_average(train, [&] { train::save_model(train, to, {}); });
  // [train]
  const auto test = sentences(200, 1'000, /*whole=*/true);
  Ended ended;
  parallel::with_average(train, [&] {
    [[maybe_unused]] const auto whole = train.whole_values();
    ended.average = to_host(train.state().read_values());
    const auto predicted = train::predict(train, test);
    index_t count = 0;
    for (std::size_t i = 0; i < predicted.size(); ++i) {
      if (predicted[i] == test.labels.tokens[i]) ++count;
    }
    ended.right = static_cast<double>(count) / static_cast<double>(test.size());
  });
  [[maybe_unused]] const auto whole = train.whole_values();
  ended.values = to_host(train.state().read_values());
  return ended;
}

int main() {
  const auto folder = std::filesystem::temp_directory_path() / text("weft-fine-tune-", getpid());
  std::filesystem::create_directory(folder);
  const std::string tagger = folder / "tagger.safetensors", model = folder / "model.safetensors";
  train_tagger(tagger);

  const parallel::Recipe recipe{.seed = 1, .lanes = 3, .micro_batches = 3, .clip_norm = 1.0};
  Cpu device;
  GradientAccumulation<Sentences, Loss, Averaging> one(device, objective(), optimizer(), recipe);
  const Ended ended = fine_tune(one, tagger, model);
  std::printf("at least 95 of 100 sentences are right: %s\n", said(ended.right >= 0.95));

  const nn::Parameter& embedding =
      std::get<0>(std::get<0>(one.objective().model().modules).modules).weight;
  std::vector<float> first(static_cast<std::size_t>(embedding.size()));
  io::SafetensorsFile(tagger).read("0.weight", std::span(first));
  std::printf(
      "the embedding is the file's: %s\n",
      said(std::equal(first.begin(), first.end(), ended.values.begin() + embedding.value_offset)));
  train::load_model(one, model);
  std::printf("the average is saved: %s\n", said(to_host(one.state().values()) == ended.average &&
                                                 ended.average != ended.values));

  std::vector<int> same(3);
  comm::launch_threads(3, comm::default_timeout, [&](comm::ThreadCommunicator& rank) {
    Cpu cpu;
    DistributedDataParallel<Sentences, Loss, Zero<3>, Averaging> train(cpu, rank, objective(),
                                                                       optimizer(), recipe);
    same[static_cast<std::size_t>(rank.rank())] = fine_tune(train, tagger, model) == ended ? 1 : 0;
  });
  std::printf("three ranks end with the bits of one device: %s\n",
              said(same == std::vector<int>{1, 1, 1}));
  std::filesystem::remove_all(folder);
}
