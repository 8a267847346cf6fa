// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What loaders say to files that were edited.
#pragma once

#include <weft/core/error.hpp>
#include <weft/io/atomic_file.hpp>

#include <catch2/catch.hpp>

#include <functional>
#include <string>

#include "../message_of.hpp"
#include "small_runs.hpp"

namespace weft::testing {

using Edit = std::function<void(FileContents&)>;

//! What a loader says to a file that was edited. It must leave the strategy as it was.
template <class Strategy, class Load>
std::string refusal(Strategy& strategy, const std::string& path, const Edit& edit, Load load) {
  const auto good = bytes_of(path);
  FileContents contents(path);
  edit(contents);
  contents.write(path);
  const auto before = contents_of(strategy);
  const auto message = message_of<FormatError>([&] { return load(strategy, path); });
  CHECK(contents_of(strategy) == before);
  io::write_file(path, good);
  return message.starts_with(path + ": ") ? message.substr(path.size() + 2) : message;
}

inline void remove(FileContents& contents, const std::string& name) {
  std::erase_if(contents.tensors, [&](const auto& tensor) { return tensor.name == name; });
}

}  // namespace weft::testing
