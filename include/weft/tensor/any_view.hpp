// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A dense array of floats or rounded numbers that somebody else owns.
#pragma once

#include <concepts>
#include <type_traits>

#include <weft/core/any_floats.hpp>
#include <weft/core/index.hpp>
#include <weft/core/shape.hpp>
#include <weft/tensor/view.hpp>

namespace weft {

//! Points to the first of `shape.size()` floats, or numbers that were rounded, row-major. Views and
//! tensors of floats become one by themselves. Its rows may lie further apart than they are long:
//! products of a GPU are slow where rows do not begin at multiples of 16 bytes.
//!
//! `Void` is `const void` where the numbers are only read.
template <class Void>
struct AnyView {
  //! T, or const T where the numbers are only read.
  template <class T>
  using Number = typename AnyFloats<Void>::template Number<T>;

  AnyFloats<Void> numbers;  //!< the first element
  Shape shape;              //!< the extents
  index_t stride = 0;       //!< elements from row to row

  constexpr AnyView() = default;
  //! Numbers of a type that is known when the program runs, without gaps.
  constexpr AnyView(AnyFloats<Void> first, Shape extents)
      : AnyView(first, extents, extents.columns()) {}
  //! The same with rows that lie `apart` elements apart.
  constexpr AnyView(AnyFloats<Void> first, Shape extents, index_t apart)
      : numbers(first), shape(extents), stride(apart) {}
  //! Floats.
  template <class Floats>
  requires std::convertible_to<const Floats&, View<Number<float>>>
  constexpr AnyView(const Floats& values) : AnyView(View<Number<float>>(values)) {}
  //! Numbers of this type.
  template <class T>
  requires std::constructible_from<AnyFloats<Void>, T*> constexpr AnyView(View<T> values)
      : AnyView(AnyFloats<Void>(values.data), values.shape) {}
  //! What may be written may also be read.
  template <class Other>
  requires(std::is_const_v<Void> && !std::is_const_v<Other>) constexpr AnyView(AnyView<Other> view)
      : AnyView(view.numbers, view.shape, view.stride) {}

  //! N of the array seen as (N, C).
  [[nodiscard]] constexpr index_t rows() const { return shape.rows(); }
  //! C, the last extent.
  [[nodiscard]] constexpr index_t columns() const { return shape.columns(); }

  //! Whether something lies between its rows.
  [[nodiscard]] constexpr bool has_gaps() const { return stride != columns() && rows() > 1; }

  //! The elements from `first` on, as an array of these extents.
  [[nodiscard]] AnyView part(index_t first, Shape extents) const {
    return {numbers + first, extents};
  }
};

}  // namespace weft
