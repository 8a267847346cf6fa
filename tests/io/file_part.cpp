// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/io/file_part.hpp>

#include <weft/io/atomic_file.hpp>

#include <catch2/catch.hpp>

#include <cstddef>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

#include "../file_size_limit.hpp"
#include "../message_of.hpp"
#include "../temporary_folder.hpp"

namespace file_part_tests {

using namespace weft;
using namespace weft::testing;
using io::AtomicFile;
using io::FilePart;

namespace {

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace

TEST_CASE("parts that are written in any order make one file") {
  const TemporaryFolder folder;
  const std::string path = folder.path("file");
  AtomicFile whole(path);
  whole.write("head ");
  FilePart first(whole.temporary(), path), second(whole.temporary(), path);
  second.write(9, bytes("tail"));
  first.write(5, bytes("one "));
  second.finish();
  first.finish();
  CHECK(contents(path).empty());
  whole.commit();
  CHECK(contents(path) == "head one tail");
}

TEST_CASE("a part that cannot be written names the file that it would have become") {
  const TemporaryFolder folder;
  const std::string path = folder.path("file");
  const AtomicFile whole(path);
  FilePart part(whole.temporary(), path);
  {
    const FileSizeLimit limit(100);
    CHECK(message_of<SystemError>([&] { return part.write(98, bytes("abc")), 0; }) ==
          "cannot write " + path + ": File too large");
  }
  const std::string elsewhere = folder.path("elsewhere");
  CHECK(message_of<SystemError>([&] { return FilePart(elsewhere, path), 0; }) ==
        "cannot open " + elsewhere + ": No such file or directory");
}

}  // namespace file_part_tests
