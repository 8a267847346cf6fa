// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What AtomicFile leaves when its process is killed.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace weft::io {

//! Removes what killed processes did not finish to write in a folder. Nobody may be writing there.
inline void remove_unfinished_files(const std::string& folder) {
  const auto is_number = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  const auto is_unfinished = [&](std::string_view name) {  // ends in .tmp-<process>-<number>
    constexpr std::string_view mark = ".tmp-";
    const auto at = name.rfind(mark), dash = name.rfind('-');
    if (at == std::string_view::npos || dash < at + mark.size()) return false;
    return is_number(name.substr(at + mark.size(), dash - at - mark.size())) &&
           is_number(name.substr(dash + 1));
  };
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.is_regular_file() || !is_unfinished(entry.path().filename().string())) continue;
    std::filesystem::remove(entry.path());
  }
}

}  // namespace weft::io
