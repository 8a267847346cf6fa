// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The message with which something fails.
#pragma once

#include <weft/core/error.hpp>

#include <string>

namespace weft::testing {

//! The message of the `Expected` error that `action` throws; without one, a text that says so.
template <class Expected = Error, class Action>
std::string message_of(Action&& action) {
  try {
    static_cast<void>(action());
  } catch (const Expected& error) {
    return error.message();
  } catch (const std::exception& error) {
    return text("(another kind of error) ", error.what());
  }
  return "(no error)";
}

}  // namespace weft::testing
