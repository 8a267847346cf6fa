// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Writes words after a prompt.
#pragma once

#include "../common/counted.hpp"
#include "model.hpp"
#include "options.hpp"
#include "texts.hpp"

#include <weft/core/error.hpp>
#include <weft/core/philox.hpp>
#include <weft/core/text.hpp>
#include <weft/data/basic_english.hpp>
#include <weft/generate/sample.hpp>
#include <weft/io/metadata.hpp>
#include <weft/io/safetensors_file.hpp>
#include <weft/nn/context.hpp>
#include <weft/train/language_model_data.hpp>
#include <weft/train/model_config.hpp>
#include <weft/train/run_folder.hpp>
#include <weft/train/saved_model.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <span>
#include <string>

namespace language_model {

//! Writes the prompt and the words that the model puts after it.
template <class Strategy>
int generate_command(const Options& options) {
  const GenerateOptions& o = options.generate;
  const auto folder = weft::train::RunFolder::existing(options.folder);
  weft::train::expect_config(folder, config_of_model());
  const auto vocabulary = load_vocabulary(folder.vocabulary("words"));
  const auto metadata = weft::io::SafetensorsFile(folder.best()).metadata();
  constexpr weft::index_t most = 65536;  // as --bptt
  const auto longest = weft::io::number_in(metadata, folder.best(), "longest", most);
  const auto saved = [&](const std::string& name) {
    const auto found = metadata.find(name);
    if (found != metadata.end()) return found->second;
    throw weft::FormatError(weft::text(folder.best(), ": its metadata has no \"", name,
                                       "\": no model of this program"));
  };
  if (saved("vocabulary") != weft::text(vocabulary.fingerprint())) {
    throw weft::FormatError(weft::text(folder.best(), ": was trained with another vocabulary"));
  }
  if (saved("mask") != "causal") {
    throw weft::ArgumentError(weft::text(
        folder.best(), ": was trained without a mask, to look words up: it cannot write"));
  }
  auto words = numbers_of(vocabulary, weft::data::basic_english(o.prompt));
  if (std::ranges::all_of(words, [&](auto word) { return word == vocabulary.unk(); })) {
    throw weft::ArgumentError(
        weft::text("the model knows no word of the prompt \"", o.prompt, "\""));
  }
  Strategy ranks(options.threads);
  auto strategy =
      ranks.make({.vocabulary = vocabulary.size(), .longest = longest}, longest, {}, {});
  weft::train::load_model(strategy, folder.best());

  const std::size_t given = words.size();
  auto& device = strategy.device(0);
  for (weft::index_t drawn = 0; drawn < o.words; ++drawn) {
    // The model reads as many words as it was trained with, and sees no further back.
    const auto read =
        std::span(words).last(std::min(words.size(), static_cast<std::size_t>(longest)));
    weft::data::TokenRows row;
    row.tokens.assign(read.begin(), read.end());
    row.end_row();
    weft::nn::Context ctx(device, strategy.state().values().data());
    const auto output =
        strategy.objective().model().forward(ctx, weft::train::to_sequences(device, row, {0, 1}));
    const auto& generator = strategy.objective().loss().generator;
    const auto last = output.output.values.slice(std::ssize(read) - 1, std::ssize(read));
    const auto logits = to_host(generator.logits(ctx, last));
    if (!std::ranges::all_of(logits, [](float logit) { return std::isfinite(logit); })) {
      throw weft::Error(weft::text("no word can be drawn after ",
                                   examples::counted(std::ssize(words), "words"),
                                   ": the model makes numbers that are not finite"));
    }
    const auto random =
        weft::philox({static_cast<std::uint32_t>(drawn), 0, 0, 0}, weft::RandomKey(o.seed, 0));
    words.push_back(weft::generate::sample_word(logits, o.sampling, random[0] * 0x1p-32));
  }
  std::printf("%s\n%s\n", vocabulary.decode(std::span(words).first(given)).c_str(),
              vocabulary.decode(std::span(words).subspan(given)).c_str());
  return 0;
}

}  // namespace language_model
