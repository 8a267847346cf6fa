// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Scaled dot-product attention over packed sequences, forward and backward.
#pragma once

#include <weft/core/any_floats.hpp>
#include <weft/core/error.hpp>
#include <weft/core/host_device.hpp>
#include <weft/core/index.hpp>
#include <weft/core/simd.hpp>
#include <weft/ops/attention_problem.hpp>
#include <weft/ops/check_finite.hpp>
#include <weft/ops/cpu/attention.hpp>
#include <weft/ops/factor.hpp>

namespace weft::ops {

namespace detail {

//! The gradient of a head that several heads of queries share: the sum of those that each of them
//! has found, in their order.
struct SharedHeadsRow {
  AnyFloats<const void> found;
  index_t found_stride, head_size, heads;  // that share others
  AnyHeadRows<void> gradients;

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t n) const {
    const AnyFloats<void> row = gradients.data + n * gradients.stride;
    for (index_t head = 0; head < heads; head += gradients.sharing) {
      const AnyFloats<const void> first = found + (n * found_stride + head * head_size);
      lanes.write(head_size, row + head / gradients.sharing * head_size, [&](auto c) {
        auto sum = simd::load(first, c);
        for (index_t other = 1; other < gradients.sharing; ++other) {
          sum += simd::load(first + other * head_size, c);
        }
        return sum;
      });
    }
  }
};

}  // namespace detail

//! For each sequence and head: out = dropout(softmax(scale q k' + mask)) v.
//!
//! The scores exist a tile at a time (on a processor 64 queries by 128 keys), normalised as they
//! come; nothing of size T x T is ever in memory.
//!
//! **Shapes.** q, out: Nq rows of heads * head_size. k, v: Nk rows, of fewer heads if `sharing`
//! says so. log_sums: (Nq, heads), the logarithm of the sum of the exponentials of each row of
//! scores, kept for the backward pass. Rows are floats; on a GPU they may be what its products
//! round to
//! (`result_type`).
//! **Errors.** Error if rows are of several types, or of one that the device does not take.
//! ShapeError unless there are as many sequences of queries as of keys, heads have channels, and as
//! many share each head of k as of v, without a rest. A
//! query whose sequence has no keys gets zeros. On a GPU a `HeadSize` above 256 does not compile,
//! and one that is known later is a ShapeError; a scale that is not above 0 is an ArgumentError.
//! **Source.** Vaswani et al. 2017, eq. 1; tiling as Dao et al., FlashAttention, 2022.
template <class D, class Head = AnyHeadSize>
void attention(D& device, const AttentionProblem<D>& problem, AnyHeadRows<const void> q,
               AnyHeadRows<const void> k, AnyHeadRows<const void> v, AnyHeadRows<void> out,
               float* log_sums, Head head = {}) {
  problem.check("attention", k.sharing, v.sharing);
  detail::expect_own_heads("attention", {q, out});
  detail::expect_row_types("attention", result_type(device), {q, k, v, out});
  attention_forward(device, detail::AttentionForward<D>{problem, q, k, v, out, log_sums}, head);
  detail::expect_finite(device, "attention", "out", out.data, problem.query_layout->rows(),
                        problem.heads * problem.head_size, out.stride);
}

//! The gradients of `attention`; the probabilities are computed again from q, k and log_sums.
//!
//! **Shapes.** As `attention`; dq, dk and dv are replaced, and must not be q, k and v. As many
//! heads of queries share one of dk and dv as of k and v.
//! **Errors.** As `attention`, and ShapeError unless dk and dv are shared so.
//! **Memory.** Where heads are shared, gradients of keys and values for each head of queries.
template <class D, class Head = AnyHeadSize>
void attention_backward(D& device, const AttentionProblem<D>& problem, AnyHeadRows<const void> q,
                        AnyHeadRows<const void> k, AnyHeadRows<const void> v,
                        AnyHeadRows<const void> out, const float* log_sums,
                        AnyHeadRows<const void> dout, AnyHeadRows<void> dq, AnyHeadRows<void> dk,
                        AnyHeadRows<void> dv, Head head = {}) {
  problem.check("attention_backward", k.sharing, v.sharing);
  problem.check("attention_backward", dk.sharing, dv.sharing);
  if (dk.sharing != k.sharing) {
    throw ShapeError(text("attention_backward: of ", problem.heads, " heads of queries ", k.sharing,
                          " share one of keys, and ", dk.sharing, " one of their gradients"));
  }
  detail::expect_own_heads("attention_backward", {q, out, dout, dq});
  detail::expect_row_types("attention_backward", result_type(device),
                           {q, k, v, out, dout, dq, dk, dv});
  const auto find = [&](const AnyHeadRows<void>& dk_found, const AnyHeadRows<void>& dv_found) {
    attention_backward(
        device,
        detail::AttentionBackward<D>{problem, q, k, v, out, log_sums, dout, dq, dk_found, dv_found},
        head);
  };
  if (dk.sharing == 1) {
    find(dk, dv);
  } else {
    const index_t rows = problem.key_layout->rows(), C = problem.heads * problem.head_size;
    const Factor<D> found(device, {rows, 2 * C}, dk.data.type);
    const AnyFloats<void> numbers = found.target().numbers;
    find({numbers, 2 * C}, {numbers + C, 2 * C});
    const auto add = [&](AnyFloats<const void> of_heads, const AnyHeadRows<void>& gradients) {
      device.for_rows(
          rows, C,
          detail::SharedHeadsRow{of_heads, 2 * C, problem.head_size, problem.heads, gradients});
    };
    add(numbers, dk);
    add(numbers + C, dv);
  }
  const auto expect_finite = [&](const char* result, const AnyHeadRows<void>& rows,
                                 const SequenceLayout<D>* layout) {
    detail::expect_finite(device, "attention_backward", result, rows.data, layout->rows(),
                          problem.heads / rows.sharing * problem.head_size, rows.stride);
  };
  expect_finite("dq", dq, problem.query_layout);
  expect_finite("dk", dk, problem.key_layout);
  expect_finite("dv", dv, problem.key_layout);
}

}  // namespace weft::ops
