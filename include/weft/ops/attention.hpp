// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Scaled dot-product attention over packed sequences, forward and backward.
#pragma once

#include <weft/ops/attention_problem.hpp>
#include <weft/ops/check_finite.hpp>
#include <weft/ops/cpu/attention.hpp>

namespace weft::ops {

//! For each sequence and head: out = dropout(softmax(scale q k' + mask)) v.
//!
//! The scores exist a tile at a time (64 queries by 128 keys), normalised as they come; nothing of
//! size T x T is ever in memory.
//!
//! **Shapes.** q, out: Nq rows of heads * head_size. k, v: Nk rows. log_sums: (Nq, heads), the
//! logarithm of the sum of the exponentials of each row of scores, kept for the backward pass.
//! **Errors.** ShapeError unless there are as many sequences of queries as of keys. A query whose
//! sequence has no keys gets zeros. On a GPU a `HeadSize` above 256 does not compile, and one that
//! is known later is a ShapeError.
//! **Source.** Vaswani et al. 2017, eq. 1; tiling as Dao et al., FlashAttention, 2022.
template <class D, class Head = AnyHeadSize>
void attention(D& device, const AttentionProblem<D>& problem, HeadRows<const float> q,
               HeadRows<const float> k, HeadRows<const float> v, HeadRows<float> out,
               float* log_sums, Head head = {}) {
  problem.check("attention");
  attention_forward(device, detail::AttentionForward<D>{problem, q, k, v, out, log_sums}, head);
  detail::expect_finite(device, "attention", "out", out.data, problem.query_layout->rows(),
                        problem.heads * problem.head_size, out.stride);
}

//! The gradients of `attention`; the probabilities are computed again from q, k and log_sums.
//!
//! **Shapes.** As `attention`; dq, dk and dv are replaced, and must not be q, k and v.
template <class D, class Head = AnyHeadSize>
void attention_backward(D& device, const AttentionProblem<D>& problem, HeadRows<const float> q,
                        HeadRows<const float> k, HeadRows<const float> v, HeadRows<const float> out,
                        const float* log_sums, HeadRows<const float> dout, HeadRows<float> dq,
                        HeadRows<float> dk, HeadRows<float> dv, Head head = {}) {
  problem.check("attention_backward");
  attention_backward(
      device, detail::AttentionBackward<D>{problem, q, k, v, out, log_sums, dout, dq, dk, dv},
      head);
  const auto expect_finite = [&](const char* result, const HeadRows<float>& rows,
                                 const SequenceLayout<D>* layout) {
    detail::expect_finite(device, "attention_backward", result, rows.data, layout->rows(),
                          problem.heads * problem.head_size, rows.stride);
  };
  expect_finite("dq", dq, problem.query_layout);
  expect_finite("dk", dk, problem.key_layout);
  expect_finite("dv", dv, problem.key_layout);
}

}  // namespace weft::ops
