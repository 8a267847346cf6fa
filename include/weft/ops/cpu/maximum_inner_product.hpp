// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The row of a matrix whose inner product with a vector is the largest, found without making
//! all products exactly.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include <weft/core/bfloat16.hpp>
#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/simd.hpp>
#include <weft/device/cpu.hpp>
#include <weft/ops/check.hpp>
#include <weft/ops/convert.hpp>
#include <weft/ops/cpu/few_rows.hpp>
#include <weft/ops/cpu/product.hpp>
#include <weft/ops/cpu/skinny_product.hpp>
#include <weft/ops/matmul.hpp>
#include <weft/tensor/tensor.hpp>
#include <weft/tensor/view.hpp>

namespace weft::ops {

//! Finds, for rows x of a matrix, the row w[v] of another for which x . w[v] + b[v] is the largest:
//! the one that float32 finds.
//!
//!     |x . w[v] - x~ . w~[v]| <= |x| r[v]
//!     r[v] = |w[v] - w~[v]| + 2^-8 |w~[v]| + rounding of the sums
//!
//! where ~ rounds to Bfloat16 (by 2^-8 of a number at most), by the triangle and the Cauchy-Schwarz
//! inequality. A product of rounded factors reads half as much, and where the processor multiplies
//! them takes half the time; those v whose upper bound reaches the largest lower bound are then
//! multiplied in float32: 2 or 3 of 32,000 words.
//!
//! **Memory.** The matrix rounded, half as much as itself, and a float for each row.
//! **Source.** Ram and Gray 2012 name the search, and prune it by bounds; see decision 0020.
class MaximumInnerProduct {
 public:
  //! Rounds the matrix and bounds what that changes.
  //!
  //! **Shapes.** w: (V, C), which may not change, or go, as long as this lives.
  //! **Cost.** A pass.
  MaximumInnerProduct(Cpu& device, View<const float> w)
      : w_(w), rounded_(device, w.shape), slack_(device, {w.rows()}) {
    convert(device, w.size(), w.data, rounded_.data());
    device.for_parts(w.rows(), 64, [&](index_t begin, index_t end) {
      for (index_t v = begin; v < end; ++v) slack_.data()[v] = slack_of_row(v);
    });
  }

  //! Whether a search for so many rows of C columns takes less time than all products in float32:
  //! where Bfloat16 are multiplied, or where the matrix comes from memory for a few rows.
  [[nodiscard]] static constexpr bool pays_for(index_t rows, index_t C) {
    const bool multiplies_pairs = rows <= detail::most_skinny_rows && C % 2 == 0;
    return rows <= detail::most_few_rows || (WEFT_AVX512_BF16 && (WEFT_ONEDNN || multiplies_pairs));
  }

  //! For each row of x the v of the largest sum, of equals the first, but for `excluded` ones. -1
  //! where a sum is NaN or plus infinity, or all are excluded. A row's result depends on no other
  //! row.
  //!
  //! **Shapes.** x: (N, C). bias: (V), or empty. Returns N numbers.
  //! **Cost.** A rounded product; for each row a product more where sums are as close as rounding,
  //! and one for each that is excluded.
  //! **Errors.** ShapeError.
  [[nodiscard]] std::vector<token_t> find(Cpu& device, View<const float> x, View<const float> bias,
                                          std::span<const token_t> excluded) const {
    if (x.columns() != w_.columns()) {
      throw ShapeError(text("MaximumInnerProduct: x is ", x.shape, ", the matrix ", w_.shape));
    }
    detail::expect_shape_if_given("MaximumInnerProduct", "bias", bias, {w_.rows()});
    const Excluded no_words(w_.rows(), excluded);
    const Tensor<Bfloat16> rounded_x(device, x.shape);
    convert(device, x.size(), x.data, rounded_x.data());
    const Tensor<float> rough(device, {x.rows(), w_.rows()});
    matmul_nt(device, View<const Bfloat16>(rounded_x), View<const Bfloat16>(rounded_), rough);
    std::vector<token_t> found(static_cast<std::size_t>(x.rows()));
    device.for_parts(x.rows(), 1, [&](index_t begin, index_t end) {
      const Tensor<float> highest(device, {(w_.rows() + stretch - 1) / stretch});
      for (index_t n = begin; n < end; ++n) {
        found[static_cast<std::size_t>(n)] =
            find_row(x.row(n), rough.data() + n * w_.rows(), bias.data, no_words, highest.data());
      }
    });
    return found;
  }

 private:
  //! Columns of which one comparison says that none is good enough.
  static constexpr index_t stretch = 256;

