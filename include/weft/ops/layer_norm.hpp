// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Layer normalisation, alone and fused with the residual connection before it; and RMS
//! normalisation, which is the same without means.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/host_device.hpp>
#include <weft/core/simd.hpp>
#include <weft/core/simd_quad.hpp>
#include <weft/ops/check.hpp>
#include <weft/ops/check_finite.hpp>
#include <weft/ops/cpu/unroll.hpp>
#include <weft/ops/dropout.hpp>
#include <weft/ops/factor.hpp>
#include <weft/ops/residual.hpp>
#include <weft/ops/write.hpp>
#include <weft/tensor/sequences.hpp>
#include <weft/tensor/tensor.hpp>
#include <weft/tensor/view.hpp>

namespace weft::ops {

//! What is added to the variance if nothing else is said, as in PyTorch.
inline constexpr float layer_norm_epsilon = 1e-5f;

//! What is taken off each row before it is scaled.
enum class Centring {
  mean,  //!< its mean: layer normalisation, Ba, Kiros, Hinton 2016
  none,  //!< nothing, and nothing is added: RMS normalisation, Zhang and Sennrich 2019
};

//! What the backward pass needs of each row.
struct RowMoments {
  float mean;  //!< over the row; 0 without centring
  float rstd;  //!< 1 / sqrt(variance + epsilon); without centring of the mean square
};

namespace detail {

template <Centring Centre>
struct LayerNormRow {
  static constexpr bool ends_in_quads = true;

  const float* gain;
  const float* bias;  // null without centring
  const float* x;
  AnyFloats<void> y;
  AnyFloats<void> also;  // written too; may be null
  RowMoments* moments;
  index_t C;
  float epsilon;

  [[nodiscard]] bool lies_in_quads() const { return simd::lie_in_quads(C, gain, bias, x, y, also); }

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t n) const {
    const float* in = x + n * C;
    const AnyFloats<void> out = y + n * C;
    const float count = static_cast<float>(C);
    float mean = 0.0f;
    if constexpr (Centre == Centring::mean) {
      mean = lanes.sum(C, [&](auto c) { return simd::load(in, c); }) / count;
    }
    const float variance = lanes.sum(C, [&](auto c) {
      auto centred = simd::load(in, c);
      if constexpr (Centre == Centring::mean) centred = centred - mean;
      return centred * centred;
    }) / count;
    const float rstd = 1.0f / simd::sqrt(variance + epsilon);
    const auto find = [&](auto c) {
      if constexpr (Centre == Centring::none) {
        return simd::load(in, c) * rstd * simd::load(gain, c);
      } else {
        const auto normal = (simd::load(in, c) - mean) * rstd;
        return normal * simd::load(gain, c) + simd::load(bias, c);
      }
    };
    lanes.map(C, find, [&](auto c, auto value) {
      simd::store(out, c, value);
      if (also.data != nullptr) simd::store(also + n * C, c, value);
    });
    moments[n] = {mean, rstd};
  }
};

template <Centring Centre>
struct ResidualLayerNormRow {
  static constexpr int row_blocks = 3;  // see cuda_rows.cuh
  static constexpr bool ends_in_quads = true;

  ResidualRow residual;
  LayerNormRow<Centre> norm;

  [[nodiscard]] bool lies_in_quads() const {
    return residual.lies_in_quads() && norm.lies_in_quads();
  }

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t n) const {
    residual(lanes, n);
    norm(lanes, n);
  }
};

//! How many rows are added up at once to the gradients of gain and bias: a number of the extents
//! alone, so that sums have one order. Of few rows few, so that a GPU has blocks to run side by
//! side.
WEFT_HOST_DEVICE constexpr index_t norm_block_rows(index_t N, index_t C) {
  constexpr index_t together = 4, blocks = 1024;
  const index_t most = C <= 256 ? 8 : 32;
  const index_t rows = (N + blocks * together - 1) / (blocks * together) * together;
  return rows < together ? together : rows < most ? rows : most;
}

//! The rows of a block: their gradients, and what they add to those of gain and bias.
template <Centring Centre>
struct LayerNormBackwardBlock {
  static constexpr bool ends_in_quads = true;
  //! Of a GPU's block: with 256, a thread would have one quad of a row of 1,024, and take 117
  //! instructions a number for 76.
  static constexpr int row_threads = 128;

