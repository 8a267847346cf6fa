// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Curves of a run, as SVG.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <weft/core/fixed.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/io/markup.hpp>

namespace weft::train {

//! A curve: places from left to right, and heights. What is not finite is left out.
struct Curve {
  std::string name;                                 //!< what the legend calls it
  std::vector<std::pair<double, double>> points{};  //!< place and height
};

//! Curves over the same places.
struct LineChart {
  std::string title;          //!< what the heights are
  std::string places;         //!< what x counts, such as "updates"
  std::vector<Curve> curves;  //!< in the order of the legend
  bool from_zero = false;     //!< heights begin at 0, not at the lowest
};

namespace detail {

//! Multiples of 1, 2 or 5 times a power of ten, from `low` to `high`: at most `most` + 1.
[[nodiscard]] inline std::vector<double> ticks(double low, double high, int most) {
  if (!(high > low)) return {low};
  const double power = std::pow(10.0, std::floor(std::log10((high - low) / most)));
  double step = power;
  for (const double times : {1.0, 2.0, 5.0, 10.0}) {
    step = times * power;
    if ((high - low) / step <= most) break;
  }
  std::vector<double> out;
  const double first = std::ceil(low / step);
  for (int i = 0; i <= most && (first + i) * step <= high + 1e-9 * step; ++i) {
    const double n = first + i;
    out.push_back(n == 0 ? 0.0 : n * step);
  }
  return out;
}

//! A number in few characters: 12k, 3.5, 0.002.
[[nodiscard]] inline std::string short_number(double value) {
  if (!std::isfinite(value)) return fixed(value, 0);
  const double size = std::abs(value);
  const auto trimmed = [](double number, int digits) {
    std::string out = fixed(number, digits);
    if (digits > 0) {
      out.erase(out.find_last_not_of('0') + 1);
      if (out.back() == '.') out.pop_back();
    }
    return out;
  };
  if (size >= 1e6) return trimmed(value / 1e6, 2) + "M";
  if (size >= 1e4) return trimmed(value / 1e3, 1) + "k";
  if (size >= 100 || size == 0) return trimmed(value, 0);
  if (size >= 0.01) return trimmed(value, 3);
  const int digits = static_cast<int>(std::ceil(-std::log10(size)));
  return trimmed(value * std::pow(10.0, digits), 1) + "e-" + text(digits);
}

//! At most `most` points: each the mean of those it stands for.
[[nodiscard]] inline std::vector<std::pair<double, double>> thinned(
    const std::vector<std::pair<double, double>>& points, std::size_t most) {
  if (points.size() <= most) return points;
  std::vector<std::pair<double, double>> out;
  for (std::size_t part = 0; part < most; ++part) {
    const std::size_t begin = points.size() * part / most;
    const std::size_t end = points.size() * (part + 1) / most;
    double x = 0.0, y = 0.0;
    for (std::size_t i = begin; i < end; ++i) {
      x += points[i].first;
      y += points[i].second;
    }
    const auto count = static_cast<double>(end - begin);
    out.emplace_back(x / count, y / count);
  }
  return out;
}

}  // namespace detail

//! A chart that is as wide as its place on a page. Its colours are the page's: the classes c0, c1,
//! ... of curves, `grid` of lines, `label` of text.
[[nodiscard]] inline std::string svg(const LineChart& chart) {
  constexpr double width = 420, height = 240, left = 46, right = 10, top = 12, bottom = 40;
  constexpr std::size_t most_points = 300;
  std::vector<Curve> curves = chart.curves;
  double first = 0, last = 0, low = 0, high = 0;
  bool any = false;
  for (Curve& curve : curves) {
    std::erase_if(curve.points, [](const auto& point) {
      return !std::isfinite(point.first) || !std::isfinite(point.second);
    });
    curve.points = detail::thinned(curve.points, most_points);
    for (const auto& [x, y] : curve.points) {
      first = any ? std::min(first, x) : x;
      last = any ? std::max(last, x) : x;
      low = any ? std::min(low, y) : y;
      high = any ? std::max(high, y) : y;
      any = true;
    }
  }
  if (chart.from_zero) low = std::min(low, 0.0);
  // A flat line in the middle; means of equal heights differ by what rounding leaves.
  if (high - low <= 1e-9 * std::max(std::abs(low), std::abs(high))) {
    const double room = low == 0 ? 1.0 : 0.1 * std::abs(low);
    low -= room;
    high += room;
  }
  const auto at_x = [&](double x) {
    const double share = last > first ? (x - first) / (last - first) : 0.5;
    return fixed(left + share * (width - left - right), 1);
  };
  const auto at_y = [&](double y) {
    return fixed(top + (high - y) / (high - low) * (height - top - bottom), 1);
  };
  std::string out = text("<svg class=\"chart\" viewBox=\"0 0 ", width, " ", height,
                         "\" role=\"img\" aria-label=\"", io::escape_markup(chart.title), "\">\n");
  if (!any) {
    return out + text("<text class=\"label\" x=\"", width / 2, "\" y=\"", height / 2,
                      "\" text-anchor=\"middle\">nothing yet</text>\n</svg>\n");
  }
  for (const double y : detail::ticks(low, high, 5)) {
    out += text("<path class=\"grid\" d=\"M", left, " ", at_y(y), "H", width - right,
                "\"/><text class=\"label\" x=\"", left - 6, "\" y=\"", at_y(y),
                "\" dy=\"4\" text-anchor=\"end\">", detail::short_number(y), "</text>\n");
  }
  for (const double x : detail::ticks(first, last, 5)) {
    out += text("<text class=\"label\" x=\"", at_x(x), "\" y=\"", height - bottom + 16,
                "\" text-anchor=\"middle\">", detail::short_number(x), "</text>\n");
  }
  out += text("<text class=\"label\" x=\"", (left + width - right) / 2, "\" y=\"", height - 6,
              "\" text-anchor=\"middle\">", io::escape_markup(chart.places), "</text>\n");
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const Curve& curve = curves[i];
    if (curve.points.size() == 1) {
      out += text("<circle class=\"dot c", i, "\" cx=\"", at_x(curve.points[0].first), "\" cy=\"",
                  at_y(curve.points[0].second), "\" r=\"3\"/>\n");
    } else if (!curve.points.empty()) {
      std::string path;
      for (const auto& [x, y] : curve.points) {
        path += text(path.empty() ? "M" : "L", at_x(x), " ", at_y(y));
      }
      out += text("<path class=\"curve c", i, "\" d=\"", path, "\"/>\n");
    }
  }
  return out + "</svg>\n";
}

}  // namespace weft::train
