// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/io/regular_file.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <span>
#include <string>

#include "../message_of.hpp"
#include "../temporary_folder.hpp"

namespace regular_file_tests {

using namespace weft;
using namespace weft::testing;
using io::RegularFile;

TEST_CASE("a part of a file is read from where it stands") {
  const TemporaryFolder folder;
  const RegularFile file(folder.write("file", "0123456789"));
  CHECK(file.bytes() == 10);
  std::array<char, 3> part{};
  file.read_at(7, std::as_writable_bytes(std::span(part)));
  CHECK(std::string(part.begin(), part.end()) == "789");
}

TEST_CASE("a file that ends before what is read is an error, also if it was longer") {
  const TemporaryFolder folder;
  const std::string path = folder.write("file", "0123456789");
  const RegularFile file(path);
  std::array<char, 8> part{};
  const auto read = [&] { return file.read_at(2, std::as_writable_bytes(std::span(part))), 0; };
  CHECK(message_of(read) == "(no error)");
  REQUIRE(::truncate(path.c_str(), 4) == 0);
  CHECK(message_of<FormatError>(read) == path + ": ends at byte 4, before its data");
}

TEST_CASE("what is no regular file is refused, and not waited for") {
  const TemporaryFolder folder;
  const std::string pipe = folder.path("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(message_of<SystemError>([&] { return RegularFile(pipe), 0; }) ==
        "cannot read " + pipe + ": it is not a regular file");
  const std::string missing = folder.path("missing");
  CHECK(message_of<SystemError>([&] { return RegularFile(missing), 0; }) ==
        "cannot open " + missing + ": No such file or directory");
}

}  // namespace regular_file_tests
