// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A folder that one process at a time writes to.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/text.hpp>
#include <weft/io/detail/messages.hpp>
#include <weft/io/file_descriptor.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <string>

namespace weft::io {

//! Holds a folder until it is destroyed. The system lets go of it when the process ends, however it
//! ends, so nothing has to be cleared away by hand.
//!
//! While a folder is held its file `lock` names the holder. File systems that have no locks (some
//! Lustre mounts) hold nothing.
//!
//! **Errors.** SystemError if another holds the folder, with its host and process, or if the file
//! cannot be written.
class FolderLock {
 public:
  //! Takes hold of the folder.
  explicit FolderLock(const std::string& folder) : path_(folder + "/lock") {
    do {
      file_ = FileDescriptor(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
      if (!file_.is_open()) throw system_error("write", path_);
      if (::flock(file_.get(), LOCK_EX | LOCK_NB) == 0) continue;
      if (errno == EWOULDBLOCK) {
        throw SystemError(text("another run writes to ", folder, ": ", holder()));
      }
      if (errno != ENOLCK && errno != ENOSYS && errno != EOPNOTSUPP) {
        throw system_error("lock", path_);
      }
    } while (!is_current());  // the last holder removed the file after it was opened
    name_holder();
  }

  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  ~FolderLock() {
    // Where somebody has cleared the file away, one of its name is another holder's.
    if (is_current()) ::unlink(path_.c_str());
  }

 private:
  //! Whether the open file is the one that has the name.
  [[nodiscard]] bool is_current() const {
    struct stat opened {
    }, named{};
    return ::fstat(file_.get(), &opened) == 0 && ::stat(path_.c_str(), &named) == 0 &&
           opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
  }

  void name_holder() {
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0) throw system_error("name", "this host");
    const std::string name = text("process ", ::getpid(), " on ", host.data());
    if (::ftruncate(file_.get(), 0) != 0 ||
        ::pwrite(file_.get(), name.data(), name.size(), 0) != std::ssize(name)) {
      throw system_error("write", path_);
    }
  }

  [[nodiscard]] std::string holder() const {
    std::array<char, 512> name{};
    const auto length = ::pread(file_.get(), name.data(), name.size(), 0);
    return length > 0
               ? detail::readable({name.data(), static_cast<std::size_t>(length)}, name.size())
               : "a process that has not said its name";
  }

  std::string path_;
  FileDescriptor file_;
};

}  // namespace weft::io
