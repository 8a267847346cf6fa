// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What stands between a Transformer's products: rows as they come in a step, each operation
//! alone.
#pragma once

#include <weft/cuda.cuh>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <weft/core/philox.hpp>
#include <weft/ops/activation.hpp>
#include <weft/ops/column_sums.hpp>
#include <weft/ops/cross_entropy.hpp>
#include <weft/ops/dropout.hpp>
#include <weft/ops/factor.hpp>
#include <weft/ops/layer_norm.hpp>
#include <weft/ops/linear.hpp>
#include <weft/ops/matmul.hpp>
#include <weft/ops/residual.hpp>
#include <weft/tensor/sequences.hpp>
#include <weft/tensor/tensor.hpp>

#include "harness.cuh"

namespace benchmark {

//! The sizes of a step.
struct RowSizes {
  index_t tokens, channels, words;
};

//! Factors are of 16 bits, hidden values four times as wide; a tenth is dropped. Bytes are those
//! that an operation cannot do without: each number is read and written once.
inline void rows(Cuda& device, const RowSizes& sizes) {
  const index_t N = sizes.tokens, C = sizes.channels, hidden = 4 * C;
  using Factor = ops::Factor<Cuda>;
  device.set_product_precision(ProductPrecision::bfloat16);
  const ops::DropoutMask dropped(0.1f, RandomKey(7, 8), 30);
  const auto layout = make_layout<Cuda>(device, std::vector<index_t>{N});
  const auto& keys = layout->keys;
  const auto measure = [&](const std::string& name, double bytes_of_a_row,
                           const std::function<void()>& call) {
    report(text("rows.", name, ".", N, "x", C), "weft_bfloat16", "gigabytes_per_second",
           1e-9 * static_cast<double>(N) * bytes_of_a_row, seconds(device, call));
  };
  const auto width = static_cast<double>(C), wide = static_cast<double>(hidden);

  const auto gain = numbers(device, {C}), bias = numbers(device, {C});
  const auto x = numbers(device, {N, C}), dy = numbers(device, {N, C});
  const Tensor<float, Cuda> sum(device, {N, C}), dx(device, {N, C});
  const Factor branch(x), factor(device, {N, C}), dbranch(device, {N, C});
  const Tensor<ops::RowMoments, Cuda> moments(device, {N});
  measure("residual", (4 + 2 + 4) * width,
          [&] { ops::residual(device, dropped, keys, x, branch, bias, sum); });
  measure("residual_layer_norm", (4 + 2 + 4 + 2) * width, [&] {
    ops::residual_layer_norm(device, dropped, keys, x, branch, bias, sum, gain, bias,
                             factor.target(), moments);
  });
  measure("residual_layer_norm_backward", (4 + 4 + 4 + 4 + 2) * width, [&] {
    (void)ops::residual_layer_norm_backward(device, dropped, keys, sum, gain, moments, dy, x, dx,
                                            dbranch.target());
  });
  const auto of_hidden = numbers(device, {N, hidden});
  const auto hidden_bias = numbers(device, {hidden});
  const Factor product(of_hidden), y(device, {N, hidden});
  measure("bias_relu_dropout", (2 + 2) * wide, [&] {
    ops::bias_activation_dropout<ops::Activation::relu>(device, dropped, keys, product, hidden_bias,
                                                        y.target());
  });
  measure("relu_dropout_backward", (2 + 2 + 2) * wide,
          [&] { ops::relu_dropout_backward(device, dropped, y, product, y.target()); });
  measure("column_sums", 2 * wide, [&] { ops::column_sums(device, product, hidden_bias); });

  // The gradient of a bias, by the product of the weight's gradient or beside it.
  const Tensor<float, Cuda> dw(device, {hidden, C});
  const double work = 2e-12 * static_cast<double>(N) * width * wide;
  const auto gradients = [&](const char* subject, const std::function<void()>& call) {
    report(text("rows.linear_gradients.", N, "x", C), subject, "teraflops_per_second", work,
           seconds(device, call));
  };
  gradients("weft_bfloat16", [&] {
    ops::linear_gradients(device, product, branch, dw, ops::Write::replace, hidden_bias,
                          ops::Write::replace);
  });
  gradients("weft_apart_bfloat16", [&] {
    ops::matmul_tn(device, product, branch, dw);
    ops::column_sums(device, product, hidden_bias);
  });

  // As many rows of logits as `Chunked` takes at once.
  const index_t rows_of_chunk = std::min<index_t>(N, 4096), V = sizes.words;
  const auto logits = numbers(device, {rows_of_chunk, V});
  const auto labels = to_device<token_t>(
      device, std::vector<token_t>(static_cast<std::size_t>(rows_of_chunk), 7), {rows_of_chunk});
  const Factor dlogits(device, {rows_of_chunk, V});
  const Tensor<float, Cuda> losses(device, {rows_of_chunk});
  report(text("rows.cross_entropy.", rows_of_chunk, "x", V), "weft_bfloat16",
         "gigabytes_per_second", (4 + 2) * 1e-9 * static_cast<double>(rows_of_chunk * V),
         seconds(device, [&] {
           ops::cross_entropy(device, logits, {}, labels, ops::ignore_nothing, 0.1f,
                              dlogits.target(), losses);
         }));
}

}  // namespace benchmark
