// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What strategies that run in one process say where others ask their ranks.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include <weft/comm/check_same.hpp>

namespace weft::parallel {

//! The base of strategies without ranks.
struct OneProcess {
  //! Whether this process writes files and reports: with ranks, the first one does.
  [[nodiscard]] static constexpr bool is_root() { return true; }

  //! While what this returns lives, `state().values()` has all parameters: it always has.
  struct Whole {};
  [[nodiscard]] static constexpr Whole whole_values() { return {}; }

  //! Nobody else reads the parameters that are updated here.
  static constexpr void share_values() {}

  //! Whether it is so on any rank.
  [[nodiscard]] static constexpr bool on_any_rank(bool here) { return here; }

  //! What the first rank says.
  [[nodiscard]] static std::string text_of_root(std::string said) { return said; }

  //! What every rank says, by rank.
  [[nodiscard]] static std::vector<std::string> texts_of_all(std::string said) {
    return {std::move(said)};
  }

  //! Nobody has other facts.
  static void check_same(const comm::Facts&) {}

  [[nodiscard]] static constexpr int rank() { return 0; }
  //! One.
  [[nodiscard]] static constexpr int ranks() { return 1; }

  //! What `f()` returns: nobody waits for this rank.
  template <class F>
  static constexpr decltype(auto) together(const F& f) {
    return f();
  }

  //! Adds numbers of all ranks.
  template <class T>
  static constexpr void add_over_ranks(std::span<T>) {}
};

}  // namespace weft::parallel
