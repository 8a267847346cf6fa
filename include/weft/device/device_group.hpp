// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Several logical devices.
#pragma once

#include <memory>
#include <vector>

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/device/cpu.hpp>

namespace weft {

//! Devices 0 to n - 1, alike.
template <class D = Cpu>
class DeviceGroup {
 public:
  //! **Errors.** ArgumentError unless there is at least one device, with at least one thread.
  explicit DeviceGroup(int devices, int threads_each = 1) {
    if (devices < 1) throw ArgumentError(text("device group: ", devices, " devices"));
    for (int index = 0; index < devices; ++index) {
      devices_.push_back(std::make_unique<D>(threads_each, index));
    }
  }

  //! How many devices there are.
  [[nodiscard]] int size() const { return static_cast<int>(devices_.size()); }
  //! Device `index`, from 0.
  [[nodiscard]] D& operator[](int index) const {
    return *devices_[static_cast<std::size_t>(index)];
  }

 private:
  std::vector<std::unique_ptr<D>> devices_;
};

}  // namespace weft