  const float* gain;
  const float* x;
  const RowMoments* moments;
  const float* dy;
  const float* dx_residual;  // may be null
  float* dx;
  DropoutMask mask;         // of the branch
  const RowKey* keys;       // may be null, without a branch
  AnyFloats<void> dbranch;  // may be null
  float* sums;              // (blocks, 2 C); (blocks, C) without centring
  index_t N, C;

  [[nodiscard]] bool lies_in_quads() const {
    return simd::lie_in_quads(C, gain, x, dy, dx_residual, dx, dbranch, sums);
  }

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t block) const {
    const index_t begin = block * norm_block_rows(N, C);
    const index_t last = begin + norm_block_rows(N, C), end = last < N ? last : N;
    for (index_t n = begin; n < end; n += together) {
      const int count = static_cast<int>(end - n < together ? end - n : together);
      float of_rows[terms * together];
      add_terms(lanes, block, n, count, n == begin, of_rows);  // first: dx may be written over dy
      WEFT_UNROLL for (int i = 0; i < together; ++i) {
        if (i < count) find_gradient(lanes, n + i, of_rows + terms * i);
      }
    }
  }

 private:
  static constexpr bool centres = Centre == Centring::mean;
  static constexpr int together = 4;             // rows, which are read before any of them is added
  static constexpr int terms = centres ? 2 : 1;  // sums of a row, and of a column

  //! Adds dy xhat and dy of four rows to the sums of the block. `of_rows` become the sums of g xhat
  //! and of g = dy gain of each row. Without centring there are those of products with xhat alone.
  template <class Lanes>
  WEFT_HOST_DEVICE void add_terms(Lanes lanes, index_t block, index_t first, int count,
                                  bool is_first, float (&of_rows)[terms * together]) const {
    float* const of_gain = sums + block * terms * C;
    float* const of_bias = of_gain + C;
    RowMoments rows[together];
    WEFT_UNROLL for (int i = 0; i < together; ++i) {
      rows[i] = i < count ? moments[first + i] : RowMoments{};
    }
    auto parts = typename Lanes::template Parts<terms * together>{};
    lanes.for_each(C, [&](auto c) {
      const auto scale = simd::load(gain, c);
      auto for_gain = decltype(simd::load(gain, c)){}, for_bias = decltype(simd::load(gain, c)){};
      auto gradient = typename Lanes::template Packs<together>{};
      auto normal = typename Lanes::template Packs<together>{};
      if (!is_first) {
        for_gain = simd::load(of_gain, c);
        if constexpr (centres) for_bias = simd::load(of_bias, c);
      }
      WEFT_UNROLL for (int i = 0; i < together; ++i) {
        // Where there is no such row the first is read, so that nothing is asked before it.
        const index_t row = (i < count ? first + i : first) * C;
        gradient.v[i] = simd::load(dy + row, c);
        normal.v[i] = normalised(simd::load(x + row, c), rows[i]);
      }
      WEFT_UNROLL for (int i = 0; i < together; ++i) {
        if (i >= count) continue;
        for_gain += gradient.v[i] * normal.v[i];
        const auto g = gradient.v[i] * scale;  // 0 behind the last column, as gradients are
        lanes.add(parts.v[terms * i], g * normal.v[i]);
        if constexpr (centres) {
          for_bias += gradient.v[i];
          lanes.add(parts.v[terms * i + 1], g);
        }
      }
      simd::store(of_gain, c, for_gain);
      if constexpr (centres) simd::store(of_bias, c, for_bias);
    });
    lanes.sum_all(parts, of_rows);
  }

  //! xhat.
  template <class Value>
  WEFT_HOST_DEVICE WEFT_INLINE static Value normalised(Value value, RowMoments row) {
    if constexpr (centres) value = value - row.mean;
    return value * row.rstd;
  }

  //! dx = rstd (g - mean(g) - xhat mean(g xhat)), of the sums of g xhat and of g; without centring
  //! mean(g) is left out.
  template <class Lanes>
  WEFT_HOST_DEVICE void find_gradient(Lanes lanes, index_t n, const float* of_row) const {
    const float* in = x + n * C;
    const float* gradient = dy + n * C;
    const RowMoments row = moments[n];
    const float count = static_cast<float>(C);
    const float mean_gx = of_row[0] / count;
    float mean_g = 0.0f;
    if constexpr (centres) mean_g = of_row[1] / count;
    const auto find = [&](auto c, auto factor) {
      auto residual = decltype(simd::load(gain, c)){};  // asked for before what it is added to
      if (dx_residual != nullptr) residual = simd::load(dx_residual + n * C, c);
      auto g = simd::load(gradient, c) * simd::load(gain, c);
      const auto normal = normalised(simd::load(in, c), row);
      if constexpr (centres) g = g - mean_g;
      auto value = (g - normal * mean_gx) * row.rstd;
      if (dx_residual != nullptr) value += residual;
      return simd::pair(value, value * factor);
    };
    mask.map(lanes, keys == nullptr ? RowKey{} : keys[n], C, find, [&](auto c, auto gradients) {
      simd::store(dx + n * C, c, gradients.first);
      if (dbranch.data != nullptr) simd::store(dbranch + n * C, c, gradients.second);
    });
  }
};