  //! The v that are not to be found: as they were given, and by number, so that many are found to
  //! be among them as soon as one.
  struct Excluded {
    std::span<const token_t> numbers;
    std::vector<bool> has;  // (V)

    Excluded(index_t V, std::span<const token_t> of)
        : numbers(of), has(static_cast<std::size_t>(V)) {
      for (const token_t v : of) {
        if (v >= 0 && v < V) has[static_cast<std::size_t>(v)] = true;
      }
    }
  };

  //! The Euclidean norm, rounded up; infinite where squares overflow (from 1.8e19 on), and useless
  //! below 1e-15, where they underflow.
  template <class Number>
  static float length(index_t C, const Number& number) {
    const float squares = CpuLanes().sum(C, [&](auto c) {
      const simd::Floats x = number(c);
      return x * x;
    });
    return 1.001f * std::sqrt(squares);
  }

  //! r[v], in which sums of C products, of either kind, round less than C 2^-22 |x| |w|, and
  //! numbers that are too small for their squares, or for being no zeros, less than 1e-15 |x|.
  [[nodiscard]] float slack_of_row(index_t v) const {
    const index_t C = w_.columns();
    const float* const row = w_.row(v);
    const Bfloat16* const near = rounded_.data() + v * C;
    const float off = length(C, [&](auto c) { return simd::load(row, c) - simd::load(near, c); });
    const float rounded = length(C, [&](auto c) { return simd::load(near, c); });
    return off + (0x1p-8f + static_cast<float>(C) * 0x1p-22f) * rounded + 1e-15f;
  }

  //! What is known of products and biases of one x before they are made exactly.
  struct Bounds {
    const float* rough;  // products of rounded factors
    const float* bias;   // or null
    const float* slack;
    float length;  // of x, or infinite

    //! Between which the sum at each of a pack lies, which rounds when the bias is added: both
    //! infinite where nothing is known, as `off` is then infinite or NaN.
    template <class Pack>
    [[nodiscard]] auto operator()(Pack c) const {
      constexpr float infinity = std::numeric_limits<float>::infinity();
      const auto product = simd::load(rough, c);
      const auto sum = bias == nullptr ? product : product + simd::load(bias, c);
      const auto off = length * simd::load(slack, c) + simd::max(sum, -sum) * 0x1p-22f;
      const auto unknown = decltype(sum){} + infinity;
      struct {
        decltype(sum + off) least, most;
      } bounds{simd::select(off < infinity, sum - off, -unknown),
               simd::select(off < infinity, sum + off, unknown)};
      return bounds;
    }
  };

  //! The search for one x. **Shapes.** rough: (V), of which excluded ones are overwritten.
  //! highest: one for each stretch, written.
  [[nodiscard]] token_t find_row(const float* x, float* rough, const float* bias,
                                 const Excluded& excluded, float* highest) const {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const index_t V = w_.rows(), C = w_.columns();
    for (const token_t v : excluded.numbers) {
      if (v >= 0 && v < V) rough[v] = -infinity;  // unknown, and no other's bound
    }
    const float x_length = length(C, [&](auto c) { return simd::load(x, c); });
    const Bounds bounds{rough, bias, slack_.data(), x_length > 1e-15f ? x_length : infinity};
    float enough = -infinity;
    for (index_t first = 0, i = 0; first < V; first += stretch, ++i) {
      simd::Floats least = simd::broadcast(-infinity), most = least;
      CpuLanes().for_each(std::min(stretch, V - first), [&](auto c) {
        c.first += first;
        const auto bound = bounds(c);
        least = simd::max(least, simd::mask_tail(c, bound.least, -infinity));
        most = simd::max(most, simd::mask_tail(c, bound.most, -infinity));
      });
      enough = std::max(enough, simd::max(least));
      highest[i] = simd::max(most);
    }

    float largest = -infinity;
    token_t found = -1;
    for (index_t first = 0, i = 0; first < V; first += stretch, ++i) {
      if (highest[i] < enough) continue;
      for (index_t v = first; v < std::min(first + stretch, V); ++v) {
        if (bounds(v).most < enough) continue;
        float sum;
        detail::multiply_few_rows(1, 1, C, x, C, w_.row(v), C, &sum, 1, false);
        if (bias != nullptr) sum += bias[v];
        if (!(sum < infinity)) return -1;
        if (sum > largest && !excluded.has[static_cast<std::size_t>(v)]) {
          largest = sum;
          found = static_cast<token_t>(v);
        }
      }
    }
    return found;
  }

  View<const float> w_;
  Tensor<Bfloat16> rounded_;
  Tensor<float> slack_;
};

}  // namespace weft::ops
