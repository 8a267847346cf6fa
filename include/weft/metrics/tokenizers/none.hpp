// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The tokenizer for text that is tokenised already.
#pragma once

#include <string>
#include <string_view>

namespace weft::metrics {

//! Leaves a line as it is: its words are the tokens. sacreBLEU's `none`.
struct NoneTokenizer {
  static constexpr std::string_view name = "none";  //!< in sacreBLEU's signatures

  //! The line as it is.
  [[nodiscard]] std::string operator()(std::string_view line) const { return std::string(line); }
};

}  // namespace weft::metrics
