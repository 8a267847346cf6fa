// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/io/event_file.hpp>

#include <catch2/catch.hpp>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "../message_of.hpp"
#include "../temporary_folder.hpp"

namespace event_file_tests {

using namespace weft;
using io::EventFile;
using io::detail::masked_crc32c;
using io::detail::ProtobufMessage;
using testing::message_of;

namespace {

std::uint32_t unmasked(std::uint32_t masked) {
  const std::uint32_t turned = masked - 0xa282ead8u;
  return (turned >> 17) | (turned << 15);
}

//! The records of a file, whose checksums are looked at.
std::vector<std::string> records_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> records;
  const auto number = [&]<class T>(T value, std::size_t at) {
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
  };
  for (std::size_t at = 0; at < bytes.size();) {
    const auto size = number(std::uint64_t{}, at);
    CHECK(number(std::uint32_t{}, at + 8) == masked_crc32c(bytes.substr(at, 8)));
    records.push_back(bytes.substr(at + 12, size));
    CHECK(number(std::uint32_t{}, at + 12 + size) == masked_crc32c(records.back()));
    at += 16 + size;
  }
  return records;
}

}  // namespace

// RFC 3720, B.4.
TEST_CASE("checksums are those of the standard's examples") {
  CHECK(unmasked(masked_crc32c(std::string(32, '\0'))) == 0x8a9136aau);
  CHECK(unmasked(masked_crc32c(std::string(32, '\xff'))) == 0x62a8ab43u);
  CHECK(unmasked(masked_crc32c("123456789")) == 0xe3069283u);
}

// The encoding's own documentation: field 1 = 150; field 2 = "testing".
TEST_CASE("messages are encoded as Protocol Buffers say") {
  CHECK(ProtobufMessage().integer(1, 150).encoded() == "\x08\x96\x01");
  CHECK(ProtobufMessage().bytes(2, "testing").encoded() == "\x12\x07testing");
  CHECK(ProtobufMessage().number(2, 1.0f).encoded() == std::string("\x15\0\0\x80\x3f", 5));
}

TEST_CASE("a file begins with its version, and has a record for each value") {
  const testing::TemporaryFolder folder;
  std::string path;
  {
    EventFile events(folder.path("run/events"));
    path = events.path();
    events.add("loss", 300, 2.5);
  }
  const auto records = records_of(path);
  REQUIRE(records.size() == 2);
  CHECK(records[0].substr(9) ==
        "\x1a\x0d"
        "brain.Event:2");
  // The time; step 300; a summary with a value that has a tag and a number.
  CHECK(records[1].substr(9) ==
        std::string("\x10\xac\x02\x2a\x0d\x0a\x0b\x0a\x04loss\x15\0\0\x20\x40", 18));
}

TEST_CASE("each of several files has a name of its own") {
  const testing::TemporaryFolder folder;
  EventFile first(folder.path("run")), second(folder.path("run"));
  CHECK(first.path() != second.path());
}

TEST_CASE("a folder that cannot be written is named") {
  const testing::TemporaryFolder folder;
  std::ofstream(folder.path("file")) << "not a folder";
  CHECK_THAT(message_of<SystemError>([&] { EventFile events(folder.path("file")); }),
             Catch::StartsWith("cannot write " + folder.path("file") + "/events.out.tfevents.") &&
                 Catch::EndsWith(": Not a directory"));
}

}  // namespace event_file_tests
