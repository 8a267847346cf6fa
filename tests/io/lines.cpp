// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/io/lines.hpp>

#include "../message_of.hpp"
#include "../temporary_folder.hpp"

#include <zlib.h>
#include <catch2/catch.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace lines_tests {

using namespace weft;
using namespace weft::io;
using namespace std::string_literals;
using weft::testing::message_of;
using weft::testing::TemporaryFolder;

using Lines = std::vector<std::string>;

TEST_CASE("lines end with LF or CR LF, and the last need not end") {
  TemporaryFolder folder;
  const auto lines_of = [&](const std::string& contents) {
    return read_lines(folder.write("text", contents));
  };
  CHECK(lines_of("") == Lines{});
  CHECK(lines_of("\n") == Lines{""});
  CHECK(lines_of("\n\n") == Lines{"", ""});
  CHECK(lines_of("a") == Lines{"a"});
  CHECK(lines_of("a\n") == Lines{"a"});
  CHECK(lines_of("a\n\nb") == Lines{"a", "", "b"});
  CHECK(lines_of("a\r\nb\r\n") == Lines{"a", "b"});
  CHECK(lines_of("a\r\nb\r") == Lines{"a", "b"});
  CHECK(lines_of("a\rb\r\r\n") == Lines{"a\rb\r"});
}

TEST_CASE("a byte order mark is dropped at the start of the file and nowhere else") {
  TemporaryFolder folder;
  CHECK(read_lines(folder.write("t", "\xEF\xBB\xBF")) == Lines{});
  CHECK(read_lines(folder.write("t",
                                "\xEF\xBB\xBF"
                                "a\n\xEF\xBB\xBF"
                                "b")) == Lines{"a",
                                               "\xEF\xBB\xBF"
                                               "b"});
  const std::string long_line(65535, 'a'), marked = "\xEF\xBB\xBF";  // a buffer with its end
  CHECK(read_lines(folder.write("t", long_line + "\n" + marked + "b")) ==
        Lines{long_line, marked + "b"});
}

TEST_CASE("lines longer and shorter than the reader's buffer come out whole") {
  TemporaryFolder folder;
  Lines lines;
  for (const std::size_t size : {65534u, 1u, 65535u, 0u, 65536u, 2u, 65537u, 140000u, 3u}) {
    lines.push_back(std::string(size, static_cast<char>('a' + lines.size())));
  }
  std::string contents;
  for (const auto& line : lines) contents += line + "\r\n";
  CHECK(read_lines(folder.write("t", contents)) == lines);
}

TEST_CASE("a gzip file gives the lines that it holds") {
  TemporaryFolder folder;
  gzFile file = gzopen(folder.path("t.gz").c_str(), "wb");
  gzputs(file, "Grüße\r\nzwei\n");
  gzclose(file);
  CHECK(read_lines(folder.path("t.gz")) == Lines{"Grüße", "zwei"});
}

