// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A part of a file that several processes write together.
#pragma once

#include <weft/core/index.hpp>
#include <weft/io/file_descriptor.hpp>

#include <fcntl.h>

#include <cstddef>
#include <span>
#include <string>
#include <utility>

namespace weft::io {

//! Writes into an AtomicFile of another process, which commits when all have called `finish`.
//!
//! **Errors.** SystemError, with the path and the system's words, from every call. The
//! constructor's is, where processes run on several machines, mostly that they do not see the same
//! folder.
class FilePart {
 public:
  //! `temporary` is the AtomicFile's name until it is committed to `path`.
  FilePart(const std::string& temporary, std::string path)
      : path_(std::move(path)), file_(::open(temporary.c_str(), O_WRONLY | O_CLOEXEC)) {
    if (!file_.is_open()) throw system_error("open", temporary);
  }

  //! Writes bytes from byte `offset` of the file on.
  void write(index_t offset, std::span<const std::byte> bytes) {
    write_at(file_, offset, bytes, path_);
  }

  //! Returns when all is on the disk.
  void finish() { sync_and_close(file_, path_); }

 private:
  std::string path_;
  FileDescriptor file_;
};

}  // namespace weft::io
