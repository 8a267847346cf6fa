// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Products of floats by oneDNN, of which a row has the same bits among any others.
#pragma once

#include <dnnl.h>

#include <algorithm>
#include <cstring>

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/device/cpu.hpp>
#include <weft/device/hold_signals.hpp>
#include <weft/ops/cpu/one_openmp_thread.hpp>
#include <weft/ops/cpu/product.hpp>
#include <weft/ops/cpu/summed.hpp>
#include <weft/tensor/tensor.hpp>

namespace weft::ops::detail {

//! C (rows, columns) = op(A) op(B) + beta C, whose rows lie `lda`, `ldb` and `ldc` apart.
struct OnednnCall {
  bool transpose_a, transpose_b;
  index_t rows, columns, K;
  const float* a;
  index_t lda;
  const float* b;
  index_t ldb;
  float* c;
  index_t ldc;
  bool accumulate;

  OnednnCall(const Product& p, ProductPart part)
      : transpose_a(p.transpose_a),
        transpose_b(p.transpose_b),
        rows(part.rows()),
        columns(part.columns()),
        K(p.K),
        a(p.a.floats() + part.in_a(p)),
        lda(p.lda),
        b(p.b.floats() + part.in_b(p)),
        ldb(p.ldb),
        c(p.c.floats() + part.in_c(p)),
        ldc(p.N),
        accumulate(p.accumulate) {}

  void operator()() const {
    const OneOpenMpThread no_other_threads;
    // oneDNN's kernels use the stack's register for an address in the heap, up to 3.11: a handler
    // that runs meanwhile overwrites what is there (github.com/uxlfoundation/oneDNN/issues/4845).
    const HoldSignals no_handler_runs;
    const dnnl_status_t status =
        dnnl_sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', rows, columns, K, 1.0f, a, lda,
                   b, ldb, accumulate ? 1.0f : 0.0f, c, ldc);
    if (status != dnnl_success) {
      throw Error(text("matmul: oneDNN failed with status ", static_cast<int>(status),
                       " for M=", rows, " N=", columns, " K=", K));
    }
  }
};

//! Whether oneDNN uses AVX-512 here.
inline bool onednn_has_avx512() {
  static const bool has =
      (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core;
  return has;
}

inline void copy_rows(index_t rows, index_t columns, const float* from, index_t from_stride,
                      float* to, index_t to_stride) {
  for (index_t i = 0; i < rows; ++i) {
    std::memcpy(to + i * to_stride, from + i * from_stride,
                static_cast<std::size_t>(columns) * sizeof(float));
  }
}

//! Multiplies so many rows, those that are missing of zeros.
template <class Multiply>
void with_zeros(Cpu& device, const OnednnCall& wanted, index_t rows, const Multiply& multiply) {
  OnednnCall call = wanted;
  call.rows = rows;
  call.lda = call.transpose_a ? rows : call.K;
  call.ldc = call.columns;
  const Tensor<float> a(device, {rows, call.K}), c(device, {rows, call.columns});
  std::fill_n(a.data(), a.size(), 0.0f);
  if (call.transpose_a) {
    copy_rows(call.K, wanted.rows, wanted.a, wanted.lda, a.data(), call.lda);
  } else {
    copy_rows(wanted.rows, call.K, wanted.a, wanted.lda, a.data(), call.lda);
  }
  if (call.accumulate) {
    std::fill_n(c.data(), c.size(), 0.0f);
    copy_rows(wanted.rows, wanted.columns, wanted.c, wanted.ldc, c.data(), call.ldc);
  }
  call.a = a.data();
  call.c = c.data();
  multiply(call);
  copy_rows(wanted.rows, wanted.columns, c.data(), call.ldc, wanted.c, wanted.ldc);
}

//! A call for each part of the sums. Left to itself oneDNN cuts those of more than 768 products by
//! a rule that depends on its version and on the columns. It takes 0 to 5 % more time.
inline void call_for_each_sum(OnednnCall call) {
  const index_t K = call.K, step = summed_at_a_time(K);
  for (index_t k = 0; k < K; k += step) {
    call.K = std::min(step, K - k);
    call();
    call.a += call.transpose_a ? call.K * call.lda : call.K;
    call.b += call.transpose_b ? call.K : call.K * call.ldb;
    call.accumulate = true;
  }
}

//! With AVX-512 oneDNN has another order of sums for a single row or column, and for fewer than 16
//! rows by a transposed matrix. Rows of two and more columns that are called for each sum, among
//! that many, have the bits of weft's own kernels (found by comparing them with oneDNN 2.6, 3.7,
//! 3.12 and 3.13, K from 7 to 4,097).
inline void call_with_avx512(Cpu& device, const OnednnCall& call) {
  const index_t fewest_rows = call.transpose_b ? 16 : 2;
  if (call.rows < fewest_rows) {
    with_zeros(device, call, fewest_rows, call_for_each_sum);
  } else {
    call_for_each_sum(call);
  }
}

//! Without, it takes rows by sixes, and has another order of sums for those left over and for
//! larger products. Up to 72 rows in whole sixes all have the same (found by comparing bits with
//! oneDNN 2.6 on AVX2, 6 to 96 rows, K from 300 to 2,048).
inline void call_without_avx512(Cpu& device, const Product& p, ProductPart part) {
  constexpr index_t most_rows = 72, rows_of_a_kernel = 6;
  for (ProductPart piece = part; piece.row_begin < part.row_end; piece.row_begin = piece.row_end) {
    piece.row_end = std::min(piece.row_begin + most_rows, part.row_end);
    const OnednnCall call(p, piece);
    const index_t kernels = (call.rows + rows_of_a_kernel - 1) / rows_of_a_kernel;
    if (call.rows == kernels * rows_of_a_kernel) {
      call();
    } else {
      with_zeros(device, call, kernels * rows_of_a_kernel, [](const OnednnCall& more) { more(); });
    }
  }
}

//! A part of a product by oneDNN.
inline void multiply_by_onednn(Cpu& device, const Product& p, ProductPart part) {
  if (onednn_has_avx512()) {
    call_with_avx512(device, OnednnCall(p, part));
  } else {
    call_without_avx512(device, p, part);
  }
}

}  // namespace weft::ops::detail
