// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/generate/search_settings.hpp>

#include <catch2/catch.hpp>

#include <limits>
#include <utility>
#include <vector>

#include "../message_of.hpp"
#include "random_models.hpp"

namespace search_settings_tests {

using namespace weft;
using generate::detail::greatest_lengths;

TEST_CASE("beams that nobody can want are refused") {
  for (const index_t beam : {index_t{-1}, index_t{0}, std::numeric_limits<index_t>::max()}) {
    CAPTURE(beam);
    CHECK(testing::message_of<ArgumentError>([&] {
            generate::detail::check_search("beam_search", {.beam = beam}, 34, 24);
            return 0;
          }).starts_with(text("beam_search: a beam of ", beam, " and at most ")));
  }
  CHECK(testing::message_of<ArgumentError>([&] {
          const auto infinity = std::numeric_limits<double>::infinity();
          generate::detail::check_search("beam_search", {.length_penalty = infinity}, 34, 24);
          return 0;
        }) == "beam_search: a length penalty of inf");
}

TEST_CASE("marks that are no words of the model are refused, and models of one position") {
  const auto message = [](token_t bos, token_t eos, index_t positions) {
    return testing::message_of<ArgumentError>([&] {
      generate::detail::check_search("beam_search", {.bos = bos, .eos = eos}, 34, positions);
      return 0;
    });
  };
  for (const auto& [bos, eos] :
       {std::pair{-1, 2}, std::pair{34, 2}, std::pair{1, -1}, std::pair{1, 34}}) {
    CAPTURE(bos, eos);
    CHECK(message(bos, eos, 24) == text("beam_search: bos ", bos, " and eos ", eos,
                                        " for a model of 34 words and 24 positions"));
  }
  CHECK(message(0, 33, 1).ends_with("and 1 positions"));
  CHECK_NOTHROW(generate::detail::check_search("beam_search", {.bos = 0, .eos = 33}, 34, 2));
}

TEST_CASE("a translation is as long as its source allows, and the model") {
  Cpu device;
  const auto source = testing::sequences(device, {{5, 6, 7, 8}, {5}, {5, 6, 7, 8, 9, 9, 9, 9}});
  CHECK(greatest_lengths({.max_length_a = 1.5, .max_length_b = 2}, *source.layout, 24) ==
        std::vector<index_t>{8, 3, 14});
  CHECK(greatest_lengths({.max_length_a = 1.5, .max_length_b = 2}, *source.layout, 10) ==
        std::vector<index_t>{8, 3, 9});
  CHECK(greatest_lengths({.max_length_a = 1.5, .max_length_b = 2}, *source.layout, 8) ==
        std::vector<index_t>{7, 3, 7});
  CHECK(greatest_lengths({.max_length_a = 1e300}, *source.layout, 10) ==
        std::vector<index_t>{9, 9, 9});
}

}  // namespace search_settings_tests
