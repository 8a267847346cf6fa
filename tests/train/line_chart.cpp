// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/train/line_chart.hpp>

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace line_chart_tests {

using namespace weft::train;

namespace {

bool has(const std::string& drawing, const std::string& part) {
  return drawing.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("ticks are round numbers inside of the range") {
  CHECK(detail::ticks(0, 10, 5) == std::vector<double>{0, 2, 4, 6, 8, 10});
  CHECK(detail::ticks(0.31, 0.52, 5) ==
        std::vector<double>{7 * 0.05, 8 * 0.05, 9 * 0.05, 10 * 0.05});
  CHECK(detail::ticks(-3, 3, 5) == std::vector<double>{-2, 0, 2});
  CHECK(detail::ticks(4, 4, 5) == std::vector<double>{4});
}

TEST_CASE("numbers are short") {
  CHECK(detail::short_number(0) == "0");
  CHECK(detail::short_number(1234) == "1234");
  CHECK(detail::short_number(12340) == "12.3k");
  CHECK(detail::short_number(-2.5e6) == "-2.5M");
  CHECK(detail::short_number(0.25) == "0.25");
  CHECK(detail::short_number(3.0) == "3");
  CHECK(detail::short_number(0.0005) == "5e-4");
  CHECK(detail::short_number(std::nan("")) == "nan");
  CHECK(detail::short_number(-HUGE_VAL) == "-inf");
}

TEST_CASE("many points are drawn as means of their neighbours") {
  std::vector<std::pair<double, double>> points;
  for (int i = 0; i < 10; ++i) points.emplace_back(i, 2 * i);
  const auto thin = detail::thinned(points, 5);
  CHECK(thin ==
        std::vector<std::pair<double, double>>{{0.5, 1}, {2.5, 5}, {4.5, 9}, {6.5, 13}, {8.5, 17}});
  CHECK(detail::thinned(points, 10) == points);
}

TEST_CASE("curves are drawn into the same frame") {
  const std::string drawing =
      svg({"loss", "updates", {{"training", {{0, 4}, {10, 0}}}, {"validation", {{5, 2}}}}});
  CHECK(has(drawing, "class=\"curve c0\" d=\"M46.0 12.0L410.0 200.0\""));
  CHECK(has(drawing, "class=\"dot c1\" cx=\"228.0\" cy=\"106.0\""));
  CHECK(has(drawing, ">updates</text>"));
}

TEST_CASE("heights may begin at zero") {
  const LineChart chart{"speed", "updates", {{"words", {{0, 4}, {10, 2}}}}, true};
  CHECK(has(svg(chart), "d=\"M46.0 12.0L410.0 106.0\""));
}

TEST_CASE("what cannot be drawn is left out") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  CHECK(has(svg({"loss", "updates", {{"training", {{0, 4}, {1, infinity}, {2, 0}}}}}),
            "d=\"M46.0 12.0L410.0 200.0\""));
  CHECK(has(svg({"loss", "updates", {{"training", {{1, infinity}}}}}), "nothing yet"));
  CHECK(has(svg({"loss", "updates", {}}), "nothing yet"));
  CHECK(
      has(svg({"loss", "updates", {{"flat", {{0, 0}, {1, 0}}}}}), "d=\"M46.0 106.0L410.0 106.0\""));
}

TEST_CASE("a level line of many points is level") {
  // Of some lengths the means of parts are not all equal.
  for (const int count : {301, 1000, 2701}) {
    std::vector<std::pair<double, double>> points;
    for (int i = 0; i < count; ++i) points.emplace_back(i, 0.0005);
    CAPTURE(count);
    const std::string drawing = svg({"rate", "updates", {{"rate", points}}});
    CHECK(has(drawing, "d=\"M46.0 106.0L"));
    CHECK(drawing.size() < 10'000);
  }
  CHECK(detail::ticks(1e17, 1e17 + 64, 5).size() <= 6);  // steps that such numbers do not show
}

TEST_CASE("names are no markup") {
  CHECK(has(svg({"a<b", "x&y", {{"c", {{0, 1}, {1, 2}}}}}), "aria-label=\"a&lt;b\""));
  CHECK(has(svg({"a<b", "x&y", {{"c", {{0, 1}, {1, 2}}}}}), ">x&amp;y</text>"));
}

}  // namespace line_chart_tests
