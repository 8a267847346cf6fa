// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What programs do with errors.
#pragma once

#include <weft/core/error.hpp>

#include <fcntl.h>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>

namespace examples {

//! Keeps the places of standard input, output and errors where a shell has closed them (`<&-`), so
//! that no file which the program opens is read as its input or printed into. What is closed can
//! still not be used.
inline void keep_standard_places() {
  for (const int place : {0, 1, 2}) {
    if (fcntl(place, F_GETFD) == -1) open("/dev/null", place == 0 ? O_WRONLY : O_RDONLY);
  }
}

//! What `program()` returns; where it throws, or its output cannot be written, a message goes to
//! stderr, and this returns `failed`.
template <class Program>
int report_errors(const Program& program, int failed = 1) {
  keep_standard_places();
  std::signal(SIGXFSZ, SIG_IGN);  // what a limit of file sizes cuts off fails as on a full disk
  try {
    const int status = program();
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      throw weft::SystemError(weft::text("cannot write the output: ", std::strerror(errno)));
    }
    return status;
  } catch (const weft::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.message().c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
  }
  return failed;
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
