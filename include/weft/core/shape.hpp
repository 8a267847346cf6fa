// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The extents of a dense, row-major array.
#pragma once

#include <array>
#include <initializer_list>
#include <string>

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>

namespace weft {

//! Up to four extents, slowest first. A shape without extents is that of a single number.
class Shape {
 public:
  static constexpr int max_rank = 4;  //!< extents at most

  constexpr Shape() = default;

  //! **Errors.** ShapeError for more than four extents, a negative one, or 2^56 elements and more,
  //! where an extent of 0 counts as 1.
  constexpr Shape(std::initializer_list<index_t> extents) {
    if (extents.size() > max_rank) throw ShapeError(text("Shape: rank ", extents.size(), " > 4"));
    rank_ = static_cast<int>(extents.size());
    std::size_t at = max_rank - extents.size();
    for (const index_t extent : extents) {
      if (extent < 0) throw ShapeError(text("Shape: extent ", extent, " is negative"));
      extents_[at++] = extent;
    }
    expect_size();
  }

  //! How many extents there are.
  [[nodiscard]] constexpr int rank() const { return rank_; }

  //! The extent of an axis, from 0 to rank() - 1.
  [[nodiscard]] constexpr index_t operator[](int axis) const {
    return extents_[static_cast<std::size_t>(max_rank - rank_ + axis)];
  }

  //! The number of elements: the product of the extents.
  [[nodiscard]] constexpr index_t size() const { return rows() * columns(); }

  //! The last extent, C of an array (..., C); 1 for a single number.
  [[nodiscard]] constexpr index_t columns() const { return extents_[max_rank - 1]; }

  //! The product of all extents but the last: N of an array seen as (N, C).
  [[nodiscard]] constexpr index_t rows() const { return extents_[0] * extents_[1] * extents_[2]; }

  //! The same shape with another first extent.
  //!
  //! **Errors.** ShapeError for a single number, which has none, and for 2^56 elements and more.
  [[nodiscard]] constexpr Shape with_first(index_t extent) const {
    if (rank_ == 0) throw ShapeError("with_first: a single number has no extents");
    Shape shape = *this;
    shape.extents_[static_cast<std::size_t>(max_rank - rank_)] = extent;
    shape.expect_size();
    return shape;
  }

  friend constexpr bool operator==(const Shape&, const Shape&) = default;

  friend std::string to_text(const Shape& shape) {
    std::string out = "(";
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (axis > 0) out += ", ";
      out += std::to_string(shape[axis]);
    }
    return out + ")";
  }

 private:
  //! So many that nobody's memory holds them; their number of bytes would not overflow yet.
  static constexpr double too_many = 0x1p56;

  constexpr void expect_size() const {
    double elements = 1.0;  // which does not overflow
    // Beside an extent of 0 the others alone may be too many.
    for (const index_t extent : extents_) elements *= static_cast<double>(extent > 0 ? extent : 1);
    if (elements >= too_many) refuse();
  }
  [[noreturn]] void refuse() const {
    throw ShapeError(text("Shape: ", to_text(*this), " has more elements than memory holds"));
  }

  std::array<index_t, max_rank> extents_{1, 1, 1, 1};
  int rank_ = 0;
};

}  // namespace weft
