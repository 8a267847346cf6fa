// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Whether a computation has the same bits on teams of different sizes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <weft/core/text.hpp>
#include <weft/device/cpu.hpp>
#include <weft/tensor/tensor.hpp>
#include <weft/testing/difference.hpp>

namespace weft::testing {

//! Empty if `compute(device)`, which returns tensors in a vector, gives the same bits on one, two
//! and three threads, else where it does not.
//!
//! Small loops stay on one thread (see Cpu::for_rows): give it enough to share.
template <class F>
[[nodiscard]] std::string team_difference(F compute) {
  Cpu alone(1);
  const std::vector<Tensor<float>> expected = compute(alone);
  for (const int threads : {2, 3}) {
    Cpu device(threads);
    const std::vector<Tensor<float>> found = compute(device);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const std::string difference = bit_difference(expected[i], found[i]);
      if (!difference.empty()) {
        return text("result ", i, " on 1 and ", threads, " threads: ", difference);
      }
    }
  }
  return {};
}

}  // namespace weft::testing
