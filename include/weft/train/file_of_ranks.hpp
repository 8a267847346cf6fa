// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A safetensors file that all ranks of a strategy write together.
#pragma once

#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <weft/comm/communicator.hpp>
#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/io/atomic_file.hpp>
#include <weft/io/file_part.hpp>
#include <weft/io/safetensors_layout.hpp>

namespace weft::train {

//! The first rank makes the file, every rank writes elements of its tensors, and the file takes its
//! place when all have: `path` then has the new contents, and in any other case the old ones.
//!
//! All ranks construct it with the same tensors and commit it. A rank that writes something needs
//! to see the folder.
//! **Errors.** SystemError where a rank cannot write; other ranks then learn that it has ended.
template <class Strategy>
class FileOfRanks {
 public:
  //! Begins the file. All ranks call it.
  FileOfRanks(Strategy& strategy, const std::string& path, const io::SafetensorsLayout& layout)
      : strategy_(&strategy), layout_(&layout), path_(path) {
    if (strategy.is_root()) {
      whole_.emplace(path);
      whole_->write(layout.header());
    }
    temporary_ = strategy.text_of_root(whole_ ? whole_->temporary() : "");
  }

  //! Writes elements `first` and following of a tensor.
  template <class T>
  void write(std::string_view tensor, index_t first, std::span<const T> elements) {
    if (!part_) part_.emplace(temporary_, path_);
    part_->write(layout_->begin(tensor) + first * index_t{sizeof(T)}, std::as_bytes(elements));
  }

  //! The file takes its place; every rank finds it there afterwards. All ranks call it.
  void commit() {
    if (part_) part_->finish();
    static_cast<void>(strategy_->on_any_rank(false));  // all have finished
    std::exception_ptr failure;
    try {
      if (whole_) whole_->commit();
    } catch (...) {
      failure = std::current_exception();
    }
    const bool failed = strategy_->on_any_rank(failure != nullptr);
    if (failure != nullptr) std::rethrow_exception(failure);
    if (failed) throw comm::CommunicatorAborted(0, text("rank 0 could not write ", path_));
  }

 private:
  Strategy* strategy_;
  const io::SafetensorsLayout* layout_;
  std::string path_;
  std::string temporary_;
  std::optional<io::AtomicFile> whole_;  // of the first rank
  std::optional<io::FilePart> part_;     // of a rank that has written something
};

}  // namespace weft::train
