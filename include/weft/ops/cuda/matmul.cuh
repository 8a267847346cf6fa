// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Matrix products on a GPU, by cuBLASLt.
#pragma once

#include <optional>

#include <weft/core/any_floats.hpp>
#include <weft/core/bfloat16.hpp>
#include <weft/core/float16.hpp>
#include <weft/device/cuda.cuh>
#include <weft/ops/convert.hpp>
#include <weft/ops/factor.hpp>
#include <weft/ops/linear.hpp>
#include <weft/ops/matmul.hpp>
#include <weft/ops/rows.hpp>
#include <weft/tensor/tensor.hpp>

namespace weft::ops::detail {

using weft::detail::CublasEpilogue;

//! cuBLASLt's matrices are column-major: what lies as C (M, N) row by row is C' (N, M) to it, and
//! C' = op(B)' op(A)'.
inline weft::detail::CublasProduct in_columns(const Product& p) {
  return {.transpose_a = p.transpose_b,
          .transpose_b = p.transpose_a,
          .rows = p.N,
          .columns = p.M,
          .inner = p.K,
          .lda = p.ldb,
          .ldb = p.lda,
          .ldd = p.ldc};
}

//! The product of numbers of type T with an epilogue, unless cuBLASLt cannot do that.
//!
//! Factors that are not rounded yet are before: tensor cores read 16 bits that lie as such twice as
//! fast as floats. A bias is rounded to what the result is.
template <class T>
[[nodiscard]] bool multiply_as(Cuda& device, const Product& p, CublasEpilogue epilogue,
                               const float* vector) {
  // In the place of a factor that is rounded later: algorithms are chosen by how it is aligned, and
  // null is no worse than what the device will allocate.
  const AnyFloats<const void> aligned(static_cast<const T*>(nullptr));
  weft::detail::CublasOperands operands{p.b.type == aligned.type ? p.b : aligned,
                                        p.a.type == aligned.type ? p.a : aligned, p.c, epilogue,
                                        vector};
  Tensor<T, Cuda> bias;
  if (vector != nullptr && p.c.rounded()) {
    bias = Tensor<T, Cuda>(device, {p.N});
    operands.vector = bias.data();
  }
  if (vector != nullptr && !device.can_multiply(in_columns(p), operands)) return false;
  const Converted<T, Cuda> a(device, p.size_a(), p.a), b(device, p.size_b(), p.b);
  operands.a = b.data();
  operands.b = a.data();
  if (!bias.empty()) convert(device, p.N, vector, AnyFloats<void>(bias.data()));
  device.multiply(in_columns(p), operands, p.accumulate);
  return true;
}

//! The same in the precision of the factors, or of the device.
[[nodiscard]] inline bool multiply_with(Cuda& device, const Product& p, CublasEpilogue epilogue,
                                        const float* vector) {
  switch (p.factor_type_on(device)) {
    case FloatType::bfloat16:
      return multiply_as<Bfloat16>(device, p, epilogue, vector);
    case FloatType::float16:
      return multiply_as<Float16>(device, p, epilogue, vector);
    case FloatType::float32:
      break;
  }
  return multiply_as<float>(device, p, epilogue, vector);
}

//! Whether cuBLASLt writes the result: there is one, of sums, that is rounded to nothing else than
//! the factors.
inline bool is_one_product(const Cuda& device, const Product& p) {
  return p.M > 0 && p.N > 0 && p.K > 0 && (!p.c.rounded() || p.c.type == p.factor_type_on(device));
}

//! A product in two: of most of its rows, columns or terms, and of the last few.
struct ProductInParts {
  Product most, rest;
  bool by_rows;  //!< of the result
};

//! Cuts off what is left over of multiples of 16 bytes, along a line of a matrix in memory:
//! cuBLASLt has none of its kernels for Hopper for other extents, however the lines themselves are
//! aligned, and with 28,782 words an H200 took 2.7 times as long as with 28,776 and 6.
[[nodiscard]] inline std::optional<ProductInParts> in_parts(const Product& p) {
  constexpr index_t at_once = 8, least = 1024;  // of few the rest would cost as much as the kernel
  if (p.K == 0 || !p.a.rounded() || p.a.type != p.b.type) return std::nullopt;
  const auto left_over = [](index_t extent) { return extent >= least ? extent % at_once : 0; };
  ProductInParts parts{p, p, false};
  Product &most = parts.most, &rest = parts.rest;
  if (p.transpose_a && left_over(p.M) > 0) {
    parts.by_rows = true;
    rest.M = left_over(p.M);
    most.M -= rest.M;
    rest.a = p.a + most.M;
    rest.c = p.c + most.M * p.ldc;
  } else if (left_over(p.N) > 0) {
    rest.N = left_over(p.N);
    most.N -= rest.N;
    rest.b = p.b + (p.transpose_b ? most.N * p.ldb : most.N);
    rest.c = p.c + most.N;
    if (p.bias != nullptr) rest.bias = p.bias + most.N;
  } else if ((p.transpose_b || !p.transpose_a) && !p.c.rounded() && left_over(p.K) > 0) {
    rest.K = left_over(p.K);
    most.K -= rest.K;
    rest.a = p.a + (p.transpose_a ? most.K * p.lda : most.K);
    rest.b = p.b + (p.transpose_b ? most.K : most.K * p.ldb);
    rest.accumulate = true;
    rest.bias = nullptr;
  } else {
    return std::nullopt;
  }
  return parts;
}

//! The product over no rows, without what may lie between the result's.
inline void clear_result(Cuda& device, const Product& p) {
  const bool has_gaps = p.ldc != p.N;
  const index_t pieces = has_gaps ? p.M : 1, columns = has_gaps ? p.N : p.M * p.N;
  for (index_t piece = 0; piece < pieces; ++piece) {
    device.clear((p.c + piece * p.ldc).data, columns * size_of(p.c.type));
  }
}

inline void multiply(Cuda& device, const Product& p) {
  if (p.M == 0 || p.N == 0) return;
  if (const auto parts = in_parts(p)) {
    multiply(device, parts->most);
    return multiply(device, parts->rest);
  }
  if (p.K > 0 && !is_one_product(device, p)) return multiply_and_round(device, p);
  if (p.K > 0 && p.bias != nullptr && multiply_with(device, p, CublasEpilogue::bias, p.bias))
    return;
  if (p.K > 0) {
    (void)multiply_with(device, p, CublasEpilogue::none, nullptr);
  } else if (!p.accumulate) {
    clear_result(device, p);
  }
  if (p.bias != nullptr) device.for_rows(p.M, p.N, AddBiasRow{p.bias, p.c, p.N, p.ldc});
}

inline bool multiply_relu(Cuda& device, const Product& p) {
  return is_one_product(device, p) && p.bias != nullptr &&
         multiply_with(device, p, CublasEpilogue::bias_relu, p.bias);
}

//! Not where gradients are added: cuBLASLt replaces sums. Nor of floats, whose sums would be those
//! of numbers that tensor cores round. To cuBLASLt the layer's gradient is B.
inline bool multiply_and_sum(Cuda& device, const Product& p, float* sums) {
  if (const auto parts = in_parts(p); parts && parts->by_rows) {
    // The few rows first: where cuBLASLt refuses them, all is multiplied again.
    return multiply_and_sum(device, parts->rest, sums + parts->most.M) &&
           multiply_and_sum(device, parts->most, sums);
  }
  return is_one_product(device, p) && !p.accumulate &&
         p.factor_type_on(device) != FloatType::float32 &&
         multiply_with(device, p, CublasEpilogue::sums_of_b, sums);
}

}  // namespace weft::ops::detail
