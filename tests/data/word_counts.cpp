// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/data/word_counts.hpp>

#include <catch2/catch.hpp>

#include <map>
#include <string>

namespace word_counts_tests {

using namespace weft;
using namespace weft::data;

TEST_CASE("words are counted over lines, whatever the white space") {
  WordCounts counts;
  CHECK(counts.total() == 0);
  counts.add_line(" der Hund und\tder Hut\n");
  counts.add_line("");
  counts.add_line("und");
  counts.add("Der");
  const std::map<std::string, index_t> sorted(counts.counts().begin(), counts.counts().end());
  CHECK(sorted == std::map<std::string, index_t>{
                      {"Der", 1}, {"Hund", 1}, {"Hut", 1}, {"der", 2}, {"und", 2}});
  CHECK(counts.total() == 7);
}

}  // namespace word_counts_tests
