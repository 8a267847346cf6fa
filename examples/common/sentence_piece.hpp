// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file SentencePiece, for programs that are also built without it.
#pragma once

#include <weft/core/index.hpp>

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace examples {

//! From text to words that spaces part, and back.
struct Ways {
  std::function<std::string(std::string_view)> split, join;
  weft::index_t pieces = 0;  //!< of a model of SentencePiece; 0 for another
};

//! By a model of SentencePiece.
//!
//! **Errors.** As weft::data::SentencePiece; ArgumentError, which says what to install, where the
//! program was built without the library.
Ways sentence_piece(const std::string& path);

//! Finds so many pieces in some texts, and writes the model. **Errors.** As sentence_piece.
void train_sentence_piece(const std::string& path,
                          const std::vector<std::span<const std::string>>& texts,
                          weft::index_t pieces);

}  // namespace examples
