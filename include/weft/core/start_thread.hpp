// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A thread, or an error that says who wanted it.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/text.hpp>

#include <string_view>
#include <system_error>
#include <utility>

namespace weft {

//! A `Thread` (std::thread or std::jthread) that calls `f()`; `owner` stands in the error.
//!
//! **Errors.** SystemError if the system gives no thread.
template <class Thread, class F>
[[nodiscard]] Thread start_thread(std::string_view owner, F&& f) {
  try {
    return Thread(std::forward<F>(f));
  } catch (const std::system_error& error) {
    throw SystemError(text(owner, ": the system gave no thread: ", error.what()));
  }
}

}  // namespace weft
