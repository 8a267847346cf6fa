// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Finding the operation that makes the first number that is not finite.
//!
//!     const ops::CheckFinite checked;  // as long as it lives
//!     strategy.step(batch, rate);      // NotFiniteError: "encoder.layers.0: softmax: y has nan
//!     ..."
#pragma once

#include <atomic>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <weft/core/any_floats.hpp>
#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/tensor/any_view.hpp>

namespace weft::ops {

//! An operation wrote a number that is not finite.
class NotFiniteError : public Error {
 public:
  //! The message, what `parameter` returns, and the place that throws.
  NotFiniteError(const std::string& message, index_t parameter, Place where = Place::here())
      : Error(message, where), parameter_(parameter) {}

  //! The offset of the parameter's values that was asked for last before it: it is one of the
  //! module that was at work. -1 for none.
  [[nodiscard]] index_t parameter() const noexcept { return parameter_; }

 private:
  index_t parameter_;
};

namespace detail {

inline std::atomic<int> finite_checks{0};
inline constinit thread_local index_t parameter_at_work = -1;

}  // namespace detail

//! While one lives, every operation of the process looks at what it wrote, and throws
//! NotFiniteError. What it costs is a pass over each result, on a GPU also its way to the host.
class CheckFinite {
 public:
  CheckFinite() { ++detail::finite_checks; }
  ~CheckFinite() { --detail::finite_checks; }
  CheckFinite(const CheckFinite&) = delete;
  CheckFinite& operator=(const CheckFinite&) = delete;

  //! Whether one lives.
  [[nodiscard]] static bool on() {
    return detail::finite_checks.load(std::memory_order_relaxed) > 0;
  }

  //! What comes next on this thread is the work of the module that has the parameter whose values
  //! begin at this offset; -1: of none.
  static void at(index_t parameter) { detail::parameter_at_work = parameter; }
};

namespace detail {

//! **Errors.** NotFiniteError unless all elements are finite. `x` points to rows of `columns`
//! elements, `stride` apart.
[[gnu::cold, gnu::noinline]] inline void look_for_not_finite(const char* operation,
                                                             const char* result,
                                                             AnyFloats<const void> x, index_t rows,
                                                             index_t columns, index_t stride) {
  for (index_t n = 0; n < rows; ++n) {
    for (index_t c = 0; c < columns; ++c) {
      const float value = simd::load(x, n * stride + c);
      if (std::isfinite(value)) continue;
      throw NotFiniteError(text(operation, ": ", result, " has ", value, " at (", n, ", ", c,
                                ") of (", rows, ", ", columns, ")"),
                           parameter_at_work);
    }
  }
}

//! What an operation wrote, rows of `columns` elements that are `stride` apart.
//!
//! **Errors.** NotFiniteError if numbers are checked and one is not finite.
template <class D>
void expect_finite(D& device, const char* operation, const char* result, AnyFloats<const void> x,
                   index_t rows, index_t columns, index_t stride) {
  if (!CheckFinite::on() || rows == 0 || columns == 0) return;
  if constexpr (D::on_host) {
    look_for_not_finite(operation, result, x, rows, columns, stride);
  } else {
    std::vector<std::byte> copy(
        static_cast<std::size_t>(((rows - 1) * stride + columns) * size_of(x.type)));
    device.download(copy.data(), x.data, std::ssize(copy));
    look_for_not_finite(operation, result, {copy.data(), x.type}, rows, columns, stride);
  }
}

//! The same of a view.
template <class D>
void expect_finite(D& device, const char* operation, const char* result,
                   const AnyView<const void>& x) {
  expect_finite(device, operation, result, x.numbers, x.rows(), x.columns(), x.stride);
}

}  // namespace detail

}  // namespace weft::ops
