// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A file that is replaced whole or not at all.
//!
//!     AtomicFile file("run/model.safetensors");
//!     file.write(header);
//!     file.write(values);
//!     file.commit();
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/io/file_descriptor.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace weft::io {

//! Writes a file beside `path` and lets it take the place of `path` when all of it is on the disk.
//!
//! Whatever goes wrong before, power cuts included, `path` holds what it held; `commit` leaves it
//! with the new contents. A file that is not committed is removed; one whose process is killed
//! stays behind as `path.tmp-<process>-<number>` until `remove_unfinished_files` (see
//! weft/io/unfinished_files.hpp). A symbolic link stays, the file that it names is replaced; a file
//! that others may not read stays so.
//!
//! **Errors.** SystemError, with the path and the system's words, from the constructor if `path` is
//! no regular file, must not be written or has no folder; from `write` and `commit` if the system
//! refuses any step (a full disk may tell only then).
class AtomicFile {
 public:
  //! Begins a file that will replace `path`.
  explicit AtomicFile(const std::string& path) : path_(path) {
    struct stat status {};
    const bool exists = ::lstat(path_.c_str(), &status) == 0;
    if (!exists && errno != ENOENT) throw system_error("write", path_);
    if (exists && S_ISLNK(status.st_mode)) {
      const std::unique_ptr<char, decltype(&std::free)> target(::realpath(path_.c_str(), nullptr),
                                                               &std::free);
      if (!target || ::stat(target.get(), &status) != 0) throw system_error("write", path_);
      path_ = target.get();
    }
    if (exists) check_target(status);
    open_temporary(exists ? status.st_mode & 0777 : 0666);
    // What umask took away; not where a file system has no modes.
    if (exists) static_cast<void>(::fchmod(file_.get(), status.st_mode & 0777));
  }

  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  ~AtomicFile() {
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
  }

  //! Appends bytes. **Cost.** At least one system call: write in large pieces.
  void write(std::span<const std::byte> bytes) {
    write_at(file_, end_, bytes, path_);
    end_ += static_cast<index_t>(bytes.size());
  }
  //! Appends bytes.
  void write(std::string_view bytes) { write(std::as_bytes(std::span(bytes))); }

  //! What the file is called until `commit`: others may write parts of it under that name, as
  //! FilePart does.
  [[nodiscard]] const std::string& temporary() const { return temporary_; }

  //! Puts the new file in the place of the old one; nothing can be written afterwards.
  void commit() {
    sync_and_close(file_, path_);
    if (std::rename(temporary_.c_str(), path_.c_str()) != 0) throw system_error("replace", path_);
    temporary_.clear();
    sync_folder();
  }

 private:
  void check_target(const struct stat& status) const {
    if (S_ISDIR(status.st_mode)) {
      errno = EISDIR;
      throw system_error("write", path_);
    }
    // Renaming over a device (/dev/null, as root) or a pipe would destroy it for everybody.
    if (!S_ISREG(status.st_mode)) {
      throw SystemError(text("cannot write ", path_, ": it is not a regular file"));
    }
    if (::access(path_.c_str(), W_OK) != 0) throw system_error("write", path_);
  }

  void open_temporary(mode_t mode) {
    static std::atomic<int> files{0};
    do {
      temporary_ = text(path_, ".tmp-", ::getpid(), "-", files++);
      file_ =
          FileDescriptor(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    } while (!file_.is_open() && errno == EEXIST);  // left by a process of the same number
    if (!file_.is_open()) throw system_error("create", temporary_);
  }

  //! Makes the new name durable, where the file system can do that for folders.
  void sync_folder() const {
    const auto slash = path_.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
    const FileDescriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!descriptor.is_open()) throw system_error("open", folder);
    if (::fsync(descriptor.get()) != 0 && errno != EINVAL) throw system_error("write", folder);
  }

  std::string path_;
  std::string temporary_;  // empty once committed
  FileDescriptor file_;
  index_t end_ = 0;
};

//! Replaces the file `path` by `bytes`; see AtomicFile.
inline void write_file(const std::string& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

}  // namespace weft::io
