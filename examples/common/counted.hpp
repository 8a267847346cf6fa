// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Counts of things, for people.
#pragma once

#include <weft/core/index.hpp>
#include <weft/core/text.hpp>

#include <string>
#include <string_view>

namespace examples {

//! `counted(2, "lines")` is "2 lines", `counted(1, "lines")` "1 line". Nouns whose plural only adds
//! an s.
[[nodiscard]] inline std::string counted(weft::index_t count, std::string_view nouns) {
  if (count == 1) nouns.remove_suffix(1);
  return weft::text(count, " ", nouns);
}

}  // namespace examples
