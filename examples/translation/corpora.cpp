// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include "corpora.hpp"

#include "../common/print.hpp"
#include "model.hpp"

#include <weft/core/error.hpp>
#include <weft/data/json_pairs.hpp>

#include <cstddef>
#include <utility>

namespace translation {

namespace {

weft::data::ParallelText read_any_pairs(const CorpusOptions& corpus, std::string_view what) {
  const bool lines = !corpus.source.empty() || !corpus.target.empty();
  if (int{lines} + int{!corpus.tsv.empty()} + int{!corpus.json.empty()} != 1) {
    throw weft::ArgumentError(
        weft::text("the ", what, " needs two line files, or a TSV or JSON file"));
  }
  if (lines && (corpus.source.empty() || corpus.target.empty())) {
    throw weft::ArgumentError(weft::text("the ", what, " needs two line files: there is none of ",
                                         corpus.source.empty() ? "sources" : "targets"));
  }
  if (!corpus.tsv.empty()) return weft::data::read_tsv(corpus.tsv);
  if (!corpus.json.empty()) return weft::data::read_json_pairs(corpus.json);
  return weft::data::read_line_files(corpus.source, corpus.target);
}

//! Says of which files there is nothing to use, and what became of their lines.
[[noreturn]] void refuse_empty(const weft::data::ParallelText& pairs, std::string_view what,
                               weft::index_t dropped) {
  std::string why = weft::text(pairs.name, ": the ", what, " has no sentences");
  if (pairs.skipped > 0) {
    why += "; " + weft::data::skipped_text(pairs.skipped, pairs.skipped_lines);
  }
  if (dropped > 0) why += weft::text("; dropped as too long: ", dropped);
  throw weft::DataError(why);
}

//! **Errors.** Those of encode_text; DataError if no sentence is left.
weft::data::EncodedText encode_pairs(const weft::data::ParallelText& pairs, std::string_view what,
                                     const Vocabularies& words,
                                     const weft::data::LengthLimit& limit) {
  auto encoded = weft::data::encode_text(pairs, words.source, words.target, limit);
  if (encoded.corpus.size() == 0) refuse_empty(pairs, what, encoded.report.dropped);
  return encoded;
}

//! The words of pairs that were cut by `subwords`.
Vocabularies build_vocabularies(const weft::data::ParallelText& pairs,
                                const weft::data::VocabularyLimits& limits, Subwords subwords) {
  weft::data::WordCounts source, target;
  auto& second = shape.tie == weft::nn::Tie::all ? source : target;
  for (const auto& line : pairs.source) source.add_line(line);
  for (const auto& line : pairs.target) second.add_line(line);
  auto words = weft::data::build_vocabulary(source, limits);
  if (shape.tie == weft::nn::Tie::all) return {words, words, std::move(subwords)};
  return {std::move(words), weft::data::build_vocabulary(target, limits), std::move(subwords)};
}

}  // namespace

weft::data::ParallelText read_pairs(const CorpusOptions& corpus, std::string_view what) {
  auto pairs = read_any_pairs(corpus, what);
  if (pairs.size() == 0) refuse_empty(pairs, what, 0);
  return pairs;
}

Vocabularies load_vocabularies(const weft::train::RunFolder& folder, Subwords subwords) {
  return {weft::data::Vocabulary::load(folder.vocabulary("source")),
          weft::data::Vocabulary::load(folder.vocabulary("target")), std::move(subwords)};
}

Corpora read_corpora(const TrainOptions& o, const weft::train::RunFolder& folder, bool writes,
                     const std::function<void()>& wait_for_all) {
  auto train_pairs = read_pairs(o.train, "training corpus");
  auto valid_pairs = read_pairs(o.valid, "validation corpus");
  if (writes && !o.run.resume) write_subwords(folder, o, train_pairs);
  wait_for_all();  // for the file of subwords
  const Subwords subwords(folder);
  if (o.run.resume) expect_subwords(subwords, o);
  if (subwords.any()) {
    if (writes) examples::print("subwords by " + subwords.path());
    static_cast<void>(subwords.split(train_pairs));
  }
  const auto references = subwords.split(valid_pairs);
  auto words = o.run.resume ? load_vocabularies(folder, subwords)
                            : build_vocabularies(
                                  train_pairs,
                                  {.minimum_count = o.minimum_count, .maximum_size = o.vocabulary},
                                  subwords);
  const weft::data::LengthLimit limit{.longest = o.longest, .then = o.too_long};
  auto training = encode_pairs(train_pairs, "training corpus", words, limit);
  auto validation = encode_pairs(valid_pairs, "validation corpus", words, limit);
  if (writes) {
    examples::print(weft::text("training corpus\n", to_text(training.report),
                               "\nvalidation corpus\n", to_text(validation.report)));
  }
  const auto of_encoded = [&validation](const std::vector<std::string>& lines) {
    std::vector<std::string> found;
    for (const auto pair : validation.corpus.pairs) {
      found.push_back(lines[static_cast<std::size_t>(pair)]);
    }
    return found;
  };
  auto valid_sources = of_encoded(valid_pairs.source);
  auto valid_references = of_encoded(references);
  return {std::move(words), std::move(training), std::move(validation), std::move(valid_sources),
          std::move(valid_references)};
}

std::map<std::string, std::string> fingerprints(const Vocabularies& words) {
  std::map<std::string, std::string> found{
      {"source_vocabulary", std::to_string(words.source.fingerprint())},
      {"target_vocabulary", std::to_string(words.target.fingerprint())}};
  if (words.subwords.any()) found["subwords"] = std::to_string(words.subwords.fingerprint());
  return found;
}

void check_fingerprints(const std::map<std::string, std::string>& metadata,
                        const Vocabularies& words, const std::string& path) {
  const auto of = [](const std::map<std::string, std::string>& all, const std::string& name) {
    const auto found = all.find(name);
    return found == all.end() ? "none" : found->second;
  };
  const auto here = fingerprints(words);
  for (const std::string name : {"source_vocabulary", "target_vocabulary", "subwords"}) {
    if (of(metadata, name) != of(here, name)) {
      throw weft::FormatError(
          weft::text(path, ": was trained with another ", name, " than the one in its folder"));
    }
  }
}

}  // namespace translation
