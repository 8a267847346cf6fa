// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/data/basic_english.hpp>

#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace basic_english_tests {

using namespace weft::data;

using Words = std::vector<std::string>;

TEST_CASE("basic_english gives the words of its reference, tests/reference/basic_english.py") {
  struct Case {
    std::string line;
    Words words;
  };
  const std::vector<Case> cases = {
      {"", {}},
      {" \t ", {}},
      {"You can now install TorchText using pip!",
       {"you", "can", "now", "install", "torchtext", "using", "pip", "!"}},
      {"Don't stop; it's 5:30 (p.m.), isn't it?",
       {"don", "'", "t", "stop", "it", "'",   "s", "5", "30", "(", "p",
        ".",   "m", ".", ")",    ",",  "isn", "'", "t", "it", "?"}},
      {"He said \"yes\" and 5\"x7\" , then <br />left<BR />.",
       {"he", "said", "yes", "and", "5x7", ",", "then", "left", "."}},
      // The quote goes before the line break is looked for, colons and full stops after it.
      {"a<br\" />b a<b.\"r />c <br: />d <br  />e <br/>f",
       {"a", "b", "a<b", ".", "r", "/>c", "<br", "/>d", "<br", "/>e", "<br/>f"}},
      {"= Valkyria Chronicles III = <unk> @-@ @,@ 3 @.@ 5",
       {"=", "valkyria", "chronicles", "iii", "=", "<unk>", "@-@", "@", ",", "@", "3", "@", ".",
        "@", "5"}},
      {"É ÅØ ÆON Ł Ž Ÿ Ð", {"é", "åø", "æon", "ł", "ž", "ÿ", "ð"}},
      {"ΑΣ ΑΣΑ Σ ΣΑΣ. Α.ΣΑ ΑΣ'", {"ας", "ασα", "σ", "σας", ".", "α", ".", "σα", "ας", "'"}},
      {"ЖЁ Ѐ Џ Ԛ İI ẞ Ａ 𐐀", {"жё", "ѐ", "џ", "ԛ", "i\u0307i", "ß", "ａ", "𐐨"}},
      {"nbsp\u00A0em\u2003thin\u2009ideographic\u3000line\u2028next\xC2\x85"
       "file\x1Csep",
       {"nbsp", "em", "thin", "ideographic", "line", "next", "file", "sep"}},
      {"zero\u200Bwidth soft\u00ADhyphen e\u0301",
       {"zero\u200Bwidth", "soft\u00ADhyphen", "e\u0301"}},
  };
  for (const auto& [line, words] : cases) {
    INFO(line);
    CHECK(basic_english(line) == words);
  }
}

}  // namespace basic_english_tests
