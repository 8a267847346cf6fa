// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What the programs whose strategy has no ranks have in common.
#pragma once

#include "options.hpp"

#include <weft/comm/check_same.hpp>

namespace translation {

template <class Strategy>
struct OneProcess {
  static constexpr const char* unit = "devices";

  static int default_devices() { return 1; }
  static bool is_first_process() { return true; }
  static bool is_root() { return true; }
  static void wait_for_all() {}
  static void check_same(const weft::comm::Facts&) {}

  //! Calls `train(strategy)`, and returns what it does.
  template <class Train>
  static int launch(const Options& options, const Train& train) {
    Strategy strategy(options.devices, options.threads);
    return train(strategy);
  }
};

}  // namespace translation
