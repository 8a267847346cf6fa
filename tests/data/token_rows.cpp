// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/data/token_rows.hpp>

#include <catch2/catch.hpp>

#include <vector>

namespace token_rows_tests {

using namespace weft;
using namespace weft::data;

TEST_CASE("rows are found between their offsets, empty ones too") {
  TokenRows rows;
  CHECK(rows.size() == 0);
  rows.append(std::vector<token_t>{7, 8});
  rows.end_row();
  rows.end_row();
  rows.tokens.push_back(9);
  rows.end_row();
  REQUIRE(rows.size() == 3);
  CHECK(rows.offsets == std::vector<index_t>{0, 2, 2, 3});
  CHECK((rows.length(0) == 2 && rows.length(1) == 0 && rows.length(2) == 1));
  CHECK((rows[0].size() == 2 && rows[0][1] == 8));
  CHECK(rows[1].empty());
  CHECK((rows[2].size() == 1 && rows[2][0] == 9));
}

TEST_CASE("cleared rows are as good as new") {
  TokenRows rows;
  rows.tokens = {7, 8};
  rows.end_row();
  rows.clear();
  CHECK(rows == TokenRows{});
}

TEST_CASE("the fingerprint differs where lengths or tokens do") {
  const TokenRows rows{{7, 8, 9}, {0, 1, 3}};
  CHECK(rows.fingerprint() == TokenRows(rows).fingerprint());
  for (const TokenRows& other :
       {TokenRows{{7, 8, 9}, {0, 2, 3}}, TokenRows{{6, 8, 9}, {0, 1, 3}},
        TokenRows{{7, 0, 9}, {0, 1, 3}}, TokenRows{{7, 8, 8}, {0, 1, 3}},
        TokenRows{{7, 9, 8}, {0, 1, 3}}, TokenRows{{7, 8, 9}, {0, 1, 3, 3}}, TokenRows()}) {
    CHECK(rows.fingerprint() != other.fingerprint());
  }
}

}  // namespace token_rows_tests
