// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Products of floats by oneDNN, of which a row has the same bits among any others.
#pragma once

#include <dnnl.h>
#include <omp.h>

#include <algorithm>
#include <cstring>

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/device/cpu.hpp>
#include <weft/device/hold_signals.hpp>
#include <weft/ops/cpu/product.hpp>
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
    // oneDNN's own threads: none. The setting belongs to the calling thread.
    thread_local const bool single_threaded = (omp_set_num_threads(1), true);
    (void)single_threaded;
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

//! Without AVX-512, oneDNN takes rows by sixes, and has another order of sums for those left over
//! and for larger products. Up to 72 rows in whole sixes all have the same (found by comparing bits
//! with oneDNN 2.6 on AVX2, 6 to 96 rows, K from 300 to 2,048).
inline constexpr index_t rows_of_a_call = 72;
inline constexpr index_t rows_of_a_kernel = 6;

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

//! The same with more rows, of zeros, up to whole sixes.
inline void call_with_zeros(Cpu& device, const OnednnCall& wanted) {
  OnednnCall call = wanted;
  call.rows = (wanted.rows + rows_of_a_kernel - 1) / rows_of_a_kernel * rows_of_a_kernel;
  call.lda = call.transpose_a ? call.rows : call.K;
  call.ldc = call.columns;
  const Tensor<float> a(device, {call.rows, call.K}), c(device, {call.rows, call.columns});
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
  call();
  copy_rows(wanted.rows, wanted.columns, c.data(), call.ldc, wanted.c, wanted.ldc);
}

//! A part of a product by oneDNN.
inline void multiply_by_onednn(Cpu& device, const Product& p, ProductPart part) {
  if (onednn_has_avx512()) return OnednnCall(p, part)();
  for (ProductPart piece = part; piece.row_begin < part.row_end; piece.row_begin = piece.row_end) {
    piece.row_end = std::min(piece.row_begin + rows_of_a_call, part.row_end);
    const OnednnCall call(p, piece);
    if (call.rows % rows_of_a_kernel == 0) {
      call();
    } else {
      call_with_zeros(device, call);
    }
  }
}

}  // namespace weft::ops::detail
