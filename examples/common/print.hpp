// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What programs say while they run.
#pragma once

#include <cstdio>
#include <string>

namespace examples {

//! A line for people: standard output is for results.
inline void print(const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); }

}  // namespace examples
