// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/io/safetensors.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "../message_of.hpp"
#include "../temporary_folder.hpp"

namespace safetensors_tests {

using namespace weft;
using namespace weft::io;
using Catch::Contains;
using weft::testing::message_of;
using weft::testing::TemporaryFolder;

namespace {

//! Written by the Python package; see tests/reference/safetensors_fixture.py.
const std::string python_file = WEFT_TESTS "/io/data/python.safetensors";
const std::string odd_name = "gro\u00DFe \"Namen\"\\\t\u0001 \u5C42";

std::string little_endian(std::uint64_t value) {
  std::string out(sizeof value, '\0');
  std::memcpy(out.data(), &value, sizeof value);
  return out;
}

//! A file with that header and that many bytes of data.
std::string file_of(const std::string& header, std::size_t data_bytes = 0) {
  return little_endian(header.size()) + header + std::string(data_bytes, '\1');
}

//! The header of one tensor of two floats, with one piece of it replaced.
std::string header_with(const std::string& piece = "", const std::string& replacement = "") {
  std::string header = R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  if (!piece.empty()) header.replace(header.find(piece), piece.size(), replacement);
  return header;
}

//! Why a file of these bytes is refused, without its path.
std::string refusal(const std::string& contents, index_t most_header_bytes = 1 << 20) {
  const TemporaryFolder folder;
  const auto path = folder.write("file", contents);
  const auto message =
      message_of<FormatError>([&] { return SafetensorsFile(path, most_header_bytes); });
  return message.starts_with(path + ": ") ? message.substr(path.size() + 2) : message;
}

std::string contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <class T>
std::vector<T> values_of(const SafetensorsFile& file, const std::string& name) {
  index_t size = 1;
  for (const index_t extent : file.tensor(name).shape) size *= extent;
  std::vector<T> values(static_cast<std::size_t>(size));
  file.read<T>(name, values);
  return values;
}

}  // namespace

TEST_CASE("a file of the Python package gives its tensors") {
  const SafetensorsFile file(python_file);
  CHECK(file.tensors().size() == 11);
  CHECK(file.metadata() == Metadata{{"format", "pt"}});

  const auto weight = values_of<float>(file, "weight");
  CHECK(file.tensor("weight").shape == std::vector<index_t>{2, 3});
  CHECK(weight == std::vector<float>{1.5f, -2, 0, std::numeric_limits<float>::infinity(),
                                     std::numeric_limits<float>::denorm_min(), 0});
  CHECK(std::signbit(weight[5]));
  CHECK(values_of<double>(file, "wide") == std::vector<double>{0.1, -1e300});
  CHECK(values_of<std::int64_t>(file, "step") == std::vector<std::int64_t>{-9'000'000'000});
  CHECK(file.tensor("step").shape.empty());
  CHECK(values_of<std::int32_t>(file, "ids") == std::vector<std::int32_t>{1, -2, 2147483647});
  CHECK(values_of<std::uint8_t>(file, "bytes") == std::vector<std::uint8_t>{0, 255});
  CHECK(values_of<float>(file, "nothing").empty());
  CHECK(file.tensor("nothing").shape == std::vector<index_t>{0, 4});
  CHECK(values_of<float>(file, odd_name) == std::vector<float>{7});

  CHECK(file.tensor("half").dtype == DType::F16);
  CHECK(file.tensor("flag").dtype == DType::BOOL);
  CHECK(file.tensor("brain").dtype == DType::BF16);
  std::array<std::uint16_t, 2> brain{};
  file.read_bytes("brain", std::as_writable_bytes(std::span(brain)));
  CHECK(brain == std::array<std::uint16_t, 2>{0x3F80, 0xC000});
}

TEST_CASE("the same tensors are written as the same bytes that the Python package wrote") {
  const SafetensorsFile file(python_file);
  const auto original = contents_of(python_file);
  const std::span data = std::as_bytes(std::span(original));
  std::vector<StoredTensor> tensors;
  for (const auto& tensor : file.tensors()) {
    const auto begin =
        data.size() - static_cast<std::size_t>(file.tensors().back().end - tensor.begin);
    const auto bytes = static_cast<std::size_t>(tensor.end - tensor.begin);
    tensors.push_back({tensor.name, tensor.dtype, tensor.shape, data.subspan(begin, bytes)});
  }
  std::reverse(tensors.begin(), tensors.end());  // the writer finds the order
  const TemporaryFolder folder;
  write_safetensors(folder.path("copy"), tensors);
  CHECK(contents_of(folder.path("copy")) == original);
}

TEST_CASE("what is written is read back, with its names and metadata") {
  const TemporaryFolder folder;
  const std::vector<float> floats = {1, std::nanf(""), 3, 4, 5, 6};
  const std::vector<std::uint64_t> counters = {0, ~std::uint64_t{0}};
  const Metadata metadata = {{"format", "pt"}, {"weft.step", "12"}, {"\"\\\n\u5C42", ""}};
  const std::vector<StoredTensor> tensors = {stored<float>("a/../b", {3, 2}, floats),
                                             stored<std::uint64_t>("", {2}, counters)};
  write_safetensors(folder.path("file"), tensors, metadata);

  const SafetensorsFile file(folder.path("file"));
  CHECK(file.metadata() == metadata);
  CHECK(file.contains("a/../b"));
  CHECK_FALSE(file.contains("a"));
  CHECK(file.tensor("a/../b").shape == std::vector<index_t>{3, 2});
  CHECK(values_of<std::uint64_t>(file, "") == counters);
  const auto read = values_of<float>(file, "a/../b");
  CHECK(std::memcmp(read.data(), floats.data(), 24) == 0);
}

TEST_CASE("a file without tensors is written and read") {
  const TemporaryFolder folder;
  write_safetensors(folder.path("file"), {}, {});
  CHECK(contents_of(folder.path("file")) == file_of("{}      "));
  CHECK(SafetensorsFile(folder.path("file")).tensors().empty());
}

TEST_CASE("reading with another type or size is an error that gives both") {
  const SafetensorsFile file(python_file);
  std::vector<float> six(6), five(5);
  std::vector<std::int32_t> integers(6);
  const auto message = [&](auto& out) {
    using T = typename std::remove_reference_t<decltype(out)>::value_type;
    return message_of<FormatError>([&] { return file.read<T>("weight", out), 0; });
  };
  CHECK(message(five) == python_file + ": tensor \"weight\" is F32 (2, 3), not 5 of F32");
  CHECK(message(integers) == python_file + ": tensor \"weight\" is F32 (2, 3), not 6 of I32");
  CHECK(message(six) == "(no error)");
  CHECK(message_of<FormatError>([&] { return file.tensor("wait\n"); }) ==
        python_file + ": has no tensor \"wait?\"");
  CHECK(message_of<FormatError>([&] {
          return file.read_bytes("weight", std::as_writable_bytes(std::span(five))), 0;
        }) == python_file + ": tensor \"weight\" has 24 bytes, not 20");
}

TEST_CASE("a file that is cut off anywhere, or that goes on, is refused") {
  const auto whole = contents_of(python_file);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    INFO(size);
    CHECK_THAT(refusal(whole.substr(0, size)), Contains(" bytes"));
  }
  CHECK(refusal(whole) == "(no error)");
  CHECK(refusal(whole + '\0') == "has 78 bytes after its header, but its tensors have 77");
  CHECK(refusal("1234567") == "has 7 bytes, not even a header's length");
}

TEST_CASE("a header that is longer than the limit or than the file is refused unread") {
  CHECK(refusal(file_of("{}"), 1) == "a header of 2 bytes is longer than the limit of 1");
  CHECK(refusal(little_endian(~std::uint64_t{0}) + "{}") ==
        "is no safetensors file: has 10 bytes, but its first 8 name a header of "
        "18446744073709551615");
  CHECK(refusal("A dog runs.\n") ==
        "is no safetensors file: has 12 bytes, but its first 8 name a header of "
        "8462862278405136449");
  CHECK(refusal(little_endian(3) + "{}") == "has 10 bytes, but its header ends at 11");
}

TEST_CASE("a header may have white space after its object, but nothing else around it") {
  CHECK(refusal(file_of(header_with() + " \n\r\t", 8)) == "(no error)");
  const std::string bom = "\xEF\xBB\xBF";
  for (const auto& header :
       {" " + header_with(), bom + header_with(), header_with() + '\0', header_with() + "{}",
        header_with() + "x", std::string("[]"), std::string("null"), std::string("1"),
        std::string(""), std::string("{"), header_with("8]", "8"), header_with("\"w\"", "w")}) {
    INFO(header);
    CHECK_THAT(refusal(file_of(header, 8)), Contains("the header is damaged"));
  }
}

TEST_CASE("a header that is not UTF-8 is refused") {
  CHECK_THAT(refusal(file_of(header_with("w", "\xFF"), 8)), Contains("is not UTF-8 JSON"));
  CHECK_THAT(refusal(file_of(header_with("w", "\xED\xA0\x80"), 8)), Contains("is not UTF-8 JSON"));
  CHECK_THAT(refusal(file_of(header_with("w", "\\ud800"), 8)), Contains("is not UTF-8 JSON"));
}

TEST_CASE("a number that is not a count is refused before anything rounds it") {
  for (const char* number :
       {"-1", "-0", "1.9", "2.0", "2e0", "9223372036854775808", "18446744073709551616", "1e999",
        "\"2\"", "null", "true", "[2]", "{}"}) {
    INFO(number);
    CHECK_THAT(refusal(file_of(header_with("[2]", std::string("[") + number + "]"), 8)),
               Contains("header is damaged"));
    CHECK_THAT(refusal(file_of(header_with("[0,", std::string("[") + number + ","), 8)),
               Contains("header is damaged"));
  }
  CHECK(refusal(file_of(header_with("[2]", "[-1]"), 8)) ==
        "the header is damaged: tensor \"w\": -1 instead of an extent");
  CHECK(refusal(file_of(header_with("8]", "8.0]"), 8)) ==
        "the header is damaged: tensor \"w\": \"8.0\" instead of a byte offset");
}

TEST_CASE("a tensor that lacks a field, has one twice or one too many is refused") {
  const std::string damaged = "the header is damaged: ";
  CHECK(refusal(file_of(header_with("\"dtype\":\"F32\",", ""), 8)) ==
        damaged + "tensor \"w\" has no dtype");
  CHECK(refusal(file_of(header_with("\"shape\":[2],", ""), 8)) ==
        damaged + "tensor \"w\" has no shape");
  CHECK(refusal(file_of(header_with(",\"data_offsets\":[0,8]", ""), 8)) ==
        damaged + "tensor \"w\" has no data_offsets");
  CHECK(refusal(file_of(header_with("\"shape\":[2]", "\"shape\":[2],\"shape\":[2]"), 8)) ==
        damaged + "tensor \"w\" has shape twice");
  CHECK(refusal(file_of(header_with("\"shape\":[2]", "\"shape\":[2],\"device\":0"), 8)) ==
        damaged + "tensor \"w\" has the unknown field \"device\"");
  CHECK(refusal(file_of(header_with("[0,8]", "[0]"), 8)) ==
        damaged + "tensor \"w\" has fewer than two data_offsets");
  CHECK(refusal(file_of(header_with("[0,8]", "[]"), 8)) ==
        damaged + "tensor \"w\" has fewer than two data_offsets");
  CHECK(refusal(file_of(header_with("[0,8]", "[0,8,8]"), 8)) ==
        damaged + "tensor \"w\": 8 instead of the end of data_offsets");
  CHECK(refusal(file_of(header_with("F32", "F31"), 8)) ==
        damaged + "tensor \"w\" has the unknown dtype \"F31\"");
  CHECK(refusal(file_of(R"({"w":[]})")) == damaged + "tensor \"w\": an array instead of an object");
}

TEST_CASE("a name that is there twice is refused") {
  const std::string empty = R"({"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  CHECK(refusal(file_of("{\"w\":" + empty + ",\"w\":" + empty + "}")) ==
        "tensor \"w\" is there twice");
  CHECK_THAT(refusal(file_of(R"({"__metadata__":{},"__metadata__":{}})")),
             Contains("__metadata__ is there twice"));
  CHECK_THAT(refusal(file_of(R"({"__metadata__":{"a":"1","a":"1"}})")),
             Contains("__metadata__ has \"a\" twice"));
}

TEST_CASE("metadata other than strings are refused") {
  for (const char* value : {"1", "null", "[]", "{}", "true"}) {
    INFO(value);
    CHECK_THAT(refusal(file_of(std::string(R"({"__metadata__":{"a":)") + value + "}}")),
               Contains("instead of a string of __metadata__"));
  }
  CHECK_THAT(refusal(file_of(R"({"__metadata__":"a"})")),
             Contains("\"a\" instead of the object __metadata__"));
}

TEST_CASE("tensors that overlap, leave a hole or run backwards are refused") {
  const auto two = [](const char* first, const char* second) {
    return file_of(std::string(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":)") + first +
                       R"(},"b":{"dtype":"U8","shape":[2],"data_offsets":)" + second + "}}",
                   4);
  };
  CHECK(refusal(two("[0,2]", "[2,4]")) == "(no error)");
  CHECK(refusal(two("[2,4]", "[0,2]")) == "(no error)");
  CHECK(refusal(two("[0,2]", "[1,3]")) ==
        "tensor \"b\" lies at bytes 1 to 3, but should begin at 2");
  CHECK(refusal(two("[0,2]", "[0,2]")) ==
        "tensor \"b\" lies at bytes 0 to 2, but should begin at 2");
  CHECK(refusal(two("[0,1]", "[2,4]")) ==
        "tensor \"a\" has 1 bytes, which is not what U8 (2) takes");
  CHECK(refusal(two("[0,2]", "[3,5]")) ==
        "tensor \"b\" lies at bytes 3 to 5, but should begin at 2");
  CHECK(refusal(two("[1,3]", "[3,5]")) ==
        "tensor \"a\" lies at bytes 1 to 3, but should begin at 0");
  CHECK(refusal(two("[0,2]", "[2,0]")) ==
        "tensor \"b\" lies at bytes 2 to 0, but should begin at 2");
}

TEST_CASE("a shape that does not fit the bytes, also by overflow, is refused") {
  const auto with_shape = [](const std::string& shape, std::size_t bytes) {
    return refusal(file_of(header_with("[2]", shape), bytes));
  };
  CHECK(with_shape("[3]", 8) == "tensor \"w\" has 8 bytes, which is not what F32 (3) takes");
  CHECK(with_shape("[2,1,1]", 8) == "(no error)");
  // 2^32 * 2^32 * 2 is 2 modulo 2^64.
  CHECK_THAT(with_shape("[4294967296,4294967296,2]", 8), Contains("which is not what"));
  CHECK_THAT(with_shape("[4611686018427387906]", 8), Contains("which is not what"));

  std::string many = "[2";
  for (int axis = 1; axis < 64; ++axis) many += ",1";
  CHECK(with_shape(many + "]", 8) == "(no error)");
  CHECK_THAT(with_shape(many + ",1]", 8), Contains("more than 64 extents"));
}

TEST_CASE("an element type below a byte must fill whole bytes") {
  const auto four_bit = [](const char* shape, const char* offsets, std::size_t bytes) {
    return refusal(file_of(
        text("{\"w\":{\"dtype\":\"F4\",\"shape\":", shape, ",\"data_offsets\":", offsets, "}}"),
        bytes));
  };
  CHECK(four_bit("[4]", "[0,2]", 2) == "(no error)");
  CHECK_THAT(four_bit("[3]", "[0,2]", 2), Contains("which is not what F4 (3) takes"));
  CHECK_THAT(four_bit("[3]", "[0,1]", 1), Contains("which is not what F4 (3) takes"));
}

TEST_CASE("deep nesting is refused at its first level") {
  const std::string deep(1'000'000, '[');
  CHECK_THAT(refusal(file_of("{\"w\":" + deep)), Contains("an array instead of an object"));
  CHECK_THAT(refusal(file_of(header_with("[2]", deep), 8)),
             Contains("an array instead of an extent"));
}

TEST_CASE("a hostile name makes no long or unprintable message") {
  const std::string name = "\\u001b[2J\\u0000" + std::string(100'000, 'x');
  const auto message = refusal(file_of("{\"" + name + "\":1}"));
  CHECK(message.size() < 300);
  CHECK_THAT(message, Contains("tensor \"?[2J?xxx"));
}

TEST_CASE("no damage to a byte of the header does more than a FormatError") {
  const auto whole = contents_of(python_file);
  const TemporaryFolder folder;
  for (std::size_t at = 0; at < whole.size() - 77; ++at) {
    for (const char byte : {'\0', ' ', '"', '[', '}', '9', '-', '\x80', '\xFF'}) {
      auto damaged = whole;
      damaged[at] = byte;
      const auto path = folder.write("file", damaged);
      const auto message = message_of<FormatError>([&] { return SafetensorsFile(path); });
      const bool expected = message == "(no error)" || message.starts_with(path);
      if (!expected) FAIL("byte " << at << ": " << message);
    }
  }
  SUCCEED();
}

TEST_CASE("what is not a regular file is refused without waiting for it") {
  const TemporaryFolder folder;
  const auto pipe = folder.path("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  for (const auto& path : {pipe, folder.path(""), std::string("/dev/zero")}) {
    CHECK(message_of<SystemError>([&] { return SafetensorsFile(path); }) ==
          "cannot read " + path + ": it is not a regular file");
  }
  const auto missing = folder.path("missing");
  CHECK(message_of<SystemError>([&] { return SafetensorsFile(missing); }) ==
        "cannot open " + missing + ": No such file or directory");
}

TEST_CASE("a file that shrinks after it was opened is an error, not a crash") {
  const TemporaryFolder folder;
  const auto path = folder.write("file", contents_of(python_file));
  const SafetensorsFile file(path);
  REQUIRE(::truncate(path.c_str(), 100) == 0);
  std::vector<float> weight(6);
  CHECK_THAT(message_of<FormatError>([&] { return file.read<float>("weight", weight), 0; }),
             Contains("before its data"));
}

TEST_CASE("an open file may be moved") {
  SafetensorsFile file(python_file);
  const SafetensorsFile moved = std::move(file);
  CHECK(values_of<float>(moved, "bias") == std::vector<float>{3.25f});
}

TEST_CASE("what could not be read back is not written") {
  const TemporaryFolder folder;
  const auto path = folder.write("file", "old");
  const std::vector<float> two = {1, 2};
  const auto refused = [&](const std::vector<StoredTensor>& tensors,
                           const Metadata& metadata = {}) {
    return message_of<ArgumentError>([&] { return write_safetensors(path, tensors, metadata), 0; });
  };
  const auto w = stored<float>("w", {2}, two);
  CHECK(refused({w, w}) == "safetensors: the name \"w\" is taken");
  CHECK(refused({stored<float>("__metadata__", {2}, two)}) ==
        "safetensors: the name \"__metadata__\" is taken");
  CHECK(refused({stored<float>("\xFF", {2}, two)}) == "safetensors: \"?\" is not UTF-8");
  CHECK(refused({w}, {{"a", "\xC3"}}) == "safetensors: \"?\" is not UTF-8");
  CHECK(refused({stored<float>("w", {3}, two)}) ==
        "safetensors: tensor \"w\" has 8 bytes, which is not what F32 (3) takes");
  CHECK(refused({stored<float>("w", {-1, -2}, two)}) ==
        "safetensors: tensor \"w\" has 8 bytes, which is not what F32 (-1, -2) takes");
  CHECK(contents_of(path) == "old");
}

}  // namespace safetensors_tests
