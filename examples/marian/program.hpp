// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The program for a shape: sentences in, sentences out.
#pragma once

#include "../common/number_checks.hpp"
#include "../common/report_errors.hpp"
#include "../common/standard_input.hpp"
#include "sentences.hpp"
#include "translator.hpp"

#include <weft/core/version.hpp>

#include <CLI/CLI.hpp>

#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace marian {

template <weft::nn::TransformerShape S>
int run(int argc, char** argv) {
  using weft::generate::Rules;
  CLI::App app(
      "Translates with a MarianMT model that tools/convert has taken from Hugging Face. Reads "
      "sentences from standard input, one a line, and writes their translations. Options that "
      "are not given are the model's own.");
  app.set_version_flag("--version", std::string("weft ") + weft::version);
  std::string folder;
  bool pieces = false;
  int threads = 1;
  weft::index_t batch = 32;
  std::optional<weft::index_t> beam, max_length;
  std::optional<double> length_penalty;
  std::optional<bool> renormalize;
  Rules rules = Rules::transformers;
  app.add_option("folder", folder, "What tools/convert marian-to-weft wrote")->required();
  app.add_flag("--pieces", pieces,
               "Sentences are cut into the model's pieces already, and stay so; needs no "
               "SentencePiece");
  app.add_option("--beam", beam, "num_beams; 1 is greedy search")
      ->check(examples::positive_whole_number());
  app.add_option("--length-penalty", length_penalty, "length_penalty");
  app.add_option("--max-length", max_length, "max_length: most tokens, both marks included")
      ->check(examples::whole_number(3, 1 << 30));
  app.add_option("--renormalize", renormalize, "renormalize_logits");
  app.add_option("--rules", rules,
                 "When a search ends: transformers, or fairseq, which is early_stopping=True with "
                 "min_new_tokens=1")
      ->transform(CLI::CheckedTransformer(std::map<std::string, Rules>{
          {"transformers", Rules::transformers}, {"fairseq", Rules::fairseq}}));
  app.add_option("--batch", batch, "Sentences that are searched together")
      ->check(examples::positive_whole_number());
  app.add_option("--threads", threads, "Threads")->check(examples::whole_number(1, 1024));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  }
  return examples::report_errors([&] {
    Translator<S> translator(folder, threads);
    std::optional<Sentences> sentences;
    if (!pieces) sentences.emplace(folder);
    auto settings = translator.settings();
    settings.beam = beam.value_or(settings.beam);
    settings.length_penalty = length_penalty.value_or(settings.length_penalty);
    settings.renormalize = renormalize.value_or(settings.renormalize);
    settings.rules = rules;
    if (max_length) settings.max_length_b = *max_length - 2;
    auto lines = examples::lines_of_standard_input();
    if (sentences) {
      for (std::string& line : lines) line = sentences->split(line);
    }
    for (const auto& line : translator.translate(lines, settings, batch)) {
      std::printf("%s\n", (sentences ? sentences->join(line) : line).c_str());
    }
    return 0;
  });
}

}  // namespace marian
