// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Matrix products on a GPU, by cuBLASLt.
#pragma once

#include <weft/device/cuda.cuh>
#include <weft/ops/matmul.hpp>

namespace weft::ops::detail {

//! cuBLASLt's matrices are column-major: what lies as C (M, N) row by row is C' (N, M) to it, and
//! C' = op(B)' op(A)'.
inline void multiply(Cuda& device, const Product& p) {
  if (p.M == 0 || p.N == 0) return;
  if (p.K == 0) {
    if (!p.accumulate) device.clear(p.c, p.M * p.N * index_t{sizeof(float)});
    return;
  }
  device.multiply({.transpose_a = p.transpose_b,
                   .transpose_b = p.transpose_a,
                   .rows = p.N,
                   .columns = p.M,
                   .inner = p.K,
                   .lda = p.transpose_b ? p.K : p.N,
                   .ldb = p.transpose_a ? p.M : p.K,
                   .ldd = p.N},
                  p.b, p.a, p.c, p.accumulate);
}

}  // namespace weft::ops::detail
