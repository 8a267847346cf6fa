// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Scores translations.
#pragma once

#include "../common/figures.hpp"
#include "../common/print.hpp"
#include "corpora.hpp"
#include "options.hpp"
#include "score.hpp"
#include "translate.hpp"

#include <weft/core/clock.hpp>
#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/data/parallel_text.hpp>
#include <weft/io/lines.hpp>

#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

namespace translation {

template <class Strategy>
int evaluate_command(const Options& options) {
  const EvaluateOptions& o = options.evaluate;
  std::vector<std::string> hypotheses, references;
  const double begin = weft::monotonic_seconds();
  if (o.hypotheses.empty() && o.translate.folder.empty()) {
    throw weft::ArgumentError(
        "evaluate takes the folder of a model, or --hypotheses and --references");
  }
  if (!o.hypotheses.empty()) {
    hypotheses = weft::io::read_lines(o.hypotheses);
    references = weft::io::read_lines(o.references);
    if (hypotheses.size() != references.size()) {
      throw weft::DataError(weft::text(o.hypotheses, " has ",
                                       counted(std::ssize(hypotheses), "lines"), " and ",
                                       o.references, " has ", references.size()));
    }
    if (hypotheses.empty() && references.empty()) {
      throw weft::DataError(
          weft::text(o.hypotheses, " and ", o.references, ": there are no lines to score"));
    }
  } else {
    LoadedModel<Strategy> model(options, o.translate);
    const auto pairs = read_pairs(o.corpus, "corpus to translate");
    if (pairs.skipped > 0) {
      examples::print(weft::data::skipped_text(pairs.skipped, pairs.skipped_lines));
    }
    for (const auto& line : pairs.target) {
      references.push_back(model.words.subwords.reference(line, o.translate.join_subwords));
    }
    hypotheses =
        translate_lines(model.strategy, pairs.source, model.words, o.translate, pairs.lines);
  }
  const auto [score, line] = bleu(hypotheses, references, o.tokenize);
  std::printf("%s\n", line.c_str());
  examples::write_summary(o.summary, {{"bleu", score},
                                      {"line", line},
                                      {"sentences", static_cast<weft::index_t>(hypotheses.size())},
                                      {"seconds", weft::monotonic_seconds() - begin}});
  return 0;
}

}  // namespace translation
