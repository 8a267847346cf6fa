// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A file of known size, read at any offset.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/io/file_descriptor.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

namespace weft::io {

//! A file that is open for reading. It is not mapped, so one that shrinks meanwhile is an error,
//! not a crash.
//!
//! **Errors.** SystemError if the file cannot be read or is not a regular file.
class RegularFile {
 public:
  //! Opens a file.
  explicit RegularFile(std::string path) : path_(std::move(path)) {
    // O_NONBLOCK so that a pipe is refused below instead of waited for.
    file_ = FileDescriptor(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat status {};
    if (!file_.is_open() || ::fstat(file_.get(), &status) != 0) throw system_error("open", path_);
    if (!S_ISREG(status.st_mode)) {
      throw SystemError(text("cannot read ", path_, ": it is not a regular file"));
    }
    bytes_ = status.st_size;
  }

  //! Where it was opened.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  //! Its size when it was opened.
  [[nodiscard]] index_t bytes() const noexcept { return bytes_; }

  //! Fills `out` with what stands from `offset` on. **Errors.** FormatError if the file ends
  //! before.
  void read_at(index_t offset, std::span<std::byte> out) const {
    while (!out.empty()) {
      const auto got = ::pread(file_.get(), out.data(), out.size(), offset);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw system_error("read", path_);
      if (got == 0) throw FormatError(text(path_, ": ends at byte ", offset, ", before its data"));
      out = out.subspan(static_cast<std::size_t>(got));
      offset += got;
    }
  }

 private:
  std::string path_;
  FileDescriptor file_;
  index_t bytes_ = 0;
};

}  // namespace weft::io
