// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/train/progress_line.hpp>

#include <catch2/catch.hpp>
#include <string>

#include <weft/core/index.hpp>

namespace progress_line_tests {

using namespace weft;
using train::progress_line;
using train::ProgressState;

namespace {

//! The columns that a terminal gives a line of the characters of these tests.
index_t width(const std::string& line) { return train::detail::columns_of(line); }

}  // namespace

// tqdm 4.70's format_meter printed the lines that these tests expect, where it is not said
// otherwise.

TEST_CASE("a line has share, bar, count, times, rate and postfix") {
  CHECK(progress_line({"train", 45, 100, 10, 4.5, "loss=1.23"}, 70) ==
        "train:  45%|\u2588\u2588\u2588\u2588\u2588\u2588\u258E       | "
        "45/100 [00:10<00:12,  4.50it/s, loss=1.23]");
  CHECK(progress_line({"", 0, 7, 0, 0, ""}, 60) ==
        "  0%|" + std::string(33, ' ') + "| 0/7 [00:00<?, ?it/s]");
}

TEST_CASE("a full bar is full") {
  const auto line = progress_line({"", 7, 7, 2, 3.5, ""}, 50);
  CHECK(line.find(' ', line.find('|')) > line.rfind('|'));
  CHECK(line.starts_with("100%|\u2588"));
}

TEST_CASE("without columns there is no bar") {  // not so in tqdm
  CHECK(progress_line({"train", 45, 100, 10, 4.5, "loss=1.23"}) ==
        "train:  45% 45/100 [00:10<00:12,  4.50it/s, loss=1.23]");
}

TEST_CASE("without a total, or beyond it, the steps are only counted") {
  CHECK(progress_line({"read", 45, 0, 10, 4.5, ""}) == "read: 45it [00:10,  4.50it/s]");
  CHECK(progress_line({"read", 45, 44, 10, 4.5, "x"}, 80) == "read: 45it [00:10,  4.50it/s, x]");
  CHECK(progress_line({"", 3, 0, 1, 3, "", "tok"}) == "3tok [00:01,  3.00tok/s]");
}

TEST_CASE("slow steps are given in seconds a step, long times in hours") {
  CHECK(progress_line({"", 1, 4, 3599.9, 0.25, ""}) == " 25% 1/4 [59:59<00:12,  4.00s/it]");
  CHECK(progress_line({"", 1, 4, 3600, 0.0001, ""}) == " 25% 1/4 [1:00:00<8:20:00, 10000.00s/it]");
}

TEST_CASE("a line never takes more columns than there are, nor cuts a character") {
  for (index_t columns = 1; columns < 90; ++columns) {
    for (const char* description : {"train", "\u8BAD\u7EC3\u7B2C\u4E00\u8F6E", ""}) {
      for (const index_t total : {0, 100}) {
        const auto line = progress_line({description, 45, total, 10, 4.5, "l\u00F6ss=1"}, columns);
        INFO(columns << ": " << line);
        CHECK(width(line) <= columns);
        CHECK_FALSE(io::find_invalid_utf8(line));
      }
    }
  }
}

TEST_CASE("a line with room for a bar fills the columns, wide characters counting two") {
  for (index_t columns = 60; columns < 90; ++columns) {
    CHECK(width(progress_line({"\u8BAD\u7EC3", 45, 100, 10, 4.5, ""}, columns)) == columns);
  }
  CHECK(progress_line({"\u8BAD\u7EC3 1", 50, 100, 10, 5, ""}, 52) ==
        "\u8BAD\u7EC3 1:  50%|\u2588\u2588\u2588   | "
        "50/100 [00:10<00:10,  5.00it/s]");
}

TEST_CASE("what is to stand round the bar takes no columns") {
  const ProgressState state = {"train", 45, 100, 10, 4.5, ""};
  const auto plain = progress_line(state, 70);
  const auto green = progress_line(state, 70, "<", ">");
  CHECK(green.size() == plain.size() + 2);
  CHECK(green.find("|<\u2588") != std::string::npos);
  CHECK(green.find(">|") != std::string::npos);
}

}  // namespace progress_line_tests
