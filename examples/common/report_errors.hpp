// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What programs do with errors.
#pragma once

#include <weft/core/error.hpp>

#include <cstdio>
#include <exception>

namespace examples {

//! What `program()` returns; where it throws, the message goes to stderr, and this returns 1.
template <class Program>
int report_errors(const Program& program) {
  try {
    return program();
  } catch (const weft::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.message().c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
  }
  return 1;
}

//! Whether `write()` could write a file without which a run goes on; if not, says so:
//! "`consequence`: why".
template <class Write>
bool could_write(const char* consequence, const Write& write) {
  try {
    write();
    return true;
  } catch (const weft::SystemError& error) {
    std::fprintf(stderr, "%s: %s\n", consequence, error.message().c_str());
    return false;
  }
}

}  // namespace examples
