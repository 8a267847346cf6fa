// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Sentences and their translations as the ids of their words.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/fingerprint.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/data/parallel_text.hpp>
#include <weft/data/token_rows.hpp>
#include <weft/data/vocabulary.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace weft::data {

//! Pairs of encoded sentences: words only, and the ids that batches put around them.
struct ParallelCorpus {
  TokenRows source;            //!< words of the source sentences
  TokenRows target;            //!< words of their translations
  std::vector<index_t> pairs;  //!< Which pair of the ParallelText each was.
  token_t source_eos = 0;      //!< the id of the source's end
  token_t target_bos = 0;      //!< the id of the target's beginning
  token_t target_eos = 0;      //!< the id of the target's end

  //! How many pairs there are.
  [[nodiscard]] index_t size() const noexcept { return source.size(); }

  //! The rows that a sentence takes in a batch: its words and `<eos>`, or `<bos>` and its words.
  [[nodiscard]] index_t source_length(index_t sentence) const noexcept {
    return source.length(sentence) + 1;
  }
  //! The same for the target.
  [[nodiscard]] index_t target_length(index_t sentence) const noexcept {
    return target.length(sentence) + 1;
  }
};

//! A number that differs where any sentence does.
[[nodiscard]] inline std::uint64_t fingerprint(const ParallelCorpus& corpus) {
  Fingerprint fingerprint;
  for (const TokenRows* rows : {&corpus.source, &corpus.target}) {
    for (const token_t token : rows->tokens) fingerprint.add(static_cast<std::uint64_t>(token));
    for (const index_t offset : rows->offsets) fingerprint.add(static_cast<std::uint64_t>(offset));
  }
  return fingerprint.value();
}

//! What to do with a pair of which a side is too long.
enum class TooLong { refuse, drop, truncate };

//! The most rows that a sentence may take in a batch, `<eos>` included, as a model's positions do.
struct LengthLimit {
  index_t longest = std::numeric_limits<index_t>::max();  //!< in rows
  TooLong then = TooLong::refuse;                         //!< what to do with longer ones
};

//! What became of a text's pairs and words; `to_text` makes the lines that a trainer prints.
struct EncodingReport {
  //! One language's side.
  struct Side {
    index_t words = 0;    //!< in all
    index_t unknown = 0;  //!< Words that became `<unk>`.
    index_t longest = 0;  //!< `<eos>` included.
  };

  index_t pairs = 0;                   //!< Those that the corpus has.
  index_t skipped = 0;                 //!< A side had no words, ...
  std::vector<index_t> skipped_lines;  //!< ... for the first few in these lines.
  index_t dropped = 0;                 //!< A side was too long.
  index_t truncated = 0;               //!< A side was too long and lost words at its end.
  Side source;                         //!< its words
  Side target;                         //!< its words
};

//! For example "pairs: 29000; skipped, a side without words: 2 (at 7, 9)", and a line for each
//! side.
[[nodiscard]] inline std::string to_text(const EncodingReport& report) {
  std::string lines = text("pairs: ", report.pairs);
  if (report.skipped > 0) {
    lines += "; " + skipped_text(report.skipped, report.skipped_lines);
  }
  if (report.dropped > 0) lines += text("; dropped as too long: ", report.dropped);
  if (report.truncated > 0) lines += text("; truncated: ", report.truncated);
  const auto add_side = [&](std::string_view name, const EncodingReport::Side& side) {
    lines += text('\n', name, ": ", side.words, " words, ", side.unknown,
                  " unknown, longest sentence ", side.longest, " with its end");
  };
  add_side("source", report.source);
  add_side("target", report.target);
  return lines;
}

//! A corpus and how it came about.
struct EncodedText {
  ParallelCorpus corpus;  //!< the pairs
  EncodingReport report;  //!< what became of the text
};

//! Encodes the words of a text, cut at white space.
//!
//! **Errors.** DataError, naming line and length, for a sentence that is too long and to be
//! refused, unless each has a translation, and if a vocabulary lacks `<eos>` or the target's
//! `<bos>`; ArgumentError if the limit is below 2.
[[nodiscard]] inline EncodedText encode_text(const ParallelText& pairs,
                                             const Vocabulary& source_words,
                                             const Vocabulary& target_words,
                                             LengthLimit limit = {}) {
  if (limit.longest < 2) {
    throw ArgumentError(text("encode_text: sentences of at most ", limit.longest,
                             " tokens have no room for a word and <eos>"));
  }
  if (pairs.target.size() != pairs.source.size()) {
    throw DataError(text("encode_text: ", pairs.source.size(), " sentences have ",
                         pairs.target.size(), " translations"));
  }
  EncodedText out;
  auto& [corpus, report] = out;
  corpus.source_eos = source_words.eos();
  corpus.target_bos = target_words.bos();
  corpus.target_eos = target_words.eos();
  report.skipped = pairs.skipped;
  report.skipped_lines = pairs.skipped_lines;
  const auto too_long = [&](const std::vector<token_t>& words) {
    return std::ssize(words) >= limit.longest;
  };
  const auto add = [&](std::vector<token_t>& words, const Vocabulary& vocabulary, TokenRows& rows,
                       EncodingReport::Side& side) {
    if (too_long(words)) words.resize(static_cast<std::size_t>(limit.longest - 1));
    rows.append(words);
    rows.end_row();
    side.words += std::ssize(words);
    side.unknown += std::ranges::count(words, vocabulary.unk());
    side.longest = std::max(side.longest, std::ssize(words) + 1);
  };

  for (index_t pair = 0; pair < pairs.size(); ++pair) {
    const auto at = static_cast<std::size_t>(pair);
    auto source = source_words.encode(pairs.source[at]);
    auto target = target_words.encode(pairs.target[at]);
    if (too_long(source) || too_long(target)) {
      if (limit.then == TooLong::refuse) {
        const bool of_source = too_long(source);
        const bool has_line = at < pairs.lines.size();  // a text may come from no file
        throw DataError(text(pairs.name, pairs.name.empty() ? "" : ", ",
                             has_line ? "line " : "pair ", has_line ? pairs.lines[at] : pair + 1,
                             ": the ", of_source ? "source" : "target", " sentence has ",
                             (of_source ? source : target).size() + 1,
                             " tokens with its end, the limit is ", limit.longest));
      }
      if (limit.then == TooLong::drop) {
        ++report.dropped;
        continue;
      }
      ++report.truncated;
    }
    add(source, source_words, corpus.source, report.source);
    add(target, target_words, corpus.target, report.target);
    corpus.pairs.push_back(pair);
  }
  report.pairs = corpus.size();
  return out;
}

}  // namespace weft::data
