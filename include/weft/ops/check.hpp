// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The checks of shapes that operations share.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/shape.hpp>

namespace weft::ops::detail {

//! **Errors.** ShapeError naming the operation and the argument unless the shapes are equal.
inline void expect_shape(const char* operation, const char* argument, const Shape& is,
                         const Shape& should, Place where = Place::here()) {
  if (is == should) return;
  throw ShapeError(text(operation, ": ", argument, " is ", is, ", should be ", should), where);
}

}  // namespace weft::ops::detail
