// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What a kernel is called in messages.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace weft::detail {

//! A type without its namespaces, in what a function says of itself: `... F = outer::Type<int>]`.
constexpr std::string_view type_in(std::string_view function) {
  const auto begin = function.find("F = ") + 4;
  const std::string_view type = function.substr(begin, function.rfind(']') - begin);
  const auto scope = type.substr(0, type.find('<')).rfind("::");
  return scope == std::string_view::npos ? type : type.substr(scope + 2);
}

template <class F>
constexpr auto text_of_type() {
  constexpr std::string_view type = type_in(__PRETTY_FUNCTION__);
  std::array<char, type.size() + 1> text{};
  std::copy(type.begin(), type.end(), text.begin());
  return text;
}

template <class F>
inline constexpr auto kernel_text = text_of_type<F>();

//! The type of what a kernel runs: `EmbeddingRow`.
template <class F>
constexpr const char* name_of_kernel() {
  return kernel_text<F>.data();
}

}  // namespace weft::detail
