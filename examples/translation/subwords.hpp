// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file How text becomes a model's words, and what it translates to becomes text.
#pragma once

#include "options.hpp"

#include <weft/data/parallel_text.hpp>
#include <weft/train/run_folder.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace translation {

//! The subwords of a run: by the file `subwords.model` (SentencePiece) or `subwords.codes`
//! (subword-nmt) of its folder. Where there is neither, words stay as they are.
class Subwords {
 public:
  //! No file: words stay as they are.
  Subwords() = default;

  //! **Errors.** FormatError, SystemError for a file that cannot be used; ArgumentError for a
  //! SentencePiece model where the program was built without the library.
  explicit Subwords(const weft::train::RunFolder& folder);

  //! The file, or "".
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] bool any() const { return !path_.empty(); }

  //! A number that differs where the file does.
  [[nodiscard]] std::uint64_t fingerprint() const { return fingerprint_; }

  //! How many pieces a model of SentencePiece has; 0 for another file, and for none.
  [[nodiscard]] weft::index_t pieces() const { return pieces_; }

  //! The words of a line of text, parted by spaces.
  [[nodiscard]] std::string split(std::string_view line) const;

  //! The text of some words. Without a file what "@@ " parts is joined if it is so `marked`.
  [[nodiscard]] std::string join(std::string_view words, bool marked) const;

  //! What a translation is compared with where a corpus has this line: the text of a reader.
  [[nodiscard]] std::string reference(const std::string& line, bool marked) const {
    return any() ? line : join(line, marked);
  }

  //! Cuts both sides into words, and returns a reference for each pair. A pair with a side that
  //! has no words then is skipped.
  [[nodiscard]] std::vector<std::string> split(weft::data::ParallelText& pairs) const;

 private:
  std::string path_;
  std::uint64_t fingerprint_ = 0;
  weft::index_t pieces_ = 0;
  std::function<std::string(std::string_view)> split_, join_;
};

//! Gives a folder the file of subwords that a new run is to have, which may be none: a copy of the
//! one that the options name, or a model that is trained on the training corpus.
//!
//! **Errors.** As Subwords, and ArgumentError for options that contradict each other.
void write_subwords(const weft::train::RunFolder& folder, const TrainOptions& options,
                    const weft::data::ParallelText& training);

//! **Errors.** ArgumentError, with both fingerprints, if the options name a file of subwords that
//! is not the one with which a run goes on, or, with both, another number of pieces.
void expect_subwords(const Subwords& subwords, const TrainOptions& options);

}  // namespace translation
