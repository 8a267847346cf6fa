// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include "subwords.hpp"

#include "../common/sentence_piece.hpp"

#include <weft/core/error.hpp>
#include <weft/core/fingerprint.hpp>
#include <weft/data/bpe_codes.hpp>
#include <weft/io/atomic_file.hpp>
#include <weft/io/input_file.hpp>

#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

namespace translation {

namespace {

using examples::Ways;

Ways codes(const std::string& path) {
  const auto codes = std::make_shared<weft::data::BpeCodes>(path);
  return {[codes](std::string_view line) { return codes->split(line); },
          [](std::string_view words) { return weft::data::join_subwords(words); },
          /*pieces=*/0};
}

bool is_model(std::string_view path) { return path.ends_with(".model") || path.ends_with(".spm"); }

Ways ways_of(const std::string& path) {
  return is_model(path) ? examples::sentence_piece(path) : codes(path);
}

std::uint64_t fingerprint_of(const std::string& path) {
  return weft::Fingerprint().add(weft::io::read_file(path)).value();
}

std::string model_in(const weft::train::RunFolder& folder) { return folder.file("subwords.model"); }
std::string codes_in(const weft::train::RunFolder& folder) { return folder.file("subwords.codes"); }

}  // namespace

Subwords::Subwords(const weft::train::RunFolder& folder) {
  for (const auto& path : {model_in(folder), codes_in(folder)}) {
    if (!std::filesystem::exists(path)) continue;
    path_ = path;
    fingerprint_ = fingerprint_of(path);
    auto ways = ways_of(path);
    pieces_ = ways.pieces;
    split_ = std::move(ways.split);
    join_ = std::move(ways.join);
    return;
  }
}

std::string Subwords::split(std::string_view line) const {
  return any() ? split_(line) : std::string(line);
}

std::string Subwords::join(std::string_view words, bool marked) const {
  if (any()) return join_(words);
  return marked ? weft::data::join_subwords(words) : std::string(words);
}

std::vector<std::string> Subwords::split(weft::data::ParallelText& pairs) const {
  weft::data::ParallelText words;
  words.name = pairs.name;
  words.skipped = pairs.skipped;
  words.skipped_lines = pairs.skipped_lines;
  std::vector<std::string> references;
  for (std::size_t i = 0; i < pairs.source.size(); ++i) {
    words.add(pairs.lines[i], split(pairs.source[i]), split(pairs.target[i]));
    if (words.source.size() == references.size()) continue;  // it was skipped
    references.push_back(reference(pairs.target[i], true));
  }
  pairs = std::move(words);
  return references;
}

void write_subwords(const weft::train::RunFolder& folder, const TrainOptions& options,
                    const weft::data::ParallelText& training) {
  const bool copies = !options.subwords.empty(), trains = options.train_subwords > 0;
  if (copies && trains) {
    throw weft::ArgumentError("--subwords names a file and --train-subwords makes one: not both");
  }
  std::string kept;
  if (copies) {
    static_cast<void>(ways_of(options.subwords));  // before it takes the place of another
    kept = is_model(options.subwords) ? model_in(folder) : codes_in(folder);
    weft::io::write_file(kept, weft::io::read_file(options.subwords));
  } else if (trains) {
    kept = model_in(folder);
    examples::train_sentence_piece(kept, {training.source, training.target},
                                   options.train_subwords);
  }
  for (const auto& path : {model_in(folder), codes_in(folder)}) {
    if (path != kept) std::filesystem::remove(path);
  }
}

void expect_subwords(const Subwords& subwords, const TrainOptions& options) {
  if (options.train_subwords > 0 && options.train_subwords != subwords.pieces()) {
    throw weft::ArgumentError(weft::text(
        "--train-subwords ", options.train_subwords, ", but the run goes on with ",
        !subwords.any()         ? "words that are not cut"
        : subwords.pieces() > 0 ? weft::text(subwords.path(), ", a model of ", subwords.pieces())
                                : weft::text(subwords.path(), ", codes of subword-nmt")));
  }
  if (options.subwords.empty()) return;
  const auto given = fingerprint_of(options.subwords);
  if (subwords.any() && subwords.fingerprint() == given) return;
  throw weft::ArgumentError(weft::text(
      "--subwords ", options.subwords, " has the fingerprint ", given,
      ", but the run goes on with ",
      subwords.any() ? weft::text(subwords.path(), ", which has ", subwords.fingerprint())
                     : "words that are not cut"));
}

}  // namespace translation
