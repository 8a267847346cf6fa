// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Reads corpora and vocabularies for the commands.
#pragma once

#include "options.hpp"
#include "subwords.hpp"

#include <weft/data/parallel_corpus.hpp>
#include <weft/data/parallel_text.hpp>
#include <weft/data/vocabulary.hpp>
#include <weft/train/run_folder.hpp>

#include <map>
#include <string>
#include <string_view>

namespace translation {

//! **Errors.** ArgumentError unless the options name exactly one kind of corpus; those of reading;
//! DataError, with the files' names, if they have no sentences.
weft::data::ParallelText read_pairs(const CorpusOptions& corpus, std::string_view what);

//! The words of both languages: one and the same vocabulary where the model ties its embeddings;
//! and how text is cut into them.
struct Vocabularies {
  weft::data::Vocabulary source;
  weft::data::Vocabulary target;
  Subwords subwords;
};

//! The words of pairs that were cut by `subwords`.
Vocabularies build_vocabularies(const weft::data::ParallelText& pairs,
                                const weft::data::VocabularyLimits& limits, Subwords subwords);

Vocabularies load_vocabularies(const weft::train::RunFolder& folder, Subwords subwords);

//! **Errors.** Those of encode_text; DataError if no sentence is left.
weft::data::EncodedText encode_pairs(const weft::data::ParallelText& pairs, std::string_view what,
                                     const Vocabularies& words,
                                     const weft::data::LengthLimit& limit);

//! What a saved model says about the vocabularies and subwords that it was trained with.
std::map<std::string, std::string> fingerprints(const Vocabularies& words);

//! **Errors.** FormatError if a model's metadata names other vocabularies or subwords.
void check_fingerprints(const std::map<std::string, std::string>& metadata,
                        const Vocabularies& words, const std::string& path);

}  // namespace translation
