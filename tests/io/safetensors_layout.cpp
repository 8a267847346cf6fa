// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/io/safetensors_layout.hpp>

#include <weft/io/safetensors_file.hpp>

#include <catch2/catch.hpp>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "../message_of.hpp"
#include "../temporary_folder.hpp"

namespace safetensors_layout_tests {

using namespace weft;
using io::DType;
using io::Metadata;
using io::SafetensorsFile;
using io::SafetensorsLayout;
using io::TensorEntry;
using weft::testing::message_of;
using Entries = std::vector<TensorEntry>;

TEST_CASE("larger element types come first, then names, without a gap behind the header") {
  const SafetensorsLayout layout(
      Entries{{"b", DType::F32, {2}}, {"a", DType::F32, {3, 1}}, {"c", DType::I64, {1}}}, {});
  const auto header = static_cast<index_t>(layout.header().size());
  CHECK(header % 8 == 0);
  std::uint64_t length = 0;
  std::memcpy(&length, layout.header().data(), sizeof length);
  CHECK(static_cast<index_t>(length) == header - 8);
  CHECK(layout.begin("c") == header);
  CHECK(layout.begin("a") == header + 8);
  CHECK(layout.begin("b") == header + 20);
  CHECK(layout.tensors().back().end == 28);
}

TEST_CASE("names and shapes that no file can have are refused") {
  const auto refused = [](const Entries& entries) {
    return message_of<ArgumentError>([&] { return SafetensorsLayout(entries, {}), 0; });
  };
  CHECK(refused({{"a", DType::F32, {1}}, {"b", DType::F32, {1}}, {"a", DType::I8, {1}}}) ==
        "safetensors: the name \"a\" is taken");
  CHECK(refused({{"__metadata__", DType::F32, {1}}}) ==
        "safetensors: the name \"__metadata__\" is taken");
  CHECK(refused({{"\xff", DType::F32, {1}}}) == "safetensors: \"?\" is not UTF-8");
  CHECK(refused({{"a", DType::F32, {INT64_MAX, 2}}}) ==
        text("safetensors: tensor \"a\" cannot have the shape (", INT64_MAX, ", 2)"));
  constexpr std::int64_t most =
      INT64_MAX / 8;  // bits that a tensor may have: nine have too many bytes
  Entries many;
  for (const char name : std::string("abcdefghi")) many.push_back({{name}, DType::I8, {most}});
  CHECK(refused(many) == text("safetensors: tensor \"i\" cannot have the shape (", most, ")"));
  const SafetensorsLayout layout({}, {});
  CHECK(message_of<ArgumentError>([&] { return layout.begin("a"); }) ==
        "safetensors: no tensor is called \"a\"");
}

TEST_CASE("a header that would not be read again is refused") {
  const testing::TemporaryFolder folder;
  const auto written = [&](const Entries& entries, const Metadata& metadata) {
    return message_of<ArgumentError>([&] {
      const auto path = folder.write("file", SafetensorsLayout(entries, metadata).header());
      return SafetensorsFile(path).metadata() == metadata;
    });
  };
  const std::size_t most = std::size_t{16} << 20;
  const std::string around = R"({"__metadata__":{"a":""}})";
  CHECK(written({}, {{"a", std::string(most - around.size(), 'x')}}) == "(no error)");
  CHECK(written({}, {{"a", std::string(most - around.size() + 1, 'x')}}) ==
        "safetensors: a header of 16777224 bytes is longer than the limit of 16777216");
  Metadata many;
  while (many.size() < 65536) many[std::to_string(many.size())] = "";
  CHECK(written({}, many) == "(no error)");
  many["one more"] = "";
  CHECK(written({}, many) ==
        "safetensors: 65537 entries of metadata are more than the limit of 65536");
  CHECK(written({{"a", DType::F32, std::vector<index_t>(64, 0)}}, {}) == "(no error)");
  CHECK(written({{"a", DType::F32, std::vector<index_t>(65, 0)}}, {})
            .starts_with("safetensors: tensor \"a\" cannot have the shape (0, 0, "));
}

}  // namespace safetensors_layout_tests
