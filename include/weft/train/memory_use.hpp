// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What a device's memory is used for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <weft/core/index.hpp>
#include <weft/device/arena.hpp>

namespace weft::train {

//! Bytes of a device's pool, by what holds them.
struct MemoryUse {
  std::string device;       //!< its name, such as "cpu:0"
  index_t parameters = 0;   //!< the model's values
  index_t gradients = 0;    //!< of all lanes and buckets
  index_t pages = 0;        //!< of values and gradients of which a GPU has its rank's part
  index_t optimizer = 0;    //!< its buffers
  index_t activations = 0;  //!< and all else, when it was most
  index_t held = 0;         //!< taken from the system

  //! What was needed at once, when it was most.
  [[nodiscard]] index_t used() const {
    return parameters + gradients + pages + optimizer + activations;
  }
  //! What never was: pieces between the others, and what is asked for ahead. None where the pool
  //! has given back since.
  [[nodiscard]] index_t unused() const { return std::max(held - used(), index_t{0}); }
};

//! The use of a device that counts its memory, from its making on.
template <class D>
[[nodiscard]] MemoryUse memory_of(const D& device) {
  const ArenaStatistics statistics = device.memory().statistics();
  const auto of = [&](MemoryKind kind) { return statistics.kept[static_cast<std::size_t>(kind)]; };
  MemoryUse use{.device = to_text(device),
                .parameters = of(MemoryKind::parameters),
                .gradients = of(MemoryKind::gradients),
                .optimizer = of(MemoryKind::optimizer),
                .held = statistics.held};
  use.activations = statistics.peak - use.parameters - use.gradients - use.optimizer;
  if constexpr (requires { device.pages(); }) {
    use.pages = device.pages().committed;
    use.held += device.pages().held;
  }
  return use;
}

//! The use of each device that a strategy has on this rank.
template <class Strategy>
[[nodiscard]] std::vector<MemoryUse> memory_of_devices(const Strategy& strategy) {
  std::vector<MemoryUse> uses;
  for (int i = 0; i < strategy.devices(); ++i) uses.push_back(memory_of(strategy.device(i)));
  return uses;
}

}  // namespace weft::train
