// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What an attention is asked to do: its sizes, its masks, and where its rows lie.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/ops/dropout.hpp>
#include <weft/tensor/sequences.hpp>

namespace weft::ops {

//! The rows of queries, keys or values inside a wider array: row n of head h begins at
//! `data + n * stride + h * head_size`. One product makes all three, and nothing is copied apart.
template <class T>
struct HeadRows {
  T* data = nullptr;   //!< the first row's first head
  index_t stride = 0;  //!< elements from row to row
};

//! The sizes and masks of an attention.
template <class D>
struct AttentionProblem {
  index_t heads;                          //!< H
  index_t head_size;                      //!< channels of a head
  bool causal;                            //!< query t sees keys 0 to t
  float scale;                            //!< of the scores: 1 / sqrt(head_size)
  const SequenceLayout<D>* query_layout;  //!< Nq rows
  const SequenceLayout<D>* key_layout;    //!< Nk rows; sequence b attends to sequence b
  DropoutMask dropout;  //!< of the probabilities; head h uses the operation `operation + h`

  //! **Errors.** ShapeError, which begins with `name`, unless queries and keys have as many
  //! sequences.
  void check(const char* name) const {
    if (query_layout->sequences() != key_layout->sequences()) {
      throw ShapeError(text(name, ": ", query_layout->sequences(), " sequences of queries and ",
                            key_layout->sequences(), " of keys"));
    }
  }
};

//! A head size that is known when the program runs.
struct AnyHeadSize {};

//! One that is known when it is compiled, so that a GPU gets its kernels alone.
template <index_t N>
struct HeadSize : AnyHeadSize {};

namespace detail {

//! The arguments of `attention`, by which a device's own kernel is found.
template <class D>
struct AttentionForward {
  AttentionProblem<D> problem;
  HeadRows<const float> q, k, v;
  HeadRows<float> out;
  float* log_sums;
};

//! Those of `attention_backward`.
template <class D>
struct AttentionBackward {
  AttentionProblem<D> problem;
  HeadRows<const float> q, k, v, out;
  const float* log_sums;
  HeadRows<const float> dout;
  HeadRows<float> dq, dk, dv;
};

}  // namespace detail

}  // namespace weft::ops
