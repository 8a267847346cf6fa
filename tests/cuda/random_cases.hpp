// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Random cases of a GPU's kernels: what is chosen, and rows of any type and place in memory.
#pragma once

#include <weft/cuda.cuh>

#include <cstdint>
#include <random>

#include <weft/ops/convert.hpp>
#include <weft/ops/factor.hpp>
#include <weft/testing/widened.hpp>

namespace weft::testing {

//! The same choices on every device.
class Choices {
 public:
  explicit Choices(std::uint32_t seed) : engine_(seed) {}

  //! 0 to n - 1.
  index_t below(index_t n) { return static_cast<index_t>(engine_()) % n; }
  bool maybe() { return below(2) == 0; }
  FloatType type() {
    constexpr FloatType types[] = {FloatType::float32, FloatType::bfloat16, FloatType::float16};
    return types[below(3)];
  }
  //! Columns for a warp or for a block, which end with four neighbours or do not.
  index_t columns() {
    constexpr index_t least[] = {1, 1, 900, 4000}, more[] = {70, 300, 900, 700};
    const index_t kind = below(4), columns = least[kind] + below(more[kind]);
    return maybe() ? (columns + 3) / 4 * 4 : columns;
  }

 private:
  std::mt19937 engine_;
};

//! Rows of numbers of this type that begin anywhere in memory, with NaN or random numbers around
//! them.
template <class D>
class PlacedRows {
 public:
  //! Of `floats`, which end with some that belong to no row. `in_line`: they begin where the memory
  //! does.
  PlacedRows(D& device, Choices& choices, Shape shape, FloatType type,
             const Tensor<float, D>& floats, bool in_line = false)
      : memory_(device, floats.shape(), type), shape_(shape) {
    if (!in_line && choices.below(3) == 0) begin_ = choices.below(room);
    stride_ = (floats.size() - room) / shape.rows();
    const auto to = memory_.target().numbers;
    if (type == FloatType::float32) {
      device.copy(to.data, floats.data(), floats.size() * index_t{sizeof(float)});
    } else {
      ops::convert(device, floats.size(), floats.data(), to);
    }
  }

  static constexpr index_t room = 4;  // behind the last row, for those that begin later

  [[nodiscard]] ops::FactorView view() const {
    return {memory_.numbers() + begin_, shape_, stride_};
  }
  [[nodiscard]] ops::FactorTarget target() const {
    return {memory_.target().numbers + begin_, shape_, stride_};
  }
  [[nodiscard]] View<float> floats() const {
    return {static_cast<float*>(memory_.target().numbers.data) + begin_, shape_};
  }
  //! The first row as a vector.
  [[nodiscard]] View<const float> vector() const { return {floats().data, {shape_.columns()}}; }

  //! The same as floats, which are all that a processor's attention takes.
  [[nodiscard]] PlacedRows as_floats() const {
    PlacedRows floats = *this;
    floats.memory_ = ops::Factor<D>(all());
    return floats;
  }

  //! With what lies around the rows.
  [[nodiscard]] Tensor<float, D> all() const { return widened(memory_); }
  [[nodiscard]] bool rounded() const { return memory_.numbers().rounded(); }

 private:
  ops::Factor<D> memory_;
  Shape shape_;
  index_t stride_ = 0, begin_ = 0;
};

}  // namespace weft::testing
