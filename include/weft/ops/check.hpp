// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The checks of shapes that operations share.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/shape.hpp>
#include <weft/tensor/any_view.hpp>
#include <weft/tensor/view.hpp>

namespace weft::ops::detail {

//! **Errors.** ShapeError naming the operation and the argument unless the shapes are equal.
inline void expect_shape(const char* operation, const char* argument, const Shape& is,
                         const Shape& should, Place where = Place::here()) {
  if (is == should) return;
  throw ShapeError(text(operation, ": ", argument, " is ", is, ", should be ", should), where);
}

//! **Errors.** ShapeError if something lies between the rows, which the operation does not expect.
template <class Void>
void expect_no_gaps(const char* operation, const char* argument, const AnyView<Void>& is,
                    Place where = Place::here()) {
  if (!is.has_gaps()) return;
  throw ShapeError(text(operation, ": ", argument, " is ", is.shape, " with rows that are ",
                        is.stride, " elements apart, should have none between them"),
                   where);
}

//! The same for floats or rounded numbers, which have no gaps between their rows either.
template <class Void>
void expect_shape(const char* operation, const char* argument, const AnyView<Void>& is,
                  const Shape& should, Place where = Place::here()) {
  expect_shape(operation, argument, is.shape, should, where);
  expect_no_gaps(operation, argument, is, where);
}

//! The same for an argument that may be left out: a view of nothing fits everything.
template <class T>
void expect_shape_if_given(const char* operation, const char* argument, const View<T>& is,
                           const Shape& should, Place where = Place::here()) {
  if (is.data != nullptr) expect_shape(operation, argument, is.shape, should, where);
}

}  // namespace weft::ops::detail
