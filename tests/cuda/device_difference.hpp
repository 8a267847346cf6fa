// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file An operation's results on a GPU beside a processor's.
//!
//! Every operation is run on a Cpu and on a GPU with the same inputs. The two add in another order,
//! so results agree to some roundings of the largest element and not to the bit. Rows of more than
//! 4,096 elements' work have a block of a GPU, shorter ones a warp; where each number comes of its
//! own column, rows from 1,024 columns on.
#pragma once

#include <weft/cuda.cuh>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <weft/testing/difference.hpp>
#include <weft/testing/random.hpp>

#include "dropout_masks.hpp"

namespace weft::testing {

inline constexpr double close = 2e-5;

template <class D>
using Results = std::vector<Tensor<float, D>>;

//! Empty if `compute(device)` gives the same tensors on both devices, else how they differ.
template <class Compute>
std::string device_difference(const Compute& compute, double bound = close) {
  Cpu cpu;
  Cuda gpu;
  const Results<Cpu> expected = compute(cpu);
  const Results<Cuda> found = compute(gpu);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Matrix should = matrix(expected[i]);
    double largest = 0.0;
    for (const double element : should.elements) largest = std::max(largest, std::abs(element));
    const std::string difference = testing::difference(found[i], should, bound * largest);
    if (!difference.empty()) return text("result ", i, ": ", difference);
  }
  return {};
}

template <class D>
LayoutPointer<D> layout_of(D& device, const std::vector<index_t>& lengths) {
  return make_layout(device, lengths, /*first_id=*/40u);
}

}  // namespace weft::testing