//! An operation's name for messages, of those for both kinds.
template <Centring Centre>
constexpr const char* norm_name(const char* layer, const char* rms) {
  return Centre == Centring::mean ? layer : rms;
}

//! **Errors.** ShapeError, which begins with `name`, unless a normalisation's numbers fit.
template <Centring Centre>
void check_norm(const char* name, const Shape& x, View<const float> gain, View<const float> bias,
                const FactorTarget& y, View<RowMoments> moments) {
  if (x.columns() < 1) throw ShapeError(text(name, ": x is ", x, ", needs a column"));
  expect_shape(name, "y", y, x);
  expect_shape(name, "gain", gain.shape, {x.columns()});
  if constexpr (Centre == Centring::mean) expect_shape(name, "bias", bias.shape, {x.columns()});
  expect_shape(name, "moments", moments.shape, {x.rows()});
}

}  // namespace detail

//! Normalises each row of `x` to mean 0 and variance 1, then scales and shifts it.
//!
//!     y[n, c] = (x[n, c] - mean[n]) * rstd[n] * gain[c] + bias[c]
//!
//! With `Centring::none` to a mean square of 1, and nothing is added. rstd[n] is
//! 1 / sqrt(variance[n] + epsilon), or that of the mean square.
//!
//! **Shapes.** x, y: (N, C); y may be a `Factor`'s target. gain: (C). bias: (C), not read without
//! centring. moments: (N), kept for the backward pass.
//! **Cost.** Reads NC elements of x and writes NC of y; sums in float.
//! **Errors.** ShapeError unless they fit and C > 0.
//! **Source.** Ba, Kiros, Hinton 2016, eq. 4; variance without Bessel's correction, as PyTorch.
//! Zhang and Sennrich 2019, eq. 4, as PyTorch's rms_norm with an `eps`.
template <Centring Centre = Centring::mean, class D>
void layer_norm(D& device, View<const float> x, View<const float> gain, View<const float> bias,
                const FactorTarget& y, View<RowMoments> moments,
                float epsilon = layer_norm_epsilon) {
  constexpr const char* name = detail::norm_name<Centre>("layer_norm", "rms_norm");
  detail::check_norm<Centre>(name, x.shape, gain, bias, y, moments);
  device.for_rows(
      x.rows(), 4 * x.columns(),
      detail::LayerNormRow<Centre>{
          gain.data, bias.data, x.data, y.numbers, {}, moments.data, x.columns(), epsilon});
  detail::expect_finite(device, name, "y", y);
}

//! sum = x + dropout(branch + branch_bias) and y = layer_norm(sum), in one pass over memory, which
//! writes y to a `factor` too, unless that is empty.
//!
//! **Shapes.** As `residual` and `layer_norm`. factor: (N, C), or empty. y, too, may be a
//! `Factor`'s target.
//! **Errors.** ShapeError unless they fit and C > 0.
//! **Cost.** Reads x and the branch and writes the sum and y: the sum is not read again.
template <Centring Centre = Centring::mean, class D>
void residual_layer_norm(D& device, const DropoutMask& mask, View<const RowKey> keys,
                         View<const float> x, const FactorView& branch,
                         View<const float> branch_bias, View<float> sum, View<const float> gain,
                         View<const float> bias, const FactorTarget& y, View<RowMoments> moments,
                         const FactorTarget& factor = {}, float epsilon = layer_norm_epsilon) {
  constexpr const char* name =
      detail::norm_name<Centre>("residual_layer_norm", "residual_rms_norm");
  detail::check_norm<Centre>(name, x.shape, gain, bias, y, moments);
  detail::expect_shape(name, "keys", keys.shape, {x.rows()});
  detail::expect_shape(name, "branch", branch, x.shape);
  detail::expect_shape_if_given(name, "branch_bias", branch_bias, {x.columns()});
  detail::expect_shape(name, "sum", sum.shape, x.shape);
  if (factor.numbers.data != nullptr) detail::expect_shape(name, "factor", factor, x.shape);
  device.for_rows(
      x.rows(), 4 * x.columns(),
      detail::ResidualLayerNormRow<Centre>{
          {mask, keys.data, x.data, branch.numbers, branch_bias.data, sum.data, x.columns()},
          {gain.data, bias.data, sum.data, y.numbers, factor.numbers, moments.data, x.columns(),
           epsilon}});
  detail::expect_finite(device, name, "sum", sum);
  detail::expect_finite(device, name, "y", y);
}

