// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/io/unfinished_files.hpp>

#include <catch2/catch.hpp>

#include <filesystem>
#include <set>
#include <string>

#include "../temporary_folder.hpp"

namespace unfinished_files_tests {

using namespace weft;
using weft::testing::TemporaryFolder;

TEST_CASE("only what killed writers left is removed from a folder") {
  const TemporaryFolder folder;
  for (const auto* name : {"a", "a.tmp-12-0", "b.safetensors.tmp-7-31", "c.tmp-", "d.tmp-x-1",
                           "e.tmp-1-2.gz", "g.tmp-7", "h.tmp-2024-05-01", "i.tmp-1-"}) {
    folder.write(name, "");
  }
  std::filesystem::create_directory(folder.path("f.tmp-1-2"));  // which no writer made
  io::remove_unfinished_files(folder.path(""));
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path(""))) {
    names.insert(entry.path().filename().string());
  }
  CHECK(names == std::set<std::string>{"a", "c.tmp-", "d.tmp-x-1", "e.tmp-1-2.gz", "f.tmp-1-2",
                                       "g.tmp-7", "h.tmp-2024-05-01", "i.tmp-1-"});
}

}  // namespace unfinished_files_tests
