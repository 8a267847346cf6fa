// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file How precise a device's matrix products are.
#pragma once

#include <string>

namespace weft {

//! What the factors of a device's matrix products are rounded to. Parameters, their gradients, the
//! optimizer, sums, residuals and losses are float32 whatever it says. What modules write for
//! products alone they write rounded (`ops::Factor`), on a GPU also what products, attention and
//! the branches of residual connections hand on.
//!
//! Attention's factors are rounded too on a GPU, and to bfloat16 in a program that is compiled for
//! a processor with AVX512-BF16, if a sequence has more than 5 queries and a head more than 8
//! channels. Other processors' attention multiplies floats.
//!
//! **Source.** PyTorch's `torch.set_float32_matmul_precision`: highest, high and medium.
enum class ProductPrecision {
  float32,   //!< nothing is rounded
  tf32,      //!< 10 bits of fraction, on the tensor cores of a GPU; a processor does as float32
  bfloat16,  //!< 7 bits of fraction
  float16,   //!< 10 bits of fraction, fewer below 2^-14; 0 below 2^-25, infinite from 65,520 on:
             //!< for training with `parallel::Recipe::loss_scaling`
};

//! As options and logs name it.
inline std::string to_text(ProductPrecision precision) {
  switch (precision) {
    case ProductPrecision::float32:
      return "float32";
    case ProductPrecision::tf32:
      return "tf32";
    case ProductPrecision::bfloat16:
      return "bfloat16";
    case ProductPrecision::float16:
      return "float16";
  }
  return "unknown";
}

//! That of a device; of one that has no choice, float32.
template <class D>
[[nodiscard]] ProductPrecision product_precision_of(const D& device) {
  if constexpr (requires { device.product_precision(); }) {
    return device.product_precision();
  } else {
    return ProductPrecision::float32;
  }
}

}  // namespace weft
