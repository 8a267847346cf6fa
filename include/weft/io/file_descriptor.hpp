// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file An open file of the operating system.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

namespace weft::io {

//! Owns a descriptor and closes it, without looking at what `close` says: right for files that are
//! only read.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  //! Takes over an open file, or -1 for none.
  explicit FileDescriptor(int number) noexcept : number_(number) {}
  //! Takes over what the other has.
  FileDescriptor(FileDescriptor&& other) noexcept : number_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~FileDescriptor() {
    if (is_open()) ::close(number_);
  }

  //! Whether there is a file.
  [[nodiscard]] bool is_open() const noexcept { return number_ >= 0; }
  //! The system's number of it.
  [[nodiscard]] int get() const noexcept { return number_; }

  //! Gives the descriptor to the caller, who closes it.
  [[nodiscard]] int release() noexcept { return std::exchange(number_, -1); }

 private:
  int number_ = -1;
};

//! The error that `errno` tells of: `cannot write run/model.safetensors: No space left on device`.
[[nodiscard]] inline SystemError system_error(std::string_view action, std::string_view path,
                                              Place where = Place::here()) {
  return SystemError(text("cannot ", action, " ", path, ": ", std::strerror(errno)), where);
}

//! Writes all bytes from `offset` on; `path` stands in errors. **Errors.** SystemError.
inline void write_at(const FileDescriptor& file, index_t offset, std::span<const std::byte> bytes,
                     std::string_view path) {
  while (!bytes.empty()) {
    const auto written = ::pwrite(file.get(), bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw system_error("write", path);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += written;
  }
}

//! Closes a file when what was written is on the disk. **Errors.** SystemError.
inline void sync_and_close(FileDescriptor& file, std::string_view path) {
  if (::fsync(file.get()) != 0 || ::close(file.release()) != 0) throw system_error("write", path);
}

}  // namespace weft::io
