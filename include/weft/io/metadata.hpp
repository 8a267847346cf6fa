// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What is remarked about a file beside its tensors.
#pragma once

#include <charconv>
#include <concepts>
#include <map>
#include <string>
#include <system_error>

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/io/detail/messages.hpp>

namespace weft::io {

//! Remarks about a file, by name.
using Metadata = std::map<std::string, std::string>;

namespace detail {

template <class Number>
[[nodiscard]] Number metadata_number(const io::Metadata& metadata, const std::string& path,
                                     const std::string& name) {
  const auto found = metadata.find(name);
  if (found != metadata.end()) {
    Number value{};
    const char* const end = found->second.data() + found->second.size();
    const auto [stopped, error] = std::from_chars(found->second.data(), end, value);
    if (error == std::errc{} && stopped == end && !found->second.empty()) return value;
  }
  throw FormatError(text(path, ": its metadata has no ",
                         std::integral<Number> ? "whole number" : "number", " \"", name, "\"",
                         found == metadata.end() ? "" : ", but " + in_quotes(found->second)));
}

}  // namespace detail

//! The whole number, from 0 to `most`, that a file's metadata has under a name. **Errors.**
//! FormatError if there is none.
[[nodiscard]] inline index_t number_in(const io::Metadata& metadata, const std::string& path,
                                       const std::string& name, index_t most = index_t{1} << 53) {
  const auto number = detail::metadata_number<index_t>(metadata, path, name);
  if (number < 0 || number > most)
    throw FormatError(text(path, ": its metadata has \"", name, "\" ", number));
  return number;
}

//! The number that a file's metadata has under a name. **Errors.** FormatError if there is none.
[[nodiscard]] inline double real_in(const io::Metadata& metadata, const std::string& path,
                                    const std::string& name) {
  return detail::metadata_number<double>(metadata, path, name);
}

}  // namespace weft::io
