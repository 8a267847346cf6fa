// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The exceptions that weft throws.
//!
//! Every message says what was attempted, gives the offending values, and ends with the place in
//! the source where it was noticed. Build messages with `text`:
//!
//!     if (columns == 0) throw ShapeError(text("layer_norm: x is ", shape, ", needs a column"));
#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

#include <weft/core/text.hpp>

namespace weft {

//! A place in the source: std::source_location, which clang 14 cannot take from libstdc++.
struct Place {
  const char* file;  //!< of the source
  int line;          //!< from 1

  //! The place of the call, where it is a default argument.
  static constexpr Place here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

//! The base of everything that weft throws on its own account.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, Place where = Place::here())
      : std::runtime_error(text(message, " [", short_name(where.file), ":", where.line, "]")),
        message_(message) {}

  //! The message without the place in the source: what a command line shows its user.
  [[nodiscard]] const std::string& message() const noexcept { return message_; }

 private:
  //! The path from `weft/` on, since what comes before differs between machines.
  static std::string_view short_name(std::string_view path) {
    const auto at = path.rfind("weft/");
    return at == std::string_view::npos ? path : path.substr(at);
  }

  std::string message_;
};

// Each constructor is written out: nvcc 13's front end crashes on one that is inherited with a
// default argument that names the caller's line.

//! Shapes that do not fit each other or an operation.
class ShapeError : public Error {
 public:
  explicit ShapeError(const std::string& message, Place where = Place::here())
      : Error(message, where) {}
};

//! A value that an interface does not accept (a negative count, zero devices, ...).
class ArgumentError : public Error {
 public:
  explicit ArgumentError(const std::string& message, Place where = Place::here())
      : Error(message, where) {}
};

//! A corpus, vocabulary or batch that cannot be used as it is.
class DataError : public Error {
 public:
  explicit DataError(const std::string& message, Place where = Place::here())
      : Error(message, where) {}
};

//! A file whose bytes are not what its format asks for.
class FormatError : public Error {
 public:
  explicit FormatError(const std::string& message, Place where = Place::here())
      : Error(message, where) {}
};

//! The operating system refused: a file that cannot be opened, a disk that is full, ...
class SystemError : public Error {
 public:
  explicit SystemError(const std::string& message, Place where = Place::here())
      : Error(message, where) {}
};

//! What an exception says, without the place in the source where it is weft's.
[[nodiscard]] inline std::string message_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    return error.message();
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "unknown exception";
  }
}

}  // namespace weft
