// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Checks a SentencePiece model before the library reads it.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/io/utf8.hpp>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace weft::data {

namespace detail {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

inline constexpr index_t most_model_bytes = index_t{64} << 20;

//! A field of a protocol buffer.
struct ProtocolField {
  enum Kind { varint = 0, bits64 = 1, bytes = 2, bits32 = 5 };

  std::uint64_t number = 0;
  Kind kind = varint;
  std::uint64_t value = 0;   //!< of numbers
  std::string_view content;  //!< of bytes, strings and messages
};

//! The fields of a message, one after the other.
class ProtocolReader {
 public:
  explicit ProtocolReader(std::string_view message) : rest_(message) {}

  //! Reads the next field; false at the end, and where the message is damaged.
  [[nodiscard]] bool next(ProtocolField& field) {
    std::uint64_t tag = 0;
    if (rest_.empty() || !varint(tag)) return false;
    field.number = tag >> 3;
    field.kind = static_cast<ProtocolField::Kind>(tag & 7);
    switch (field.kind) {
      case ProtocolField::varint:
        return varint(field.value);
      case ProtocolField::bits64:
        return fixed(field.value, 8);
      case ProtocolField::bits32:
        return fixed(field.value, 4);
      case ProtocolField::bytes:
        if (!varint(field.value) || field.value > rest_.size()) return fail();
        field.content = rest_.substr(0, field.value);
        rest_.remove_prefix(field.value);
        return true;
    }
    return fail();
  }

  [[nodiscard]] bool is_damaged() const { return damaged_; }

 private:
  bool fail() {
    damaged_ = true;
    return false;
  }

  bool varint(std::uint64_t& value) {
    value = 0;
    for (std::size_t i = 0; i < 10 && i < rest_.size(); ++i) {
      const auto byte = static_cast<unsigned char>(rest_[i]);
      value |= std::uint64_t{byte & 0x7FU} << (7 * i);
      if (byte >= 0x80) continue;
      rest_.remove_prefix(i + 1);
      return true;
    }
    return fail();
  }

  bool fixed(std::uint64_t& value, std::size_t bytes) {
    if (rest_.size() < bytes) return fail();
    value = 0;
    std::memcpy(&value, rest_.data(), bytes);
    rest_.remove_prefix(bytes);
    return true;
  }

  std::string_view rest_;
  bool damaged_ = false;
};

//! Whether a table of characters (`precompiled_charsmap`) leads nowhere outside of itself.
//!
//! It is the size of a trie, the trie, and texts that end with NUL. A node of the trie is 32 bits:
//! the label in the lowest 8, whether a leaf follows in bit 8, and from bit 9 on what the node's
//! place is combined with to find its children, of which the library looks at any. Bit 31 marks a
//! leaf, whose other bits are the place of a text.
//!
//! **Source.** The darts-clone trie, as SentencePiece 0.1.97 searches it.
[[nodiscard]] inline bool is_sound_character_map(std::string_view map) {
  if (map.empty()) return true;
  std::uint32_t trie_bytes = 0;
  if (map.size() < sizeof trie_bytes) return false;
  std::memcpy(&trie_bytes, map.data(), sizeof trie_bytes);
  map.remove_prefix(sizeof trie_bytes);
  if (trie_bytes == 0 || trie_bytes % 4 != 0 || trie_bytes >= map.size()) return false;
  if (map.back() != '\0') return false;
  const std::size_t nodes = trie_bytes / 4, text_bytes = map.size() - trie_bytes;
  const auto node = [&](std::size_t at) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, map.data() + 4 * at, sizeof bits);
    return bits;
  };
  constexpr std::uint32_t leaf = std::uint32_t{1} << 31;
  std::vector<bool> seen(nodes);
  std::vector<std::size_t> waiting = {0};
  seen[0] = true;
  while (!waiting.empty()) {
    const std::size_t at = waiting.back();
    waiting.pop_back();
    const auto bits = node(at);
    const std::size_t children = at ^ (std::size_t{bits >> 10} << ((bits & (1U << 9)) >> 6));
    if ((children | 0xFF) >= nodes) return false;
    if ((bits & 1U << 8) != 0 && (node(children) & ~leaf) >= text_bytes) return false;
    for (std::uint32_t label = 0; label < 256; ++label) {
      const std::size_t child = children ^ label;
      if ((node(child) & (leaf | 0xFF)) != label || seen[child]) continue;
      seen[child] = true;
      waiting.push_back(child);
    }
  }
  return true;
}

}  // namespace detail

//! Refuses what is no SentencePiece model, and models that make the library crash or compute
//! nonsense: a library is not asked what it cannot answer.
//!
//! **Errors.** FormatError, with the path, unless `model` is a protocol buffer of at most 64 MiB
//! with one piece for the unknown; pieces are 1 to 1024 bytes of UTF-8 without NUL and have finite
//! scores; and tables of characters are sound.
//! **Source.** sentencepiece_model.proto of SentencePiece; what was seen to crash version 0.1.97:
//! long pieces (google/sentencepiece issue 1263), NUL, damaged tables (issue 1269).
inline void check_sentence_piece_model(std::string_view model, const std::string& path) {
  constexpr std::size_t most_piece_bytes = 1024;
  constexpr std::uint64_t pieces = 1, normalizer = 3, denormalizer = 5;  // of a model
  constexpr std::uint64_t character_map = 2;                             // of a normalizer
  constexpr std::uint64_t piece_text = 1, score = 2, type = 3;           // of a piece
  constexpr std::uint64_t unknown = 2;                                   // a type
  index_t count = 0, unknowns = 0;
  const auto refuse = [&](const std::string& why) {
    throw FormatError(text(path, ": is not a SentencePiece model: ", why));
  };
  if (std::ssize(model) > detail::most_model_bytes) {
    refuse(text("its ", model.size(), " bytes are too many"));
  }

  const auto check_piece = [&](std::string_view message) {
    const auto refuse_piece = [&](const std::string& why) {
      refuse(text("piece ", count, " ", why));
    };
    detail::ProtocolReader fields(message);
    std::string_view characters;
    for (detail::ProtocolField field; fields.next(field);) {
      if (field.number == piece_text && field.kind == field.bytes) characters = field.content;
      if (field.number == score && field.kind == field.bits32 &&
          !std::isfinite(std::bit_cast<float>(static_cast<std::uint32_t>(field.value)))) {
        refuse_piece("has a score that is no number");
      }
      if (field.number == type && field.kind == field.varint) unknowns += field.value == unknown;
    }
    if (fields.is_damaged()) refuse_piece("is damaged");
    if (characters.empty() || characters.size() > most_piece_bytes) {
      refuse_piece(text("has ", characters.size(), " bytes"));
    }
    if (io::find_invalid_utf8(characters) || characters.find('\0') != characters.npos) {
      refuse_piece("is not text");
    }
    ++count;
  };

  detail::ProtocolReader fields(model);
  for (detail::ProtocolField field; fields.next(field);) {
    if (field.kind != field.bytes) continue;
    if (field.number == pieces) check_piece(field.content);
    if (field.number != normalizer && field.number != denormalizer) continue;
    detail::ProtocolReader parts(field.content);
    for (detail::ProtocolField part; parts.next(part);) {
      if (part.number == character_map && part.kind == part.bytes &&
          !detail::is_sound_character_map(part.content)) {
        refuse("its table of characters is damaged");
      }
    }
  }
  if (fields.is_damaged()) refuse("it is damaged, or a file of another kind");
  if (unknowns != 1) refuse(text("of its ", count, " pieces ", unknowns, " stand for the unknown"));
}

}  // namespace weft::data
