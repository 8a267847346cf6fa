// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include "sentence_piece.hpp"

#include <weft/core/error.hpp>
#if WEFT_SENTENCE_PIECE
#include <weft/data/sentence_piece.hpp>

#include <memory>
#endif

namespace examples {

#if WEFT_SENTENCE_PIECE
Ways sentence_piece(const std::string& path) {
  const auto model = std::make_shared<weft::data::SentencePiece>(path);
  return {[model](std::string_view line) { return model->encode(line); },
          [model](std::string_view words) { return model->decode(words); }, model->size()};
}

void train_sentence_piece(const std::string& path,
                          const std::vector<std::span<const std::string>>& texts,
                          weft::index_t pieces) {
  weft::data::SentencePiece::train(texts, {.pieces = pieces}).save(path);
}
#else
namespace {

[[noreturn]] void refuse(const std::string& wanted) {
  throw weft::ArgumentError(
      weft::text(wanted,
                 " needs SentencePiece, without which this program was built: install"
                 " libsentencepiece-dev (on Debian), and build it again"));
}

}  // namespace

Ways sentence_piece(const std::string& path) { refuse(path); }

void train_sentence_piece(const std::string&, const std::vector<std::span<const std::string>>&,
                          weft::index_t) {
  refuse("--train-subwords");
}
#endif

}  // namespace examples
