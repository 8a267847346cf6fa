// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A dense array that somebody else owns.
#pragma once

#include <concepts>
#include <type_traits>

#include <weft/core/host_device.hpp>
#include <weft/core/index.hpp>
#include <weft/core/shape.hpp>

namespace weft {

//! Points to the first of `shape.size()` elements, row-major and without gaps.
//!
//! Operations take views: of tensors, of parameters in the contiguous buffer, of slices of either.
template <class T>
struct View {
  T* data = nullptr;  //!< the first element
  Shape shape;        //!< the extents

  constexpr View() = default;
  //! A view of the elements from `first` on.
  constexpr View(T* first, Shape extents) : data(first), shape(extents) {}

  //! A view of elements that may change is also one of elements that may not.
  template <class U>
    requires std::same_as<T, const U>
  constexpr View(View<U> other) : data(other.data), shape(other.shape) {}

  //! How many elements it has.
  [[nodiscard]] constexpr index_t size() const { return shape.size(); }
  //! N of the array seen as (N, C).
  [[nodiscard]] constexpr index_t rows() const { return shape.rows(); }
  //! C, the last extent.
  [[nodiscard]] constexpr index_t columns() const { return shape.columns(); }

  //! The first element of row n of the view as (rows, columns).
  [[nodiscard]] constexpr T* row(index_t n) const { return data + n * columns(); }
};

}  // namespace weft
