// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include "figures.hpp"

#include <weft/io/atomic_file.hpp>

#include <nlohmann/json.hpp>

namespace examples {

namespace {

nlohmann::ordered_json object_of(const Figures& figures) {
  nlohmann::ordered_json object;
  for (const auto& [name, value] : figures) {
    std::visit([&, &key = name](const auto& number) { object[key] = number; }, value);
  }
  return object;
}

}  // namespace

std::string to_json(const Figures& figures) { return object_of(figures).dump(); }

void write_summary(const std::string& path, const Figures& figures) {
  if (!path.empty()) weft::io::write_file(path, object_of(figures).dump(2) + "\n");
}

}  // namespace examples
