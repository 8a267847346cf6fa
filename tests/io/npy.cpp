// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/io/npy.hpp>

#include <catch2/catch.hpp>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "../file_size_limit.hpp"
#include "../message_of.hpp"
#include "../temporary_folder.hpp"

namespace npy_tests {

using namespace weft;
using namespace weft::io;
using namespace weft::testing;
using Catch::Contains;

namespace {

//! Written by NumPy; see tests/reference/npy_fixtures.py.
std::string numpy_file(const std::string& name) {
  return WEFT_TESTS "/io/data/npy/" + name + ".npy";
}

std::string contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

//! The same array in weft's file as in NumPy's, and read back.
template <class T>
void check_same_file(const std::string& name, const std::vector<index_t>& shape,
                     const std::vector<T>& elements) {
  INFO(name);
  const auto read = read_npy<T>(numpy_file(name));
  CHECK(read.shape == shape);
  const auto bytes = [](const std::vector<T>& of) {  // so that -0 is not 0
    const auto* const begin = reinterpret_cast<const char*>(of.data());
    return std::string(begin, begin + of.size() * sizeof(T));
  };
  CHECK(bytes(read.elements) == bytes(elements));
  const TemporaryFolder folder;
  write_npy<T>(folder.path("array.npy"), shape, elements);
  CHECK(contents_of(folder.path("array.npy")) == contents_of(numpy_file(name)));
}

constexpr float infinity = std::numeric_limits<float>::infinity();
const std::vector<float> matrix = {1.5F, -2.0F, 0.0F, infinity, 1e-45F, -0.0F};

//! A file of version 1.0 with that header, and that many bytes of elements.
std::string file_of(const std::string& header, std::size_t element_bytes = 4) {
  const auto low = static_cast<char>(header.size() & 0xFF);
  const auto high = static_cast<char>(header.size() >> 8);
  return "\x93NUMPY" + std::string{1, 0, low, high} + header + std::string(element_bytes, '\1');
}

//! Why a file of these bytes is refused as floats, without its path.
std::string refusal(const std::string& contents) {
  const TemporaryFolder folder;
  const auto path = folder.write("file", contents);
  const auto message = message_of<FormatError>([&] { return read_npy<float>(path); });
  return message.starts_with(path + ": ") ? message.substr(path.size() + 2) : message;
}

}  // namespace

TEST_CASE("arrays are read from, and written as, the bytes of NumPy") {
  check_same_file<float>("f4", {2, 3}, matrix);
  check_same_file<double>("f8", {2, 3}, {1.5, -2.0, 0.0, infinity, 1e-45, -0.0});
  check_same_file<std::int32_t>("i4", {3}, {1, -2, 2147483647});
  check_same_file<std::int64_t>("i8", {}, {-9'000'000'000});
  check_same_file<std::uint8_t>("u1", {1, 2, 1}, {0, 255});
  check_same_file<std::uint16_t>("u2", {2, 1, 3}, {65530, 65531, 65532, 65533, 65534, 65535});
  check_same_file<float>("empty", {0, 4}, {});
  check_same_file<std::uint8_t>("ones-36", std::vector<index_t>(36, 1), {1});
  check_same_file<std::uint8_t>("ones-57", std::vector<index_t>(57, 1), {1});
}

TEST_CASE("newer versions of the format are read") {
  for (const auto* name : {"f4-2.0", "f4-3.0"}) {
    const auto array = read_npy<float>(numpy_file(name));
    CHECK(array.shape == std::vector<index_t>{2, 3});
    CHECK(array.elements == matrix);
  }
}

TEST_CASE("arrays of another type, byte order or element order are refused by name") {
  const auto refused = [](const std::string& name) {
    return message_of<FormatError>([&] { return read_npy<float>(numpy_file(name)); });
  };
  CHECK(refused("f8") == numpy_file("f8") + ": has elements of type \"<f8\", not \"<f4\"");
  CHECK_THAT(refused("i4"), Contains("\"<i4\""));
  CHECK_THAT(refused("half"), Contains("\"<f2\""));
  CHECK_THAT(refused("big"), Contains("\">f4\", not \"<f4\""));
  CHECK_THAT(refused("structure"), Contains("\"[('x', '<f4'), ('n', '<i4', (2,))]\""));
  CHECK_THAT(refused("fortran"), Contains("\"<f4\" of shape (2, 3) are in Fortran order"));
  CHECK_THAT(message_of<FormatError>([] { return read_npy<std::uint16_t>(numpy_file("u1")); }),
             Contains("\"|u1\", not \"<u2\""));
}

TEST_CASE("a file that is cut off anywhere, or goes on, is refused with its size") {
  const std::string whole = contents_of(numpy_file("f4"));
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const std::string why = refusal(whole.substr(0, bytes));
    INFO(bytes << ": " << why);
    const std::string expected =
        bytes < 6     ? "does not begin with \\x93NUMPY"
        : bytes < 128 ? "has " + std::to_string(bytes) + " bytes, "
                      : "has " + std::to_string(bytes - 128) + " bytes of elements, but ";
    CHECK_THAT(why, Contains(expected));
  }
  CHECK(refusal(whole + "x") == "has 25 bytes of elements, but \"<f4\" of shape (2, 3) takes 24");
}

TEST_CASE("what a header says is not believed") {
  const auto with_shape = [](const std::string& shape) {
    return file_of("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }\n");
  };
  CHECK(refusal(with_shape("(1,)")) == "(no error)");
  CHECK(refusal(with_shape("(1L,)")) == "(no error)");
  CHECK(refusal(file_of("{\"shape\":(),\"fortran_order\":False,\"descr\":\"<f4\"}")) ==
        "(no error)");
  CHECK_THAT(refusal(with_shape("(1099511627776, 1099511627776)")),
             Contains("takes more than any file has"));
  std::string many = "(2";
  for (int extent = 0; extent < 20'000; ++extent) many += ",1";
  CHECK_THAT(refusal(with_shape(many + ")")),
             Contains("of shape (2, 1") && Contains(", ...) takes"));
  CHECK(refusal(with_shape(many + ")")).size() < 400);
  CHECK_THAT(refusal(with_shape("(99999999999999999999,)")), Contains("instead of an extent"));
  CHECK_THAT(refusal(with_shape("(-1, -1)")), Contains("instead of an extent"));
  CHECK_THAT(refusal(with_shape("(1)")), Contains("instead of ','"));
  CHECK_THAT(refusal(with_shape("(1.5,)")), Contains("instead of ','"));
  CHECK_THAT(refusal(with_shape("[1]")), Contains("instead of '('"));
  CHECK_THAT(refusal(with_shape("(), 'shape': ()")), Contains("a second 'shape'"));
  CHECK_THAT(refusal(with_shape("(), 'more': 1")), Contains("an entry \"more\""));
  CHECK_THAT(refusal(with_shape("()} + {'a': ()")), Contains("more after the dictionary"));
  CHECK_THAT(refusal(file_of("{'descr': '<f4', 'shape': ()}")), Contains("no 'fortran_order'"));
  CHECK_THAT(refusal(file_of("{'descr': [[[", 0)), Contains("instead of a list that ends"));
  CHECK_THAT(refusal(file_of("{'descr': '<f4', 'fortran_order': 0")), Contains("True or False"));
  CHECK_THAT(refusal(file_of("{'descr")), Contains("instead of a string"));
  CHECK_THAT(refusal(file_of("")), Contains("the end instead of '{'"));
  std::string version = with_shape("()");
  version[6] = 4;
  CHECK_THAT(refusal(version), Contains("is of version 4.0"));
  std::string length = contents_of(numpy_file("f4-2.0"));
  length[10] = '\x7F';  // of 2^23 bytes
  CHECK_THAT(refusal(length), Contains("has 152 bytes, but its header ends at "));
  length.resize(index_t{1} << 24);
  CHECK_THAT(refusal(length), Contains("is longer than the limit of 1048576"));
}

TEST_CASE("bytes may have an order that another tool gave them") {
  const TemporaryFolder folder;
  const auto path =
      folder.write("bytes", file_of("{'descr': '<u1', 'fortran_order': False, 'shape': (4,), }"));
  CHECK(read_npy<std::uint8_t>(path).elements == std::vector<std::uint8_t>(4, 1));
  const auto strange =
      folder.write("strange", file_of("{'descr': 'Zu1', 'fortran_order': False, 'shape': (4,), }"));
  CHECK_THROWS_AS(read_npy<std::uint8_t>(strange), FormatError);
}

TEST_CASE("an array that does not fill its shape is not written") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::vector<index_t>& shape) {
    return message_of<ArgumentError>(
        [&] { return write_npy<float>(folder.path("a.npy"), shape, matrix), 0; });
  };
  CHECK(refused({2, 4}) ==
        "write_npy: 6 elements do not fill the shape (2, 4) of " + folder.path("a.npy"));
  CHECK_THAT(refused({-2, -3}), Contains("(-2, -3)"));
  CHECK_THAT(refused({0, -1}), Contains("(0, -1)"));
  std::vector<index_t> many(40'000, 1);
  many.front() = 6;
  CHECK(refused(many) == "npy: 40000 dimensions are too many for a header");
  CHECK_FALSE(std::ifstream(folder.path("a.npy")));
}

TEST_CASE("a file that cannot be written whole leaves the old one") {
  const TemporaryFolder folder;
  const auto path = folder.path("a.npy");
  write_npy<float>(path, {6}, matrix);
  const auto before = contents_of(path);
  {
    const FileSizeLimit limit(140);
    CHECK(message_of<SystemError>([&] {
            return write_npy<float>(path, {2, 3}, matrix), 0;
          }) == "cannot write " + path + ": File too large");
  }
  CHECK(contents_of(path) == before);
}

}  // namespace npy_tests