//! The gradients of `residual_layer_norm` in one pass: for x and the sum
//! dx = d(layer_norm)/dsum dy + dx_residual, for the branch dbranch = dropout(dx), and for gain and
//! bias the `column_sums` of what is returned: first C of the gain, dgain[c] = sum over n of
//! dy[n, c] xhat[n, c], then C of the bias, the sum of dy. Without centring those of the gain
//! alone.
//!
//! **Shapes.** x, the sum that was normalised, dy, dx: (N, C); dx may be dy. dx_residual: (N, C),
//! the gradient that reaches the sum past the normalisation, or empty. gain: (C). moments: (N).
//! keys: (N). dbranch: (N, C), which may be a `Factor`'s target; empty, it is not written. Returns
//! (B, 2 C), or (B, C) without centring: sums over 4 to 32 rows each.
//! **Errors.** ShapeError unless they fit.
//! **Cost.** Reads x and dy once from memory.
template <Centring Centre = Centring::mean, class D>
[[nodiscard]] Tensor<float, D> residual_layer_norm_backward(
    D& device, const DropoutMask& mask, View<const RowKey> keys, View<const float> x,
    View<const float> gain, View<const RowMoments> moments, View<const float> dy,
    View<const float> dx_residual, View<float> dx, const FactorTarget& dbranch) {
  const bool has_branch = dbranch.numbers.data != nullptr;
  const char* const name =
      has_branch
          ? detail::norm_name<Centre>("residual_layer_norm_backward", "residual_rms_norm_backward")
          : detail::norm_name<Centre>("layer_norm_backward", "rms_norm_backward");
  detail::expect_shape(name, "gain", gain.shape, {x.columns()});
  detail::expect_shape(name, "moments", moments.shape, {x.rows()});
  detail::expect_shape(name, "dy", dy.shape, x.shape);
  detail::expect_shape_if_given(name, "dx_residual", dx_residual, x.shape);
  detail::expect_shape(name, "dx", dx.shape, x.shape);
  if (has_branch) {
    detail::expect_shape(name, "dbranch", dbranch, x.shape);
    detail::expect_shape(name, "keys", keys.shape, {x.rows()});
  }
  const index_t rows = detail::norm_block_rows(x.rows(), x.columns());
  const index_t blocks = (x.rows() + rows - 1) / rows;
  constexpr index_t terms = Centre == Centring::mean ? 2 : 1;
  Tensor<float, D> sums(device, {blocks, terms * x.columns()});
  device.for_rows(blocks, 4 * rows * x.columns(),
                  detail::LayerNormBackwardBlock<Centre>{
                      gain.data, x.data, moments.data, dy.data, dx_residual.data, dx.data, mask,
                      keys.data, dbranch.numbers, sums.data(), x.rows(), x.columns()});
  detail::expect_finite(device, name, "dx", dx);
  if (has_branch) detail::expect_finite(device, name, "dbranch", dbranch);
  return sums;
}

//! The gradients of `layer_norm`: those of `residual_layer_norm` without a branch.
template <Centring Centre = Centring::mean, class D>
[[nodiscard]] Tensor<float, D> layer_norm_backward(D& device, View<const float> x,
                                                   View<const float> gain,
                                                   View<const RowMoments> moments,
                                                   View<const float> dy,
                                                   View<const float> dx_residual, View<float> dx) {
  return residual_layer_norm_backward<Centre>(device, {}, {}, x, gain, moments, dy, dx_residual, dx,
                                              {});
}

}  // namespace weft::ops
