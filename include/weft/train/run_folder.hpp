// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The folder that a training run writes to.
#pragma once

#include <fcntl.h>

#include <charconv>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/io/file_descriptor.hpp>
#include <weft/io/folder_lock.hpp>
#include <weft/io/unfinished_files.hpp>

namespace weft::train {

//! The names of the files of a run.
//!
//!     state.safetensors    everything that is needed to go on
//!     best.safetensors     the model that was best on the validation set
//!     best-of-epochs.safetensors  the same, where a better one ended a run within an epoch
//!     epoch-12.safetensors the model after epoch 12; only the last few are kept
//!     average.safetensors  the mean of those
//!     source.vocabulary, target.vocabulary
//!     config.json          which types the model is compiled from
//!     lock                 names the process that writes to the folder, while there is one
class RunFolder {
 public:
  //! **Errors.** SystemError if the folder is not there and cannot be made.
  explicit RunFolder(std::string path) : path_(std::move(path)) {
    std::error_code error;
    std::filesystem::create_directories(path_, error);
    if (error || !std::filesystem::is_directory(path_, error)) {
      throw SystemError(text("cannot make the folder ", path_, ": ",
                             error ? error.message() : "something else has that name"));
    }
  }

  //! A folder that is there already. **Errors.** SystemError if it is not.
  [[nodiscard]] static RunFolder existing(const std::string& path) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
      throw SystemError(text("there is no folder ", path));
    }
    return RunFolder(path);
  }

  //! Keeps other runs from writing to the folder for as long as this object or a copy of it lives,
  //! and removes what a run that was killed did not finish to write. Claiming again does nothing.
  //!
  //! **Errors.** As `io::FolderLock`: another run holds the folder.
  void claim() {
    if (lock_ != nullptr) return;
    lock_ = std::make_shared<io::FolderLock>(path_);
    io::remove_unfinished_files(path_);
  }

  //! For a run that begins anew: it would leave another's models beside its own, or take their
  //! place.
  //!
  //! **Errors.** ArgumentError if a run has left its state here.
  void expect_no_run() const {
    if (!std::filesystem::exists(state())) return;
    throw ArgumentError(text(path_, " holds another run: resume it, or choose another folder"));
  }
  //! The same, where the run begins: what another left aside is not this one's.
  void begin_run() const {
    expect_no_run();
    std::filesystem::remove(best_aside());
  }
  //! For a run that goes on.
  //!
  //! **Errors.** ArgumentError if no run has saved its state here.
  void expect_state() const {
    if (std::filesystem::exists(state())) return;
    throw ArgumentError(text(path_,
                             ": no run has saved its state there yet; start one anew, "
                             "without --resume"));
  }

  //! Where the folder is.
  [[nodiscard]] const std::string& path() const { return path_; }
  //! The state that `--resume` goes on from.
  [[nodiscard]] std::string state() const { return file("state.safetensors"); }
  //! The best model so far.
  [[nodiscard]] std::string best() const { return file("best.safetensors"); }
  //! Which types the model is compiled from.
  [[nodiscard]] std::string config() const { return file("config.json"); }
  //! The mean of the last models.
  [[nodiscard]] std::string average() const { return file("average.safetensors"); }
  //! The model of an epoch.
  [[nodiscard]] std::string epoch(index_t number) const {
    return file(text("epoch-", number, ".safetensors"));
  }
  //! A language's words; `side` is "source" or "target".
  [[nodiscard]] std::string vocabulary(std::string_view side) const {
    return file(text(side, ".vocabulary"));
  }
  //! Any other file of the run.
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

  //! Keeps the best model of the epochs beside the one that takes its name: that of a run which
  //! ends within an epoch.
  //!
  //! **Errors.** std::filesystem::filesystem_error, SystemError.
  void set_best_aside() const {
    if (!std::filesystem::exists(best()) || std::filesystem::exists(best_aside())) return;
    std::error_code failed;
    if (!std::filesystem::is_symlink(best())) {
      std::filesystem::create_hard_link(best(), best_aside(), failed);
      if (!failed) return;
    }
    const std::string part = best_aside() + ".tmp-0-0";
    std::filesystem::copy_file(best(), part, std::filesystem::copy_options::overwrite_existing);
    io::FileDescriptor copy(::open(part.c_str(), O_RDONLY | O_CLOEXEC));
    if (!copy.is_open()) throw io::system_error("open", part);
    io::sync_and_close(copy, part);
    std::filesystem::rename(part, best_aside());
  }
  //! For a run that goes on: what was set aside is the best model again. If no epoch `had_best`,
  //! there is none.
  //!
  //! **Errors.** std::filesystem::filesystem_error.
  void take_best_back(bool had_best) const {
    if (std::filesystem::exists(best_aside())) {
      std::filesystem::rename(best_aside(), best());
      std::filesystem::remove(best_aside());  // two names of one file are not renamed
    } else if (!had_best) {
      std::filesystem::remove(best());
    }
  }

  //! The models of the epochs that are still there, up to `last`: the latest `count`, oldest first.
  [[nodiscard]] std::vector<std::string> epochs(index_t last, index_t count) const {
    std::map<index_t, std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      const std::string name = entry.path().filename().string();
      constexpr std::string_view begin = "epoch-";
      index_t number = 0;
      if (!name.starts_with(begin)) continue;
      std::from_chars(name.data() + begin.size(), name.data() + name.size(), number);
      if (number > 0 && number <= last && number > last - count && epoch(number) == file(name)) {
        found[number] = file(name);
      }
    }
    std::vector<std::string> paths;
    for (const auto& [number, path] : found) paths.push_back(path);
    return paths;
  }

  //! Removes the models of epochs before the latest `count`.
  void keep_epochs(index_t last, index_t count) const {
    std::error_code ignored;  // a file that stays does no harm
    for (index_t number = last - count; number > 0; --number) {
      if (!std::filesystem::remove(epoch(number), ignored)) break;
    }
  }

 private:
  [[nodiscard]] std::string best_aside() const { return file("best-of-epochs.safetensors"); }

  std::string path_;
  std::shared_ptr<io::FolderLock> lock_;
};

}  // namespace weft::train
