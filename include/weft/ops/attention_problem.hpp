// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What an attention is asked to do: its sizes, its masks, and where its rows lie.
#pragma once

#include <concepts>
#include <initializer_list>
#include <limits>
#include <type_traits>

#include <weft/core/any_floats.hpp>
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

//! The same of floats or rounded numbers. `Void` is `const void` where they are only read.
//!
//! Several heads of queries may share one of keys and of values (Ainslie et al. 2023, grouped-query
//! attention): that of head h then begins at `data + n * stride + h / sharing * head_size`.
template <class Void>
struct AnyHeadRows {
  AnyFloats<Void> data;  //!< the first row's first head
  index_t stride = 0;    //!< elements from row to row
  int sharing = 1;       //!< how many heads of queries share one of these

  AnyHeadRows() = default;
  //! Rows that are so many elements apart.
  constexpr AnyHeadRows(AnyFloats<Void> first, index_t elements, int shared_by = 1)
      : data(first), stride(elements), sharing(shared_by) {}
  //! Rows of floats.
  template <class T>
  requires std::constructible_from<AnyFloats<Void>, T*> constexpr AnyHeadRows(HeadRows<T> rows)
      : data(rows.data), stride(rows.stride) {}
  //! What may be written may also be read.
  template <class Other>
  requires(std::is_const_v<Void> &&
           !std::is_const_v<Other>) constexpr AnyHeadRows(AnyHeadRows<Other> rows)
      : data(rows.data), stride(rows.stride), sharing(rows.sharing) {}
};

//! The sizes and masks of an attention.
template <class D>
struct AttentionProblem {
  index_t heads;                          //!< H
  index_t head_size;                      //!< channels of a head
  bool causal;                            //!< query t sees keys 0 to t
  float scale;                            //!< of the scores: 1 / sqrt(head_size); above 0
  const SequenceLayout<D>* query_layout;  //!< Nq rows
  const SequenceLayout<D>* key_layout;    //!< Nk rows; sequence b attends to sequence b
  DropoutMask dropout;  //!< of the probabilities; head h uses the operation `operation + h`

  //! **Errors.** ShapeError, which begins with `name`, unless queries and keys have as many
  //! sequences, heads have channels, and as many heads of queries share each of keys and of values;
  //! ArgumentError unless the scale is above 0: the largest score is then that of the largest
  //! product.
  void check(const char* name, int sharing_keys = 1, int sharing_values = 1) const {
    if (query_layout->sequences() != key_layout->sequences()) {
      throw ShapeError(text(name, ": ", query_layout->sequences(), " sequences of queries and ",
                            key_layout->sequences(), " of keys"));
    }
    if (head_size < 1) throw ShapeError(text(name, ": heads of ", head_size, " channels"));
    if (sharing_keys != sharing_values || sharing_keys < 1 || heads % sharing_keys != 0) {
      throw ShapeError(text(name, ": of ", heads, " heads of queries ", sharing_keys,
                            " share one of keys, and ", sharing_values, " one of values"));
    }
    if (!(scale > 0.0f)) throw ArgumentError(text(name, ": a scale of ", scale, "; not above 0"));
  }
};

//! A head size that is known when the program runs.
struct AnyHeadSize {
  static constexpr index_t most_channels = std::numeric_limits<index_t>::max();  //!< of a head
};

//! One that is known when it is compiled, so that a GPU gets its kernels alone.
template <index_t N>
struct HeadSize : AnyHeadSize {
  static constexpr index_t most_channels = N;  //!< of a head
};

namespace detail {

//! The arguments of `attention`, by which a device's own kernel is found.
template <class D>
struct AttentionForward {
  AttentionProblem<D> problem;
  AnyHeadRows<const void> q, k, v;
  AnyHeadRows<void> out;
  float* log_sums;
};

//! Those of `attention_backward`.
template <class D>
struct AttentionBackward {
  AttentionProblem<D> problem;
  AnyHeadRows<const void> q, k, v, out;
  const float* log_sums;
  AnyHeadRows<const void> dout;
  AnyHeadRows<void> dq, dk, dv;
};

//! **Errors.** ShapeError, which begins with `name`, if heads of queries share something: they have
//! rows of their own.
inline void expect_own_heads(const char* name,
                             std::initializer_list<AnyHeadRows<const void>> of_queries) {
  for (const AnyHeadRows<const void>& rows : of_queries) {
    if (rows.sharing == 1) continue;
    throw ShapeError(text(name, ": ", rows.sharing, " heads of queries share one of their rows"));
  }
}

//! **Errors.** Error, which begins with `name`, unless all rows are numbers of the same type, and
//! that is float or `rounded`, what the device's attention multiplies.
inline void expect_row_types(const char* name, FloatType rounded,
                             std::initializer_list<AnyHeadRows<const void>> all) {
  const FloatType type = all.begin()->data.type;
  for (const AnyHeadRows<const void>& rows : all) {
    if (rows.data.type == type && (type == FloatType::float32 || type == rounded)) continue;
    throw Error(text(name, ": rows of ", type, " and ", rows.data.type, " on a device that takes ",
                     "float32", rounded == FloatType::float32 ? "" : text(" or ", rounded),
                     ": all rows must be of one type"));
  }
}

}  // namespace detail

}  // namespace weft::ops
