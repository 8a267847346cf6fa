// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Protocol buffers of SentencePiece models, hostile ones too.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace weft::testing {

inline std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out += static_cast<char>(value);
}

inline std::string bytes_field(int number, std::string_view content) {
  return varint(static_cast<std::uint64_t>(number) << 3 | 2) + varint(content.size()) +
         std::string(content);
}

inline std::string number_field(int number, std::uint64_t value) {
  return varint(static_cast<std::uint64_t>(number) << 3) + varint(value);
}

inline std::string float_field(int number, float value) {
  std::string out = varint(static_cast<std::uint64_t>(number) << 3 | 5) + std::string(4, '\0');
  std::memcpy(out.data() + out.size() - 4, &value, 4);
  return out;
}

inline std::string piece(std::string_view characters, int type = 1, float score = 0.0F) {
  return bytes_field(1, bytes_field(1, characters) + float_field(2, score) +
                            number_field(3, static_cast<std::uint64_t>(type)));
}

//! A table of characters whose trie has these nodes.
template <class Nodes>
std::string character_map(const Nodes& nodes, std::string_view texts) {
  const auto bytes = static_cast<std::uint32_t>(nodes.size() * 4);
  std::string out(4 + nodes.size() * 4, '\0');
  std::memcpy(out.data(), &bytes, 4);
  if (!nodes.empty()) std::memcpy(out.data() + 4, nodes.data(), nodes.size() * 4);
  return out + std::string(texts);
}

//! The smallest model: `<unk>` and two pieces of a language model, and what else it should have.
inline std::string model_with(std::string_view more = "", std::string_view map = "") {
  const std::string normalizer =
      map.empty() ? "" : bytes_field(3, bytes_field(1, "test") + bytes_field(2, map));
  return piece("<unk>", 2) + piece("\xE2\x96\x81") + piece("a", 1, -1.0F) + std::string(more) +
         normalizer;
}

}  // namespace weft::testing
