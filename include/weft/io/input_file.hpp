// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A file read front to back, unpacked on the way if it is a gzip file.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/io/file_descriptor.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <utility>

namespace weft::io {

//! The bytes of a file, or what a gzip file holds (recognised by its first two bytes, not its
//! name).
//!
//! A gzip file may have several members; bytes after its last member are ignored, as gzip does.
//!
//! **Errors.** SystemError if the file is missing, a directory or cannot be read; FormatError if
//! its gzip stream is damaged or ends early.
class InputFile {
 public:
  //! Opens the file.
  explicit InputFile(std::string path) : path_(std::move(path)) {
    FileDescriptor descriptor(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    if (!descriptor.is_open()) throw system_error("open", path_);
    struct stat status {};
    if (::fstat(descriptor.get(), &status) == 0 && S_ISDIR(status.st_mode)) {
      throw SystemError(text("cannot read ", path_, ": it is a directory"));
    }
    file_.reset(::gzdopen(descriptor.get(), "rb"));
    if (!file_) throw no_memory();
    static_cast<void>(descriptor.release());  // zlib closes it
  }

  //! Reads up to `capacity` bytes; fewer only where the file ends, and none after that. What stands
  //! before the damage of a gzip stream is read, and the next call throws.
  [[nodiscard]] index_t read(char* out, index_t capacity) {
    index_t done = 0;
    while (done < capacity) {
      const auto wanted = static_cast<unsigned>(std::min(capacity - done, index_t{1} << 30));
      const int got = ::gzread(file_.get(), out + done, wanted);
      if (got > 0) done += got;
      if (got < static_cast<int>(wanted)) {  // the end, or an error that gzread may not return
        check(done);
        break;
      }
    }
    return done;
  }

  //! As the constructor was given it.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  struct Close {
    void operator()(gzFile file) const noexcept { ::gzclose_r(file); }
  };

  [[nodiscard]] SystemError no_memory() const {
    return SystemError(text("cannot read ", path_, ": zlib has no memory for it"));
  }

  void check(index_t done) const {
    int code = Z_OK;
    const char* message = ::gzerror(file_.get(), &code);
    if (code == Z_OK || code == Z_STREAM_END) return;
    if (code == Z_ERRNO) throw system_error("read", path_);  // while errno tells of it
    if (code == Z_MEM_ERROR) throw no_memory();
    if (done > 0) return;
    if (code == Z_BUF_ERROR) throw FormatError(text(path_, ": the gzip stream ends early"));
    throw FormatError(text(path_, ": the gzip stream is damaged (", message, ")"));
  }

  std::string path_;
  std::unique_ptr<gzFile_s, Close> file_;
};

//! The whole of a file (or of what a gzip file holds) in memory: of a small gzip file, a thousand
//! times its size.
//!
//! **Errors.** Those of InputFile, and FormatError if that is more than `most_bytes`.
[[nodiscard]] inline std::string read_file(
    const std::string& path, index_t most_bytes = std::numeric_limits<index_t>::max()) {
  constexpr std::size_t chunk_bytes = std::size_t{1} << 16;
  InputFile file(path);
  std::string contents;
  for (std::size_t size = 0;;) {
    if (size == contents.size()) contents.resize(size + std::max(size, chunk_bytes));
    const auto room = static_cast<index_t>(contents.size() - size);
    const auto got = file.read(contents.data() + size, room);
    size += static_cast<std::size_t>(got);
    if (static_cast<index_t>(size) > most_bytes) {
      throw FormatError(text(path, ": holds more than ", most_bytes, " bytes"));
    }
    if (got > 0) continue;
    contents.resize(size);
    return contents;
  }
}

}  // namespace weft::io