TEST_CASE("a gzip file that ends early says in which line") {
  TemporaryFolder folder;
  gzFile file = gzopen(folder.path("t").c_str(), "wb");
  for (int line = 0; line < 30'000; ++line) gzprintf(file, "%d\n", line * 7919 % 100'003);
  gzclose(file);
  REQUIRE(read_lines(folder.path("t")).size() == 30'000);
  std::filesystem::resize_file(folder.path("t"), std::filesystem::file_size(folder.path("t")) - 4);
  // What is cut off is of the checksum: all lines are there.
  CHECK(message_of<FormatError>([&] { return read_lines(folder.path("t")); }) ==
        folder.path("t") + ": the gzip stream ends early in line 30001");
  LineReader reader(folder.path("t"));
  std::string line;
  while (reader.number() < 30'000) REQUIRE(reader.next(line));
  CHECK_THROWS_AS(reader.next(line), FormatError);
  CHECK_THROWS_AS(reader.next(line), FormatError);
}

TEST_CASE("a gzip file that ends after a byte order mark ends early, too") {
  TemporaryFolder folder;
  const auto path = folder.path("t");
  gzFile file = gzopen(path.c_str(), "wb");
  gzputs(file, "\xEF\xBB\xBF");
  gzflush(file, Z_SYNC_FLUSH);
  const auto mark = std::filesystem::file_size(path);
  gzputs(file, "text\n");
  gzclose(file);
  REQUIRE(read_lines(path) == Lines{"text"});
  std::filesystem::resize_file(path, mark);
  CHECK(message_of<FormatError>([&] { return read_lines(path); }) ==
        path + ": the gzip stream ends early in line 1");
}

TEST_CASE("a line that is no text is refused with path, line and byte") {
  TemporaryFolder folder;
  const auto error_of = [&](const std::string& contents) {
    const auto path = folder.write("t", contents);
    return message_of<FormatError>([&] { return read_lines(path); }).substr(path.size());
  };
  CHECK(error_of("good\nb\xC3\xA4"
                 "d\xFC\n") == ", line 2: byte 4 (0xfc) is not UTF-8");
  CHECK(error_of("cut off \xE2\x82\n") == ", line 1: byte 8 (0xe2) is not UTF-8");
  CHECK(error_of("good\ngood\n\0\n"s) == ", line 3: byte 0 is NUL: not a text file");
}

TEST_CASE("a line may be exactly as long as the limit") {
  TemporaryFolder folder;
  const auto fits = folder.write("fits", "12345\r\n12345\n12345\r");
  CHECK(read_lines(fits, 5) == Lines{"12345", "12345", "12345"});
  const auto longer = folder.write("longer", "12345\n123456\n");
  CHECK(message_of<FormatError>([&] { return read_lines(longer, 5); }) ==
        longer + ", line 2: longer than 5 bytes");
  CHECK(message_of<ArgumentError>([&] { return read_lines(fits, 0); }) ==
        "lines: the longest line is 0 bytes");
}

TEST_CASE("a line without an end is refused before it fills the memory") {
  CHECK(message_of<FormatError>([] { return read_lines("/dev/zero"); }) ==
        "/dev/zero, line 1: longer than 1048576 bytes");
}

TEST_CASE("the reader counts lines, and goes on saying that there are no more") {
  TemporaryFolder folder;
  LineReader reader(folder.write("t", "a\nb"));
  std::string line;
  CHECK(reader.number() == 0);
  CHECK((reader.next(line) && line == "a" && reader.number() == 1));
  CHECK((reader.next(line) && line == "b" && reader.number() == 2));
  CHECK((!reader.next(line) && line.empty() && reader.number() == 2));
  CHECK(!reader.next(line));
}

TEST_CASE("written lines are read back") {
  TemporaryFolder folder;
  const auto path = folder.path("t");
  for (const Lines& lines : {Lines{"ä", "", "b\rc"}, Lines{}, Lines{"", ""}}) {
    write_lines(path, lines);
    CHECK(read_lines(path) == lines);
  }
  CHECK(read_file(path) == "\n\n");
}

TEST_CASE("what cannot be written leaves the file that was there") {
  TemporaryFolder folder;
  const auto path = folder.write("t", "old\n");
  const auto [refused, why] =
      GENERATE(table<std::string, std::string>({{"two\nlines", "is not one line"},
                                                {"ends with CR\r", "is not one line"},
                                                {std::string("a\0b", 3), "holds a NUL byte"},
                                                {"\xff", "is not UTF-8"}}));
  CHECK(message_of<ArgumentError>([&] {
          write_lines(path, Lines{"new", refused});
        }) == path + ", line 2: \"" + refused + "\" " + why);
  const std::string marked = "\xEF\xBB\xBFword";
  CHECK(message_of<ArgumentError>([&] { write_lines(path, Lines{marked}); }) ==
        path + ", line 1: \"" + marked + "\" begins with a byte order mark");
  const std::string longest(static_cast<std::size_t>(default_longest_line_bytes), 'x');
  CHECK(message_of<ArgumentError>([&] {
          write_lines(path, Lines{longest, longest + "x"});
        }).ends_with("\" is too long to be read again"));
  CHECK(read_lines(path) == Lines{"old"});
  std::filesystem::create_directory(folder.path("folder"));
  CHECK(message_of<SystemError>([&] {
          write_lines(folder.path("folder"), Lines{"a"});
        }).starts_with("cannot write " + folder.path("folder")));
}

}  // namespace lines_tests
