// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Texts, their words, and the vocabulary that numbers these.
#pragma once

#include <weft/core/index.hpp>
#include <weft/data/vocabulary.hpp>

#include <string>
#include <vector>

namespace language_model {

//! The words of a text file, as basic_english cuts them. **Errors.** Those of io::LineReader.
std::vector<std::string> read_words(const std::string& path);

//! The words of a text, after `<unk>`.
weft::data::Vocabulary build_vocabulary(const std::vector<std::string>& words,
                                        weft::index_t minimum_count);

//! Reads what was saved. **Errors.** As Vocabulary::load.
weft::data::Vocabulary load_vocabulary(const std::string& path);

//! The numbers of words; where there is none, that of `<unk>`.
std::vector<weft::token_t> numbers_of(const weft::data::Vocabulary& vocabulary,
                                      const std::vector<std::string>& words);

}  // namespace language_model
