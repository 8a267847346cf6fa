// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The header of a NumPy file: one line of Python, a dictionary of three entries.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/io/detail/messages.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace weft::io::detail {

//! What the header says.
struct NpyHeader {
  std::string descr;  //!< the element type: `<f4`, or Python's text of a list for structures
  bool fortran_order = false;
  std::vector<index_t> shape;
};

//! Reads `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`, in any order of its
//! entries.
//!
//! **Errors.** FormatError, naming the file and the place in the header.
class NpyHeaderReader {
 public:
  NpyHeaderReader(std::string_view path, std::string_view header) : path_(path), rest_(header) {
    bytes_ = rest_.size();
  }

  [[nodiscard]] NpyHeader read() {
    NpyHeader header;
    bool has_descr = false, has_order = false, has_shape = false;
    const auto once = [&](bool& seen, std::string_view name) {
      if (seen) refuse(text("a second '", name, "'"));
      seen = true;
    };
    expect('{');
    while (!take('}')) {
      const auto key = quoted();
      expect(':');
      if (key == "descr") {
        once(has_descr, key);
        header.descr = element_type();
      } else if (key == "fortran_order") {
        once(has_order, key);
        header.fortran_order = truth();
      } else if (key == "shape") {
        once(has_shape, key);
        header.shape = extents();
      } else {
        refuse(text("an entry ", in_quotes(key)));
      }
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    skip_spaces();
    if (!rest_.empty()) refuse(text("more after the dictionary, ", in_quotes(rest_)));
    if (!has_descr || !has_order || !has_shape) {
      refuse(text("no '", !has_descr ? "descr" : !has_order ? "fortran_order" : "shape", "'"));
    }
    return header;
  }

 private:
  [[noreturn]] void refuse(const std::string& found) const {
    throw FormatError(text(path_, ": not a NumPy header: at its byte ", bytes_ - rest_.size(),
                           " there is ", found));
  }
  [[noreturn]] void refuse_instead_of(std::string_view expected) const {
    refuse(rest_.empty() ? text("the end instead of ", expected)
                         : text(in_quotes(rest_.substr(0, 20)), " instead of ", expected));
  }

  void skip_spaces() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\n\r\f"), rest_.size()));
  }

  bool take(char c) {
    skip_spaces();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void expect(char c) {
    if (!take(c)) refuse_instead_of(text("'", c, "'"));
  }

  std::string_view quoted() {
    skip_spaces();
    const bool is_string = rest_.starts_with('\'') || rest_.starts_with('"');
    const auto end = is_string ? rest_.find(rest_.front(), 1) : rest_.npos;
    if (end == rest_.npos) refuse_instead_of("a string");
    const auto inside = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return inside;
  }

  //! A string; or the text of a list, which is how structures are described.
  std::string element_type() {
    skip_spaces();
    if (!rest_.starts_with('[')) return std::string(quoted());
    index_t depth = 0;
    for (std::size_t at = 0; at < rest_.size(); ++at) {
      depth += rest_[at] == '[' ? 1 : rest_[at] == ']' ? -1 : 0;
      if (depth > 0) continue;
      const std::string list(rest_.substr(0, at + 1));
      rest_.remove_prefix(at + 1);
      return list;
    }
    refuse_instead_of("a list that ends");
  }

  bool truth() {
    skip_spaces();
    for (const std::string_view word : {"True", "False"}) {
      if (!rest_.starts_with(word)) continue;
      rest_.remove_prefix(word.size());
      return word == "True";
    }
    refuse_instead_of("True or False");
  }

  std::vector<index_t> extents() {
    std::vector<index_t> shape;
    expect('(');
    while (!take(')')) {
      skip_spaces();
      index_t extent = 0;
      const char* const begin = rest_.data();
      const auto [end, error] = std::from_chars(begin, begin + rest_.size(), extent);
      if (error != std::errc{} || extent < 0) refuse_instead_of("an extent");
      rest_.remove_prefix(static_cast<std::size_t>(end - begin));
      take('L');  // as Python 2 wrote long numbers
      shape.push_back(extent);
      if (take(',')) continue;
      if (shape.size() == 1) refuse_instead_of("','");  // (3) is a number, (3,) a shape
      expect(')');
      break;
    }
    return shape;
  }

  std::string_view path_;
  std::string_view rest_;
  std::size_t bytes_ = 0;
};

}  // namespace weft::io::detail
