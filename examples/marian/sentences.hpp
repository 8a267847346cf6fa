// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Sentences as a MarianMT model's pieces.
#pragma once

#include "../common/sentence_piece.hpp"

#include <weft/core/error.hpp>
#include <weft/data/words.hpp>

#include <filesystem>
#include <string>
#include <string_view>

namespace marian {

//! The two models of SentencePiece in a model's folder: of what it reads, and of what it writes.
//!
//! **Source.** `MarianTokenizer` of Hugging Face's transformers, with `skip_special_tokens=True`.
//! Unlike it in version 5, pieces that are written become text by target.spm.
class Sentences {
 public:
  //! **Errors.** SystemError where a file is missing; else as examples::sentence_piece.
  explicit Sentences(const std::string& folder)
      : source_(examples::sentence_piece(found(folder, "source.spm"))),
        target_(examples::sentence_piece(found(folder, "target.spm"))) {}

  //! The pieces of a sentence, parted by spaces. A code of a language before it, such as ">>pt<<",
  //! is a piece.
  [[nodiscard]] std::string split(std::string_view sentence) const {
    const auto end = sentence.starts_with(">>") ? sentence.find("<<") : sentence.npos;
    if (end == sentence.npos) return source_.split(sentence);
    return std::string(sentence.substr(0, end + 2)) + " " + source_.split(sentence.substr(end + 2));
  }

  //! The sentence of some pieces. What stands for no text, such as "<unk>", is left out.
  [[nodiscard]] std::string join(std::string_view pieces) const {
    std::string text;
    weft::data::for_each_piece(pieces, [&](std::string_view piece) {
      if (piece == "<unk>" || piece == "<pad>" || piece == "</s>") return;
      text.append(text.empty() ? "" : " ").append(piece);
    });
    return target_.join(text);
  }

 private:
  static std::string found(const std::string& folder, const std::string& name) {
    auto path = folder + "/" + name;
    if (std::filesystem::exists(path)) return path;
    throw weft::SystemError(
        weft::text("there is no ", path,
                   ", which cuts sentences into pieces; --pieces reads and writes "
                   "sentences that are cut"));
  }

  examples::Ways source_, target_;
};

}  // namespace marian
