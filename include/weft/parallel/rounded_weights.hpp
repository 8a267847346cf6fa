// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Weights that are rounded once for all passes of a batch.
#pragma once

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
//! **Memory.** Half that of all values.
//! **Cost.** Reads the ranges and writes half as much. Each pass over them then reads half.
template <class D>
[[nodiscard]] ops::Factor<D> rounded_weights(D& device, const float* values, index_t count,
                                             std::span<const Range> ranges) {
  const FloatType type = ops::result_type(device);
  if (type == FloatType::float32) return {};
  ops::Factor<D> weights(device, {count}, type);
  weights.mark(MemoryKind::parameters);
  for (const Range range : ranges) {
    ops::convert(device, range.size(), values + range.begin,
                 weights.target().numbers + range.begin);
  }
  return weights;
}

}  // namespace weft::parallel
