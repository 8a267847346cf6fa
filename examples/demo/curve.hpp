// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Draws a learning curve with characters.
#pragma once

#include <weft/core/fixed.hpp>
#include <weft/core/text.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace demo {

//! `values` over time: each of `columns` columns is the mean of its share of them, in `rows` lines.
inline std::string draw_curve(const std::vector<double>& values, int columns, int rows) {
  columns = std::min(columns, static_cast<int>(values.size()));
  if (columns < 1) return {};
  std::vector<double> means;
  for (int column = 0; column < columns; ++column) {
    const auto begin =
        values.size() * static_cast<std::size_t>(column) / static_cast<std::size_t>(columns);
    const auto end =
        values.size() * static_cast<std::size_t>(column + 1) / static_cast<std::size_t>(columns);
    double sum = 0.0;
    for (std::size_t i = begin; i < end; ++i) sum += values[i];
    means.push_back(sum / static_cast<double>(end - begin));
  }
  const double low = *std::ranges::min_element(means);
  const double high = *std::ranges::max_element(means);
  const double step = high > low ? (high - low) / rows : 1.0;

  std::string out = "loss per token\n";
  for (int row = rows; row >= 0; --row) {
    const double level = low + step * row;
    out += weft::text(level < 10.0 ? " " : "", weft::fixed(level, 2), " |");
    for (const double mean : means) {
      const bool here = mean >= level - step / 2 && mean < level + step / 2;
      out += here ? "o" : " ";
    }
    while (out.back() == ' ') out.pop_back();
    out += '\n';
  }
  out += "      +" + std::string(static_cast<std::size_t>(columns), '-') + "> updates\n";
  return out;
}

}  // namespace demo
