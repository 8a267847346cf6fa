// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Sums of gradient buffers, and the norm of a gradient.
#pragma once

#include <iterator>
#include <span>

#include <weft/core/host_device.hpp>
#include <weft/core/simd.hpp>
#include <weft/ops/blocks.hpp>
#include <weft/tensor/tensor.hpp>
#include <weft/tensor/view.hpp>

namespace weft::ops {

namespace detail {

struct AddPiece {
  const float* x;
  float* y;

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t first, index_t count) const {
    lanes.write(count, y + first,
                [&](auto c) { return simd::load(y + first, c) + simd::load(x + first, c); });
  }
};

//! A group of the sum that `ordered_sum` makes.
struct SumGroup {
  const double* x;
  index_t n;
  double* sums;

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t group) const {
    lanes.at(0, [&] { sums[group] = sum(x, n, group); });
  }

  static constexpr index_t size = 1024;
  static constexpr index_t count(index_t n) { return (n + size - 1) / size; }

  WEFT_HOST_DEVICE static double sum(const double* x, index_t n, index_t group) {
    const index_t end = (group + 1) * size < n ? (group + 1) * size : n;
    double total = 0.0;
    for (index_t i = group * size; i < end; ++i) total += x[i];
    return total;
  }
};

struct SquareBlock {
  const float* x;
  double* sums;

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t first, index_t count, index_t block) const {
    sums[block] = lanes.sum(count, [&](auto c) {
      const auto value = simd::load(x + first, c);
      return value * value;
    });
  }
};

}  // namespace detail

//! y += x over blocks `begin` to `end` - 1 of n elements.
template <class D>
void add_blocks(D& device, index_t n, index_t begin, index_t end, const float* x, float* y) {
  for_pieces(device, n, begin, end, detail::AddPiece{x, y});
}

//! sums[block] = sum of x[i]^2 over the block, for blocks `begin` to `end` - 1 of n elements.
//!
//! Sums in float inside a block and leaves the blocks to be added in double, in ascending order:
//! the norm is then the same under every strategy, and not finite if an element is not.
template <class D>
void sum_of_squares(D& device, index_t n, index_t begin, index_t end, const float* x,
                    double* sums) {
  for_blocks(device, n, begin, end, detail::SquareBlock{x, sums});
}

//! The sum of numbers in the order that every strategy keeps: groups of 1,024, each from its first
//! number on, and then the groups.
inline double ordered_sum(std::span<const double> x) {
  double total = 0.0;
  for (index_t group = 0; group < detail::SumGroup::count(std::ssize(x)); ++group) {
    total += detail::SumGroup::sum(x.data(), std::ssize(x), group);
  }
  return total;
}

//! The sums of the groups of `ordered_sum`.
//!
//! **Shapes.** x: (N), groups: (N / 1,024, rounded up).
template <class D>
Tensor<double, D> group_sums(D& device, View<const double> x) {
  const Tensor<double, D> sums(device, {detail::SumGroup::count(x.size())});
  device.for_rows(sums.size(), detail::SumGroup::size,
                  detail::SumGroup{x.data, x.size(), sums.data()});
  return sums;
}

}  // namespace weft::ops
