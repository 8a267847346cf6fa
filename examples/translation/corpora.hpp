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

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

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

Vocabularies load_vocabularies(const weft::train::RunFolder& folder, Subwords subwords);

//! What a training reads.
struct Corpora {
  Vocabularies words;
  weft::data::EncodedText training;
  weft::data::EncodedText validation;
  std::vector<std::string> valid_sources;     //!< of the validation corpus, cut into words
  std::vector<std::string> valid_references;  //!< what their translations are compared with
};

//! Reads the corpora of a training; those of a new run say what its words are. All ranks call it:
//! the first one, which `writes`, gives the folder its subwords, for which the others wait.
//!
//! **Errors.** Those of reading; DataError, with the files' names, if no sentence is left.
Corpora read_corpora(const TrainOptions& options, const weft::train::RunFolder& folder, bool writes,
                     const std::function<void()>& wait_for_all);

//! What a saved model says about the vocabularies and subwords that it was trained with.
std::map<std::string, std::string> fingerprints(const Vocabularies& words);

//! **Errors.** FormatError if a model's metadata names other vocabularies or subwords.
void check_fingerprints(const std::map<std::string, std::string>& metadata,
                        const Vocabularies& words, const std::string& path);

}  // namespace translation
