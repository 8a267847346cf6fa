// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A safetensors file that all ranks of a strategy write together.
#pragma once

#include <cstddef>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <weft/core/index.hpp>
#include <weft/io/atomic_file.hpp>
#include <weft/io/file_part.hpp>
#include <weft/io/safetensors_layout.hpp>
#include <weft/train/try_together.hpp>

namespace weft::train {

//! The first rank makes the file, every rank writes elements of its tensors, and the file takes its
//! place when all have: `path` then has the new contents, and in any other case the old ones.
//!
//! All ranks construct it with the same tensors and commit it. A rank that writes something needs
//! to see the folder.
//! **Errors.** SystemError where a rank cannot write, and CommunicatorAborted, which names it and
//! says why, on the others.
template <class Strategy>
class FileOfRanks {
 public:
  //! Begins the file. All ranks call it. What goes wrong is thrown by `commit`.
  FileOfRanks(Strategy& strategy, const std::string& path, const io::SafetensorsLayout& layout)
      : strategy_(&strategy), layout_(&layout), path_(path) {
    try_here([&] {
      if (!strategy.is_root()) return;
      whole_.emplace(path);
      whole_->write(layout.header());
    });
    temporary_ = strategy.text_of_root(whole_ && failure_ == nullptr ? whole_->temporary() : "");
  }

  //! Writes elements `first` and following of a tensor. What goes wrong is thrown by `commit`, when
  //! all ranks are there to hear of it.
  template <class T>
  void write(std::string_view tensor, index_t first, std::span<const T> elements) {
    if (temporary_.empty()) return;  // there is no file, and the first rank says why
    try_here([&] {
      if (!part_) part_.emplace(temporary_, path_);
      part_->write(layout_->begin(tensor) + first * index_t{sizeof(T)}, std::as_bytes(elements));
    });
  }

  //! The file takes its place; every rank finds it there afterwards. All ranks call it.
  void commit() {
    try_here([&] {
      if (part_) part_->finish();
    });
    throw_together(*strategy_, failure_);
    try_here([&] {
      if (whole_) whole_->commit();
    });
    throw_together(*strategy_, failure_);
  }

 private:
  //! Unless something has failed already.
  template <class F>
  void try_here(const F& f) {
    if (failure_ != nullptr) return;
    try {
      f();
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  Strategy* strategy_;
  const io::SafetensorsLayout* layout_;
  std::string path_;
  std::string temporary_;
  std::optional<io::AtomicFile> whole_;  // of the first rank
  std::optional<io::FilePart> part_;     // of a rank that has written something
  std::exception_ptr failure_;           // of this rank
};

}  // namespace weft::train
