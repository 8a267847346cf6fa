// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A folder for the files of one test.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace weft::testing {

//! A new empty folder, which goes with everything in it when the test ends.
class TemporaryFolder {
 public:
  TemporaryFolder() : TemporaryFolder(std::filesystem::temp_directory_path()) {}

  //! In memory where the system has a folder for that: a file that must reach the disk may wait for
  //! seconds behind what compilers have written.
  static TemporaryFolder in_memory() {
    const char* const memory = "/dev/shm";
    return ::access(memory, W_OK) == 0 ? TemporaryFolder(memory) : TemporaryFolder();
  }

  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  //! The path of a file that need not exist.
  [[nodiscard]] std::string path(std::string_view name) const { return (folder_ / name).string(); }

  //! Writes a file byte for byte and returns its path.
  std::string write(std::string_view name, std::string_view contents) const {
    std::ofstream file(path(name), std::ios::binary);
    file.write(contents.data(), static_cast<std::streamsize>(contents.size()));
    file.close();
    if (!file) throw std::runtime_error("cannot write " + path(name));
    return path(name);
  }

 private:
  explicit TemporaryFolder(const std::filesystem::path& parent) {
    std::string name = (parent / "weft-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = name;
  }

  std::filesystem::path folder_;
};

}  // namespace weft::testing
