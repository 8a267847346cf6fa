// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Weights that are rounded once for all passes of a batch.
#pragma once

#include <cstddef>
#include <span>

#include <weft/core/any_floats.hpp>
#include <weft/core/chunks.hpp>
#include <weft/core/index.hpp>
#include <weft/device/arena.hpp>
#include <weft/ops/convert.hpp>
#include <weft/ops/factor.hpp>

namespace weft::parallel {

//! Some of `count` values as a GPU's products read them, for `nn::Context::read_weights`: nothing
//! where the device rounds nothing, or is a processor. Training there rounds a weight for each of
//! its products, and spares the memory.
//!
//! **Memory.** Half that of these values.
//! **Cost.** Reads the ranges and writes half as much. Each pass over them then reads half.
template <class D>
[[nodiscard]] ops::Factor<D> rounded_weights(D& device, const float* values, index_t count,
                                             std::span<const Range> ranges) {
  const FloatType type = ops::result_type(device);
  if (type == FloatType::float32) return {};
  const bool has_all = ranges.size() == 1 && ranges[0] == Range{0, count};
  const index_t bytes = size_of(type);
  const ops::Factor<D> weights(
      device, {count}, type,
      has_all ? device.allocate(count * bytes) : device.reserve(count * bytes));
  weights.mark(MemoryKind::parameters);
  for (const Range range : ranges) {
    device.commit(static_cast<std::byte*>(weights.target().numbers.data) + range.begin * bytes,
                  range.size() * bytes);
    ops::convert(device, range.size(), values + range.begin,
                 weights.target().numbers + range.begin);
  }
  return weights;
}

}  // namespace weft::parallel
