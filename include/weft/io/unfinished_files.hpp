// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What AtomicFile leaves when its process is killed.
#pragma once

#include <filesystem>
#include <string>

namespace weft::io {

//! Removes what killed processes did not finish to write in a folder. Nobody may be writing there.
inline void remove_unfinished_files(const std::string& folder) {
  const auto is_unfinished = [](const std::string& name) {
    const auto mark = name.rfind(".tmp-");
    return mark != std::string::npos && mark + 5 < name.size() &&
           name.find_first_not_of("0123456789-", mark + 5) == std::string::npos;
  };
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.is_regular_file() || !is_unfinished(entry.path().filename().string())) continue;
    std::filesystem::remove(entry.path());
  }
}

}  // namespace weft::io
