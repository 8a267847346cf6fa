// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Queries and keys of which all scores are far below 0.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <weft/core/index.hpp>
#include <weft/tensor/tensor.hpp>

namespace weft::testing {

//! `x` with `number` in each `stride`-th of the columns `first` to `end` - 1, from the first on.
template <class D>
Tensor<float, D> with_columns(D& device, const Tensor<float, D>& x, index_t first, index_t end,
                              index_t stride, float number) {
  std::vector<float> numbers = to_host(x);
  const index_t C = x.shape()[1];
  for (index_t row = 0; row < x.shape()[0]; ++row) {
    for (index_t c = first; c < end; c += stride) {
      numbers[static_cast<std::size_t>(row * C + c)] = number;
    }
  }
  return to_device<float>(device, std::span<const float>(numbers), x.shape());
}

//! What an attention's queries and keys give.
enum class Scores { around_0, low };

//! Queries and keys with these numbers in a channel have scores 120 lower, at a scale of 0.3: e to
//! the power of 0 less such a sum's logarithm is no float.
inline constexpr float low_query = -400.0f, low_key = 1.0f;

}  // namespace weft::testing
