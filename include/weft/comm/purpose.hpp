// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What a transfer between ranks is for, in words.
#pragma once

#include <cstring>
#include <string>

#include <weft/core/index.hpp>
#include <weft/core/text.hpp>

namespace weft::comm {

//! The collective, and which of many it is. Errors show it: "all_reduce of bucket 4, update 91".
//!
//! The strings are literals: a purpose is copied into messages and outlives the call.
struct Purpose {
  static constexpr index_t none = -1;  //!< no number

  const char* collective = "a transfer";  //!< such as "all_reduce"
  const char* item = nullptr;             //!< such as "bucket", or null
  index_t number = none;  //!< of the item
  index_t update = none;  //!< of the run

  friend bool operator==(const Purpose& a, const Purpose& b) {
    const auto same = [](const char* x, const char* y) {
      return x == y || (x != nullptr && y != nullptr && std::strcmp(x, y) == 0);
    };
    return same(a.collective, b.collective) && same(a.item, b.item) && a.number == b.number &&
           a.update == b.update;
  }
};

//! As errors show it: "all_reduce of bucket 4, update 91".
inline std::string to_text(const Purpose& purpose) {
  std::string result = purpose.collective;
  if (purpose.item != nullptr) result += text(" of ", purpose.item);
  if (purpose.number != Purpose::none) result += text(" ", purpose.number);
  if (purpose.update != Purpose::none) result += text(", update ", purpose.update);
  return result;
}

}  // namespace weft::comm
