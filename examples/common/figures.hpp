// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A run's figures, for people's programs.
#pragma once

#include <weft/core/index.hpp>

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace examples {

//! Names and values, in order.
using Figures =
    std::vector<std::pair<std::string, std::variant<weft::index_t, double, std::string>>>;

//! As one line: a JSON object.
std::string to_json(const Figures& figures);

//! Writes the figures to a file as a JSON object; nothing if the path is empty.
void write_summary(const std::string& path, const Figures& figures);

}  // namespace examples
