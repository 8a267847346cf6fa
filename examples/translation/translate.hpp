// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Translates.
#pragma once

#include "../common/counted.hpp"
#include "../common/print.hpp"
#include "../common/standard_input.hpp"
#include "corpora.hpp"
#include "model.hpp"
#include "options.hpp"

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/data/token_rows.hpp>
#include <weft/generate/beam_search.hpp>
#include <weft/generate/search_settings.hpp>
#include <weft/io/metadata.hpp>
#include <weft/io/safetensors_file.hpp>
#include <weft/optim/adam.hpp>
#include <weft/train/model_config.hpp>
#include <weft/train/product_precision.hpp>
#include <weft/train/run_folder.hpp>
#include <weft/train/saved_model.hpp>
#include <weft/train/translate.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

namespace translation {

using examples::counted;

namespace detail {

//! The file of a model that an option names. A run that has not ended has no mean yet: the best
//! one takes its place.
inline std::string model_path(const weft::train::RunFolder& folder, const std::string& model) {
  if (model == "best") return folder.best();
  if (model != "average") return model;
  if (std::filesystem::exists(folder.average())) return folder.average();
  examples::print(weft::text("there is no ", folder.average(), " before a run has ended: this is ",
                             folder.best()));
  return folder.best();
}

//! The search's settings for a target vocabulary.
inline weft::generate::SearchSettings search_settings(const Vocabularies& words,
                                                      const TranslateOptions& options) {
  return {.beam = options.beam,
          .length_penalty = options.length_penalty,
          .max_length_b = options.max_length,
          .bos = words.target.bos(),
          .eos = words.target.eos(),
          .forbidden = {words.target.pad()},
          .scores = false};
}

//! The best translation of each row of words.
template <class Strategy>
std::vector<weft::generate::Hypothesis> search(Strategy& strategy,
                                               const weft::data::TokenRows& rows,
                                               const Vocabularies& words,
                                               const TranslateOptions& options) {
  return weft::train::translate(strategy, rows, words.source.eos(), search_settings(words, options),
                                options.batch);
}

//! A translation as a line.
inline std::string line_of(const weft::generate::Hypothesis& hypothesis, const Vocabularies& words,
                           const TranslateOptions& options) {
  return words.subwords.join(words.target.decode(hypothesis.tokens), options.join_subwords);
}

}  // namespace detail

//! Translates rows of words into lines.
template <class Strategy>
std::vector<std::string> translate_rows(Strategy& strategy, const weft::data::TokenRows& rows,
                                        const Vocabularies& words,
                                        const TranslateOptions& options) {
  std::vector<std::string> lines;
  for (const auto& hypothesis : detail::search(strategy, rows, words, options)) {
    lines.push_back(detail::line_of(hypothesis, words, options));
  }
  return lines;
}

//! Translates lines of text. A line without words stays one.
//!
//! **Errors.** DataError for a line that is longer than the model's positions, unless it is to be
//! truncated; how many were is then said. Error for a model that makes no numbers.
template <class Strategy>
std::vector<std::string> translate_lines(Strategy& strategy, const std::vector<std::string>& lines,
                                         const Vocabularies& words, const TranslateOptions& options,
                                         const std::vector<weft::index_t>& numbers = {}) {
  const weft::index_t most = strategy.objective().model().longest() - 1;  // and the end
  weft::data::TokenRows rows;
  std::vector<std::size_t> row_of_line;
  weft::index_t truncated = 0, unknown = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    auto ids = words.source.encode(words.subwords.split(lines[i]));
    if (ids.empty()) continue;
    if (std::ssize(ids) > most) {
      if (!options.truncate) {
        const auto number = numbers.empty() ? static_cast<weft::index_t>(i + 1) : numbers[i];
        throw weft::DataError(weft::text("line ", number, " has ",
                                         counted(std::ssize(ids), "words"), ", the model takes ",
                                         most, "; --truncate cuts such lines"));
      }
      ids.resize(static_cast<std::size_t>(most));
      ++truncated;
    }
    unknown += std::ranges::count(ids, words.source.unk());
    rows.append(ids);
    rows.end_row();
    row_of_line.push_back(i);
  }
  if (truncated > 0) {
    examples::print(weft::text(counted(truncated, "lines"), truncated == 1 ? " was" : " were",
                               " truncated to ", counted(most, "words")));
  }
  if (unknown > 0) {
    examples::print(weft::text(counted(unknown, "words"), unknown == 1 ? " is" : " are",
                               " not in the vocabulary"));
  }
  std::vector<std::string> results(lines.size());
  const auto found = detail::search(strategy, rows, words, options);
  const auto without = std::ranges::count_if(
      found, [](const auto& hypothesis) { return hypothesis.tokens.empty(); });
  if (without > 0) {  // the search finds a word at least, where any has a probability
    throw weft::Error(weft::text("no word has a probability in the translations of ",
                                 counted(without, "lines"),
                                 ": the model makes numbers that are not finite"));
  }
  for (std::size_t row = 0; row < found.size(); ++row) {
    results[row_of_line[row]] = detail::line_of(found[row], words, options);
  }
  return results;
}

//! A model from a folder, ready to translate. The folder's vocabularies say how large it is.
template <class Strategy>
struct LoadedModel {
  weft::train::RunFolder folder;
  Vocabularies words;
  std::string path;  // of the model
  Strategy devices;
  typename Strategy::Type strategy;

  LoadedModel(const Options& options, const TranslateOptions& translate)
      : folder(model_folder(translate.folder)),
        words(load_vocabularies(folder, Subwords(folder))),
        path(detail::model_path(folder, translate.model)),
        devices(options.devices, options.threads),
        strategy(devices.make(objective(), weft::optim::Adam(), {})) {
    const auto metadata = weft::train::load_model(strategy, path);
    check_fingerprints(metadata, words, path);
    weft::train::set_product_precision(strategy, translate.product_precision);
  }

 private:
  static weft::train::RunFolder model_folder(const std::string& path) {
    auto folder = weft::train::RunFolder::existing(path);
    weft::train::expect_config(folder, weft::train::config_of(shape));
    return folder;
  }

  //! The longest sentence that a model takes is a choice of its training.
  [[nodiscard]] typename Strategy::Type::Objective objective() const {
    const weft::io::SafetensorsFile file(path);
    constexpr weft::index_t most = 65536;  // as --longest
    const auto longest = weft::io::number_in(file.metadata(), path, "longest", most);
    return typename Strategy::Type::Objective(
        Model({words.source.size(), words.target.size(), longest}), weft::nn::LabelSmoothing());
  }
};

template <class Strategy>
int translate_command(const Options& options) {
  LoadedModel<Strategy> model(options, options.translate);
  const auto lines = examples::lines_of_standard_input();
  for (const auto& line : translate_lines(model.strategy, lines, model.words, options.translate)) {
    std::printf("%s\n", line.c_str());
  }
  return 0;
}

}  // namespace translation
