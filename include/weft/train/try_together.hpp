// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What all ranks of a strategy do, or none.
#pragma once

#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <weft/comm/communicator.hpp>
#include <weft/core/error.hpp>

namespace weft::train {

//! Throws if a rank has failed: its own error there, and what the first such rank says elsewhere.
//! All ranks call it, and may go on.
template <class Strategy>
void throw_together(Strategy& strategy, const std::exception_ptr& failure) {
  std::vector<std::string> said;
  try {
    said = strategy.texts_of_all(failure != nullptr ? message_of(failure) : "");
  } catch (...) {  // a rank that has heard of this one's failure may have ended already
    if (failure == nullptr) throw;
  }
  if (failure != nullptr) std::rethrow_exception(failure);
  for (std::size_t rank = 0; rank < said.size(); ++rank) {
    if (said[rank].empty()) continue;
    const int culprit = static_cast<int>(rank);
    throw comm::CommunicatorAborted(culprit, comm::failure_text(culprit, said[rank]));
  }
}

//! Returns what `f()` returns if no rank's `f` throws, and else throws as `throw_together`. All
//! ranks call it; `f` asks no other rank.
template <class Strategy, class F>
auto try_together(Strategy& strategy, const F& f) -> decltype(f()) {
  std::optional<decltype(f())> result;
  std::exception_ptr failure;
  try {
    result.emplace(f());
  } catch (...) {
    failure = std::current_exception();
  }
  throw_together(strategy, failure);
  return std::move(*result);
}

}  // namespace weft::train
