// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/data/sentence_piece_model.hpp>

#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "../message_of.hpp"
#include "protocol_buffer.hpp"

namespace sentence_piece_model_tests {

using namespace weft;
using namespace weft::data;
using namespace weft::testing;
using Catch::Contains;

namespace {

std::string refusal(std::string_view model) {
  const std::string prefix = "m.model: is not a SentencePiece model: ";
  const auto message =
      message_of<FormatError>([&] { return check_sentence_piece_model(model, "m.model"), 0; });
  return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
}

//! A trie of 512 nodes: from the root over "a" to a leaf with the text at `place`.
std::vector<std::uint32_t> small_trie(std::uint32_t place = 0) {
  std::vector<std::uint32_t> nodes(512, 0xFF);  // a label that no child at its place has
  nodes[0] = 256U << 10;                        // the root's children begin at 256
  nodes[256 ^ 'a'] = (1U << 10) | 1U << 8 | 'a';
  nodes[(256 ^ 'a') ^ 1U] = 1U << 31 | place;
  return nodes;
}

const std::string_view texts("A\0", 2);

}  // namespace

TEST_CASE("a small model passes") {
  CHECK(refusal(model_with()) == "(no error)");
  CHECK(refusal(model_with("", character_map(small_trie(), texts))) == "(no error)");
  CHECK(refusal(model_with(number_field(7, 1) + float_field(9, 1.0F))) == "(no error)");
}

TEST_CASE("what is no protocol buffer of pieces is refused") {
  CHECK(refusal("") == "of its 0 pieces 0 stand for the unknown");
  CHECK_THAT(refusal("<html><body>not found</body></html>"), Contains("a file of another kind"));
  const std::string whole = model_with();
  const auto one = piece("<unk>", 2).size(), two = one + piece("\xE2\x96\x81").size();
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    INFO(bytes);  // between two pieces a model may end
    CHECK((refusal(whole.substr(0, bytes)) == "(no error)") == (bytes == one || bytes == two));
  }
  CHECK_THAT(refusal(model_with(std::string(11, '\xFF'))), Contains("it is damaged"));
  CHECK_THAT(refusal(model_with("\x0B")), Contains("it is damaged"));  // a group
  CHECK_THAT(refusal(model_with(bytes_field(1, "\x0A\x7F"))), Contains("piece 3 is damaged"));
  CHECK(refusal(piece("a")) == "of its 1 pieces 0 stand for the unknown");
  CHECK(refusal(model_with(piece("b", 2))) == "of its 4 pieces 2 stand for the unknown");
}

TEST_CASE("pieces that crash the library, or make nonsense of text, are refused") {
  CHECK(refusal(model_with(piece(std::string(1024, 'x')))) == "(no error)");
  CHECK(refusal(model_with(piece(std::string(1025, 'x')))) == "piece 3 has 1025 bytes");
  CHECK(refusal(model_with(piece(""))) == "piece 3 has 0 bytes");
  CHECK(refusal(model_with(bytes_field(1, ""))) == "piece 3 has 0 bytes");
  CHECK(refusal(model_with(piece(std::string(1, '\0')))) == "piece 3 is not text");
  CHECK(refusal(model_with(piece("\xFF"))) == "piece 3 is not text");
  for (const float score :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    CHECK(refusal(model_with(piece("b", 1, score))) == "piece 3 has a score that is no number");
  }
  CHECK_THAT(refusal(std::string((64U << 20) + 1, '\0')), Contains("67108865 bytes are too many"));
}

TEST_CASE("tables of characters that lead outside of themselves are refused") {
  const auto refused = [](std::string_view map) {
    const auto denormalizer = bytes_field(5, bytes_field(2, map));
    return refusal(model_with("", map)) == "its table of characters is damaged" &&
           refusal(model_with(denormalizer)) == "its table of characters is damaged";
  };
  CHECK(refused(std::string(1024, '\xFF')));
  CHECK(refused("a"));
  CHECK(refused(character_map(std::vector<std::uint32_t>{}, texts)));
  CHECK(refused(character_map(small_trie(), "")));
  CHECK(refused(character_map(small_trie(), "A")));     // a text without its end
  CHECK(refused(character_map(small_trie(2), texts)));  // a text after the last one
  CHECK_FALSE(refused(character_map(small_trie(1), texts)));
  auto nodes = small_trie();
  nodes[0] = 512U << 10;  // children beyond the last node
  CHECK(refused(character_map(nodes, texts)));
  nodes = small_trie();
  nodes[256 ^ 'a'] |= 1U << 9;  // an offset that counts by 256
  nodes[256 ^ 'a'] |= 2U << 10;
  CHECK(refused(character_map(nodes, texts)));
  nodes = small_trie();
  nodes[300] = 512U << 10;  // no text leads there
  CHECK_FALSE(refused(character_map(nodes, texts)));
  nodes = small_trie();
  nodes.resize(400);  // some children of the root are missing
  CHECK(refused(character_map(nodes, texts)));
}

}  // namespace sentence_piece_model_tests
