// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Rounded numbers as floats, to be compared.
#pragma once

#include <type_traits>

#include <weft/ops/convert.hpp>
#include <weft/ops/factor.hpp>
#include <weft/tensor/tensor.hpp>

namespace weft::testing {

//! The floats that the numbers of a factor are, in a new tensor.
template <class D>
[[nodiscard]] Tensor<float, D> widened(const ops::Factor<D>& factor) {
  Tensor<float, D> floats(factor.device(), factor.shape());
  factor.numbers().read([&]<class T>(const T* numbers) {
    if constexpr (std::is_same_v<T, float>) {
      factor.device().copy(floats.data(), numbers, floats.size() * index_t{sizeof(float)});
    } else {
      ops::convert(factor.device(), floats.size(), numbers, floats.data());
    }
  });
  return floats;
}

}  // namespace weft::testing
