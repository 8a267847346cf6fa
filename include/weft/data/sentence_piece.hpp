// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Subwords of SentencePiece. Needs libsentencepiece.
//!
//!     const auto model = SentencePiece::train({lines}, {.pieces = 8000});
//!     model.save("subwords.model");
//!     model.encode("ein Hundewetter");       // "▁ein ▁Hunde wetter", for example
//!     model.decode("▁ein ▁Hunde wetter");    // "ein Hundewetter"
//!
//! Text that is encoded is words for a Vocabulary, as any other.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/data/sentence_piece_model.hpp>
#include <weft/data/words.hpp>
#include <weft/io/atomic_file.hpp>
#include <weft/io/input_file.hpp>
#include <weft/io/utf8.hpp>

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weft::data {

//! What a model of SentencePiece chooses its pieces by.
enum class PieceModel { unigram, bpe };

//! How a model is trained.
struct SentencePieceSettings {
  index_t pieces = 8000;                   //!< with `<unk>`, `<s>` and `</s>`
  PieceModel model = PieceModel::unigram;  //!< how pieces are chosen
  double character_coverage = 0.9995;      //!< Rarer characters have no piece.
};

namespace detail {

//! Some texts as SentencePiece reads them.
class LinesForTraining : public sentencepiece::SentenceIterator {
 public:
  explicit LinesForTraining(std::span<const std::span<const std::string>> texts) {
    for (const auto lines : texts) {
      for (const auto& line : lines) {
        lines_.push_back(&line);
        letters_ += std::ssize(line) + 2;
      }
    }
  }
  [[nodiscard]] bool done() const override { return next_ == lines_.size(); }
  void Next() override { ++next_; }
  [[nodiscard]] const std::string& value() const override { return *lines_[next_]; }
  [[nodiscard]] sentencepiece::util::Status status() const override { return {}; }
  //! How many letters they have at most, where the library marks their beginnings and ends.
  [[nodiscard]] index_t letters() const { return letters_; }

 private:
  std::vector<const std::string*> lines_;
  std::size_t next_ = 0;
  index_t letters_ = 0;
};

//! What the library is told. Unless it is told that they are many, it numbers letters in 32 bits;
//! where that does not do, the unigram trainer ends the program.
inline std::unordered_map<std::string, std::string> training_options(
    const SentencePieceSettings& settings, index_t letters) {
  constexpr const char* errors_only = "2";
  std::unordered_map<std::string, std::string> options{
      {"model_type", settings.model == PieceModel::bpe ? "bpe" : "unigram"},
      {"vocab_size", text(settings.pieces)},
      {"character_coverage", text(settings.character_coverage)},
      {"minloglevel", errors_only}};
  if (letters > std::numeric_limits<std::int32_t>::max()) {
    options["train_extremely_large_corpus"] = "true";
  }
  return options;
}

//! Whether the library learns of a line. Where it learns of none, the unigram trainer ends the
//! program.
inline bool is_learnt_from(std::string_view line) {
  constexpr std::size_t longest_bytes = 4192;
  bool has_word = false;
  for_each_word(line, [&](std::string_view) { has_word = true; });
  return has_word && line.size() <= longest_bytes;
}

//! What went wrong, without the place in the library's sources where that is not all it says.
inline std::string reason(const sentencepiece::util::Status& status) {
  const std::string whole = status.ToString();
  const auto place = whole.rfind("] ");
  return place == whole.npos || place + 2 == whole.size() ? whole : whole.substr(place + 2);
}

}  // namespace detail

//! A trained model. Encoding and decoding are for any number of threads at a time.
class SentencePiece {
 public:
  //! Loads a `.model` file.
  //!
  //! **Errors.** Those of io::read_file; FormatError, with the path, for what is no such file or
  //! would make the library crash (see check_sentence_piece_model).
  explicit SentencePiece(const std::string& path)
      : SentencePiece(io::read_file(path, detail::most_model_bytes), path) {}

  //! Chooses pieces for some texts together, lines of which that have more than 4192 bytes are not
  //! looked at. The same texts give the same model.
  //!
  //! **Errors.** DataError if there is no text; ArgumentError, in the library's words, if there can
  //! be no such number of pieces.
  //! **Cost.** Holds the texts a few times over; 58,000 lines (4 MB) took 12 s on two busy cores.
  [[nodiscard]] static SentencePiece train(const std::vector<std::span<const std::string>>& texts,
                                           const SentencePieceSettings& settings) {
    const bool has_text = std::ranges::any_of(texts, [](const auto& lines) {
      return std::ranges::any_of(lines, detail::is_learnt_from);
    });
    if (!has_text) throw DataError("SentencePiece: there is no text to train on");
    detail::LinesForTraining lines(texts);
    std::string model;
    const auto status = sentencepiece::SentencePieceTrainer::Train(
        detail::training_options(settings, lines.letters()), &lines, &model);
    if (!status.ok()) {
      throw ArgumentError(text("SentencePiece: cannot find ", settings.pieces,
                               " pieces: ", detail::reason(status)));
    }
    return SentencePiece(model, "a model that was just trained");
  }

  //! Writes a `.model` file. **Errors.** SystemError as io::AtomicFile.
  void save(const std::string& path) const {
    io::write_file(path, processor_->serialized_model_proto());
  }

  //! The number of its pieces.
  [[nodiscard]] index_t size() const { return processor_->GetPieceSize(); }

  //! The pieces of a line, parted by spaces. They spell white space as U+2581, so a Vocabulary
  //! takes each of them as a word: also what a model keeps that was trained without normalisation,
  //! such as U+00A0.
  [[nodiscard]] std::string encode(std::string_view line) const {
    std::vector<std::string> pieces;
    check(processor_->Encode(line, &pieces), "encode");
    std::string joined;
    for (const auto& piece : pieces) {
      if (!joined.empty()) joined += ' ';
      append_piece(piece, joined);
    }
    return joined;
  }

  //! The text of some pieces, which spaces part.
  [[nodiscard]] std::string decode(std::string_view pieces) const {
    std::vector<std::string> list;
    for_each_piece(pieces, [&](std::string_view piece) { list.emplace_back(piece); });
    std::string line;
    check(processor_->Decode(list, &line), "decode");
    return line;
  }

 private:
  static void append_piece(std::string_view piece, std::string& joined) {
    io::for_each_character(piece, [&](char32_t code_point, std::string_view character) {
      joined += is_white_space(code_point) ? "\u2581" : character;
    });
  }

  SentencePiece(const std::string& model, const std::string& path)
      : processor_(std::make_unique<sentencepiece::SentencePieceProcessor>()) {
    check_sentence_piece_model(model, path);
    const auto status = processor_->LoadFromSerializedProto(model);
    if (!status.ok()) {
      throw FormatError(text(path, ": is not a SentencePiece model: ", detail::reason(status)));
    }
  }

  static void check(const sentencepiece::util::Status& status, std::string_view action) {
    if (!status.ok()) {
      throw DataError(text("SentencePiece: cannot ", action, ": ", detail::reason(status)));
    }
  }

  std::unique_ptr<sentencepiece::SentencePieceProcessor> processor_;
};

}  // namespace weft::data
