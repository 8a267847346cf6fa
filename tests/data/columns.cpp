// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/data/columns.hpp>

#include <catch2/catch.hpp>

#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "../message_of.hpp"

namespace columns_tests {

using namespace weft;
using namespace weft::data;
using weft::testing::message_of;

namespace {

//! The words 0, 1, 2, ...
std::vector<token_t> counted(index_t words) {
  std::vector<token_t> all(static_cast<std::size_t>(words));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

TEST_CASE("columns are read a chunk at a time, each word with the one that follows") {
  // The alphabet in 4 columns of 6 letters; Y and Z fill none.
  const Columns columns(counted(26), 4, 2, "alphabet");
  CHECK(columns.length() == 6);
  REQUIRE(columns.chunks() == 3);
  LanguageModelBatch batch;
  columns.fill(1, batch);
  CHECK(batch.size() == 4);
  CHECK(batch.input.tokens == std::vector<token_t>{2, 3, 8, 9, 14, 15, 20, 21});
  CHECK(batch.output.tokens == std::vector<token_t>{3, 4, 9, 10, 15, 16, 21, 22});
  columns.fill(2, batch);  // the last word of a column is only predicted
  CHECK(batch.input.tokens == std::vector<token_t>{4, 10, 16, 22});
  CHECK(batch.output.tokens == std::vector<token_t>{5, 11, 17, 23});
  CHECK(batch.input.offsets == std::vector<index_t>{0, 1, 2, 3, 4});
}

TEST_CASE("a chunk longer than any column is the column") {
  const Columns columns(counted(26), 4, std::numeric_limits<index_t>::max(), "alphabet");
  REQUIRE(columns.chunks() == 1);
  LanguageModelBatch batch;
  columns.fill(0, batch);
  CHECK(batch.output.tokens.size() == 20);
}

TEST_CASE("texts of other words, or in another order, have other fingerprints") {
  const auto of = [](std::vector<token_t> words) {
    return Columns(std::move(words), 1, 2, "text").fingerprint();
  };
  CHECK(of({1, 2, 3}) == of({1, 2, 3}));
  CHECK(of({1, 2, 3}) != of({1, 3, 2}));
  CHECK(of({1, 2, 3}) != of({1, 2, 3, 3}));
}

TEST_CASE("chunks predict every word of a column but the first, once") {
  for (index_t length = 2; length < 20; ++length) {
    for (index_t chunk = 1; chunk < 8; ++chunk) {
      const Columns columns(counted(length), 1, chunk, "text");
      std::vector<token_t> predicted;
      LanguageModelBatch batch;
      for (index_t n = 0; n < columns.chunks(); ++n) {
        columns.fill(n, batch);
        CHECK(batch.output.length(0) <= chunk);
        predicted.insert(predicted.end(), batch.output.tokens.begin(), batch.output.tokens.end());
      }
      auto expected = counted(length);
      expected.erase(expected.begin());
      CAPTURE(length, chunk);
      CHECK(predicted == expected);
    }
  }
}

TEST_CASE("what cannot be columns says what it has") {
  CHECK(message_of<DataError>([] { return Columns(counted(39), 20, 5, "train.txt").chunks(); }) ==
        "train.txt: 39 words do not fill 20 columns with two words each");
  CHECK(message_of<ArgumentError>([] { return Columns(counted(39), 0, 5, "text").chunks(); }) ==
        "columns: 0 columns, 5 words in a chunk");
  CHECK(message_of<ArgumentError>([] {
          LanguageModelBatch batch;
          Columns(counted(9), 1, 4, "text").fill(2, batch);
          return 0;
        }) == "columns: there is no chunk 2 of 2");
}

}  // namespace columns_tests
