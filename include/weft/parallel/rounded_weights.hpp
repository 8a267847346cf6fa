// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Weights that are rounded once for all passes of a batch.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <weft/core/any_floats.hpp>
#include <weft/core/chunks.hpp>
#include <weft/core/index.hpp>
#include <weft/device/arena.hpp>
#include <weft/ops/convert.hpp>
#include <weft/ops/factor.hpp>

namespace weft::parallel {

//! Values as a GPU's products read them, for `nn::Context::read_weights`: nothing where the device
//! rounds nothing, or is a processor. Training there rounds a weight for each of its products, and
//! spares the memory.
//!
//! **Memory.** Half that of the values.
//! **Cost.** Reads the values and writes half as much. Each pass over them then reads half.
template <class D>
[[nodiscard]] ops::Factor<D> rounded_weights(D& device, const float* values, index_t count) {
  const FloatType type = ops::result_type(device);
  if (type == FloatType::float32) return {};
  const ops::Factor<D> weights(device, {count}, type);
  weights.mark(MemoryKind::parameters);
  ops::convert(device, count, values, weights.target().numbers);
  return weights;
}

//! The same for the ranges that a rank reads of all values, in memory that stays while the device
//! rounds. Addresses that cost nothing are reserved when this is made: later a device with NCCL has
//! none.
//!
//! **Memory.** Half that of the ranges; where the device has no pages, of all values.
template <class D>
class RoundedRanges {
 public:
  //! `count` is that of all values.
  RoundedRanges(D& device, index_t count, std::vector<Range> ranges)
      : device_(&device), count_(count), ranges_(std::move(ranges)) {
    if constexpr (requires { device.has_pages(); }) {
      if (device.has_pages()) memory_ = device.reserve(count_ * bytes_of_one);
    }
  }

  //! Those of all values here, in their places.
  [[nodiscard]] ops::Factor<D> round(const float* values) {
    const FloatType type = ops::result_type(*device_);
    set_committed(type != FloatType::float32);
    if (type == FloatType::float32) return {};
    const ops::Factor<D> weights(*device_, {count_}, type, memory_);
    for (const Range range : ranges_) {
      ops::convert(*device_, range.size(), values + range.begin,
                   weights.target().numbers + range.begin);
    }
    return weights;
  }

 private:
  static constexpr index_t bytes_of_one = 2;  // of both types that are not float32

  void set_committed(bool on) {
    if (is_committed_ == on) return;
    if (memory_.data() == nullptr) memory_ = device_->reserve(count_ * bytes_of_one);
    memory_.mark(MemoryKind::parameters);
    for (const Range range : ranges_) {
      std::byte* const data = memory_.data() + range.begin * bytes_of_one;
      if (on) {
        device_->commit(data, range.size() * bytes_of_one);
      } else {
        device_->discard(data, range.size() * bytes_of_one);
      }
    }
    is_committed_ = on;  // not where memory was missing: the next call goes on
  }

  D* device_;
  index_t count_;
  std::vector<Range> ranges_;
  Memory memory_;
  bool is_committed_ = false;
};

}  // namespace weft::parallel
