// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The precision of a strategy's matrix products, by name or by measurement.
#pragma once

#include <algorithm>
#include <atomic>
#include <span>
#include <string_view>

#include <weft/core/clock.hpp>
#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/device/product_precision.hpp>
#include <weft/ops/matmul.hpp>
#include <weft/tensor/tensor.hpp>

namespace weft::train {

namespace detail {

//! Seconds of the quickest of some products of 512 x 512 x 512.
template <class D>
[[nodiscard]] double product_seconds(D& device, ProductPrecision precision) {
  constexpr index_t size = 512;
  const ProductPrecision before = device.product_precision();
  const Tensor<float, D> a(device, {size, size}), b(device, {size, size}), c(device, {size, size});
  device.clear(a.data(), a.size() * index_t{sizeof(float)});
  device.clear(b.data(), b.size() * index_t{sizeof(float)});
  device.set_product_precision(precision);
  double best = 1e300;
  for (int repeat = 0; repeat < 8; ++repeat) {
    device.synchronize();
    const double begin = monotonic_seconds();
    ops::matmul_nt(device, a, b, c);
    device.synchronize();
    best = std::min(best, monotonic_seconds() - begin);
  }
  device.set_product_precision(before);
  return best;
}

}  // namespace detail

//! Sets it on all devices that a strategy has on this rank.
template <class Strategy>
void set_product_precision(Strategy& strategy, ProductPrecision precision) {
  strategy.on_devices([&](auto& device, int) { device.set_product_precision(precision); });
}

//! The fastest precision of all devices and ranks: bfloat16 if a product takes at most 0.8 of the
//! time of one in float32 on each of them. All ranks call it, and get the same.
//!
//! **Cost.** Sixteen products of 512 x 512 x 512. On a Zen 4, which has AVX512-BF16, those of
//! bfloat16 took half the time; others were not measured.
template <class Strategy>
[[nodiscard]] ProductPrecision fastest_product_precision(Strategy& strategy) {
  std::atomic<bool> all{true};
  strategy.on_devices([&](auto& device, int) {
    if (detail::product_seconds(device, ProductPrecision::bfloat16) >
        0.8 * detail::product_seconds(device, ProductPrecision::float32)) {
      all = false;
    }
  });
  index_t slow_ranks = all ? 0 : 1;
  strategy.add_over_ranks(std::span(&slow_ranks, 1));
  return slow_ranks == 0 ? ProductPrecision::bfloat16 : ProductPrecision::float32;
}

//! Sets what an option names: float32, tf32, bfloat16, float16, or fastest; returns it.
//!
//! **Errors.** ArgumentError for another name.
template <class Strategy>
ProductPrecision set_product_precision(Strategy& strategy, std::string_view name) {
  auto precision = ProductPrecision::float32;
  if (name == "fastest") {
    precision = fastest_product_precision(strategy);
  } else {
    for (const auto other :
         {ProductPrecision::tf32, ProductPrecision::bfloat16, ProductPrecision::float16}) {
      if (name == to_text(other)) precision = other;
    }
    if (name != to_text(precision)) {
      throw ArgumentError(text("product precision: '", name,
                               "', there are float32, tf32, bfloat16, float16 and fastest"));
    }
  }
  set_product_precision(strategy, precision);
  return precision;
}

}  // namespace weft::train
