// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Reads corpora and vocabularies for the commands.
#pragma once

#include "options.hpp"

#include <weft/data/parallel_text.hpp>
#include <weft/data/vocabulary.hpp>
#include <weft/train/run_folder.hpp>

#include <map>
#include <string>
#include <string_view>

namespace translation {

//! **Errors.** ArgumentError unless the options name exactly one kind of corpus; those of reading.
weft::data::ParallelText read_pairs(const CorpusOptions& corpus, std::string_view what);

//! The words of both languages: one and the same vocabulary where the model ties its embeddings.
struct Vocabularies {
  weft::data::Vocabulary source;
  weft::data::Vocabulary target;
};

Vocabularies build_vocabularies(const weft::data::ParallelText& pairs,
                                const weft::data::VocabularyLimits& limits);

Vocabularies load_vocabularies(const weft::train::RunFolder& folder);

//! What a saved model says about the vocabularies that it was trained with.
std::map<std::string, std::string> fingerprints(const Vocabularies& words);

//! **Errors.** FormatError if a model's metadata names other vocabularies.
void check_fingerprints(const std::map<std::string, std::string>& metadata,
                        const Vocabularies& words, const std::string& path);

//! Joins the parts of words that subword-nmt split with "@@ ".
std::string join_subwords(std::string_view line);

}  // namespace translation
