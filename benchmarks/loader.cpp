// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// Reads a corpus, and makes all batches of an epoch as the training programs do with their
// defaults: sentences and their translations ("source" and "target" are line files) by
// examples/translation, or a "text" by examples/language_model. See serve.hpp; `check` gives the
// tokens of an epoch that a model would be asked for.

#include "serve.hpp"

#include <weft/data/basic_english.hpp>
#include <weft/data/columns.hpp>
#include <weft/data/loader.hpp>
#include <weft/data/parallel_corpus.hpp>
#include <weft/data/parallel_text.hpp>
#include <weft/data/vocabulary.hpp>
#include <weft/data/word_counts.hpp>
#include <weft/io/lines.hpp>
#include <weft/train/language_model_data.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace weft;
using namespace benchmark;

namespace {

//! Makes all batches of an epoch, and counts the words that are predicted, which `labels` holds.
template <class Loader, class Batch, class Rows>
index_t labels_of_epoch(Loader& loader, Rows Batch::*labels) {
  Batch batch;
  index_t tokens = 0;
  do {
    loader.next(batch);
    tokens += std::ssize((batch.*labels).tokens);
  } while (loader.position().batch > 0);
  return tokens;
}

//! Pairs of sentences with one vocabulary for both sides, in batches of 8,000 target tokens.
class Translations {
 public:
  explicit Translations(const Json& settings)
      : source_(settings.at("source")), target_(settings.at("target")) {}

  void read() {
    const auto pairs = data::read_line_files(source_, target_);
    data::WordCounts counts;
    for (const auto* side : {&pairs.source, &pairs.target}) {
      for (const auto& line : *side) counts.add_line(line);
    }
    const auto words = data::build_vocabulary(counts, {});
    corpus_ = data::encode_text(pairs, words, words).corpus;
  }

  //! The target tokens.
  [[nodiscard]] index_t make_epoch() const {
    data::TranslationLoader loader(corpus_, {.budget = 8000, .by_length = false}, /*seed=*/1);
    return labels_of_epoch(loader, &data::TranslationBatch::target_output);
  }

 private:
  std::string source_, target_;
  data::ParallelCorpus corpus_;
};

//! A text in 20 columns, 25 words at a time.
class Text {
 public:
  explicit Text(const Json& settings) : path_(settings.at("text")) {}

  void read() {
    std::vector<std::string> words;
    data::WordCounts counts;
    io::LineReader lines(path_);
    for (std::string line; lines.next(line);) {
      for (auto& word : data::basic_english(line)) {
        counts.add(word);
        words.push_back(std::move(word));
      }
    }
    const auto vocabulary = data::build_vocabulary(counts, {}, {"<unk>"});
    std::vector<token_t> numbers;
    numbers.reserve(words.size());
    for (const auto& word : words) numbers.push_back(vocabulary[word]);
    columns_.emplace(std::move(numbers), 20, 25, path_);
  }

  //! The words that are predicted.
  [[nodiscard]] index_t make_epoch() const {
    train::ColumnsLoader loader(*columns_, 0, {});
    return labels_of_epoch(loader, &data::LanguageModelBatch::output);
  }

 private:
  std::string path_;
  std::optional<data::Columns> columns_;
};

template <class Corpus>
int run(Corpus corpus) {
  corpus.read();
  return serve({{"check", [&](const std::string&) { return Json{corpus.make_epoch()}; }},
                {"repeat",
                 [&](const std::string&) {
                   const double read_ms = milliseconds([&] { corpus.read(); });
                   const double epoch_ms = milliseconds([&] { (void)corpus.make_epoch(); });
                   return Json{{"read", read_ms}, {"epoch", epoch_ms}};
                 }},
                {"memory", [](const std::string&) { return memory({}); }}});
}

}  // namespace

int main(int argc, char** argv) {
  return run_with_settings(argc, argv, R"({"source": "train.de.gz", "target": "train.en.gz"})",
                           [](const Json& settings) {
                             return settings.contains("text") ? run(Text(settings))
                                                              : run(Translations(settings));
                           });
}
