// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Scaled dot-product attention over packed sequences, forward and backward.
#pragma once

#include <weft/ops/attention_problem.hpp>
#include <weft/ops/check_finite.hpp>
#include <weft/ops/cpu/attention.hpp>
#include <weft/ops/factor.hpp>

namespace weft::ops {

//! For each sequence and head: out = dropout(softmax(scale q k' + mask)) v.
//!
//! The scores exist a tile at a time (on a processor 64 queries by 128 keys), normalised as they
//! come; nothing of size T x T is ever in memory.
//!
//! **Shapes.** q, out: Nq rows of heads * head_size. k, v: Nk rows. log_sums: (Nq, heads), the
//! logarithm of the sum of the exponentials of each row of scores, kept for the backward pass. Rows
//! are floats; on a GPU they may be what its products round to (`result_type`).
//! **Errors.** Error if rows are of several types, or of one that the device does not take.
//! ShapeError unless there are as many sequences of queries as of keys, and heads have channels. A
//! query whose sequence has no keys gets zeros. On a GPU a `HeadSize` above 256 does not compile,
//! and one that is known later is a ShapeError; a scale that is not above 0 is an ArgumentError.
//! **Source.** Vaswani et al. 2017, eq. 1; tiling as Dao et al., FlashAttention, 2022.
template <class D, class Head = AnyHeadSize>
void attention(D& device, const AttentionProblem<D>& problem, AnyHeadRows<const void> q,
               AnyHeadRows<const void> k, AnyHeadRows<const void> v, AnyHeadRows<void> out,
               float* log_sums, Head head = {}) {
  problem.check("attention");
  detail::expect_row_types("attention", result_type(device), {q, k, v, out});
  attention_forward(device, detail::AttentionForward<D>{problem, q, k, v, out, log_sums}, head);
  detail::expect_finite(device, "attention", "out", out.data, problem.query_layout->rows(),
                        problem.heads * problem.head_size, out.stride);
}

//! The gradients of `attention`; the probabilities are computed again from q, k and log_sums.
//!
//! **Shapes.** As `attention`; dq, dk and dv are replaced, and must not be q, k and v.
template <class D, class Head = AnyHeadSize>
void attention_backward(D& device, const AttentionProblem<D>& problem, AnyHeadRows<const void> q,
                        AnyHeadRows<const void> k, AnyHeadRows<const void> v,
                        AnyHeadRows<const void> out, const float* log_sums,
                        AnyHeadRows<const void> dout, AnyHeadRows<void> dq, AnyHeadRows<void> dk,
                        AnyHeadRows<void> dv, Head head = {}) {
  problem.check("attention_backward");
  detail::expect_row_types("attention_backward", result_type(device),
                           {q, k, v, out, dout, dq, dk, dv});
  attention_backward(
      device, detail::AttentionBackward<D>{problem, q, k, v, out, log_sums, dout, dq, dk, dv},
      head);
  const auto expect_finite = [&](const char* result, const AnyHeadRows<void>& rows,
                                 const SequenceLayout<D>* layout) {
    detail::expect_finite(device, "attention_backward", result, rows.data, layout->rows(),
                          problem.heads * problem.head_size, rows.stride);
  };
  expect_finite("dq", dq, problem.query_layout);
  expect_finite("dk", dk, problem.key_layout);
  expect_finite("dv", dv, problem.key_layout);
}

}  // namespace weft::ops
