// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/io/markup.hpp>

#include <catch2/catch.hpp>

namespace markup_tests {

TEST_CASE("text is no markup") {
  CHECK(weft::io::escape_markup("<a href=\"x\">&'ü") == "&lt;a href=&quot;x&quot;&gt;&amp;&#39;ü");
  CHECK(weft::io::escape_markup("").empty());
}

}  // namespace markup_tests
