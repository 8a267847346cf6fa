// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Factors of matrix products: floats, or what they are rounded to once for several.
#pragma once

#include <concepts>

#include <weft/core/bfloat16.hpp>
#include <weft/core/float16.hpp>
#include <weft/core/index.hpp>
#include <weft/core/shape.hpp>
#include <weft/device/arena.hpp>
#include <weft/device/cpu.hpp>
#include <weft/device/product_precision.hpp>
#include <weft/ops/convert.hpp>
#include <weft/tensor/tensor.hpp>
#include <weft/tensor/view.hpp>

namespace weft::ops {

namespace detail {

//! What a device decides by whether to round a factor before its products.
struct FactorShape {
  index_t rows, columns;
};

//! What a factor of this shape is to be rounded to before its products.
inline ProductPrecision rounding(const Cpu& device, FactorShape) {
  return device.product_precision();
}

}  // namespace detail

//! A factor that somebody else owns, as a product reads it. Floats become one by themselves.
struct FactorView {
  const float* floats = nullptr;  //!< the first element, unless they are rounded
  const void* rounded = nullptr;  //!< the first element, if they are rounded
  ProductPrecision precision = ProductPrecision::float32;  //!< or bfloat16, float16: if rounded
  Shape shape;                                             //!< the extents

  //! Floats, which a product rounds for itself if its device is to.
  template <class Floats>
  requires std::convertible_to<const Floats&, View<const float>>
  constexpr FactorView(const Floats& values) : FactorView(View<const float>(values)) {}
  //! Floats.
  constexpr FactorView(View<const float> values) : floats(values.data), shape(values.shape) {}
  //! Rounded numbers.
  constexpr FactorView(View<const Bfloat16> values)
      : rounded(values.data), precision(ProductPrecision::bfloat16), shape(values.shape) {}
  //! Rounded numbers.
  constexpr FactorView(View<const Float16> values)
      : rounded(values.data), precision(ProductPrecision::float16), shape(values.shape) {}

  //! N of the array seen as (N, C).
  [[nodiscard]] constexpr index_t rows() const { return shape.rows(); }
  //! C, the last extent.
  [[nodiscard]] constexpr index_t columns() const { return shape.columns(); }

  //! The elements from `first` on, as an array of these extents.
  [[nodiscard]] FactorView part(index_t first, Shape extents) const {
    FactorView view = *this;
    view.shape = extents;
    if (floats != nullptr) view.floats += first;
    if (rounded != nullptr) view.rounded = static_cast<const Bfloat16*>(rounded) + first;
    return view;
  }

  //! `f(first)`, where `first` points to the numbers: float, Bfloat16 or Float16.
  template <class F>
  void read(const F& f) const {
    if (precision == ProductPrecision::bfloat16) return f(static_cast<const Bfloat16*>(rounded));
    if (precision == ProductPrecision::float16) return f(static_cast<const Float16*>(rounded));
    f(floats);
  }
};

//! A matrix that several products read: rounded once, to what they round it to, in half the
//! memory; the very floats where products round nothing, or do so better themselves. On a processor
//! a product has the bits that it has of the floats.
template <class D>
class Factor {
 public:
  Factor() = default;

  //! The numbers of somebody else, which may not change, or go, as long as the factor lives.
  //!
  //! **Cost.** A pass if the device rounds and they are floats; else none.
  Factor(D& device, const FactorView& values) : view_(values) {
    if (values.rounded != nullptr) return;
    const detail::FactorShape shape{values.rows(), values.columns()};
    switch (rounding(device, shape)) {  // that of any device is found beside the shape
      case ProductPrecision::bfloat16:
        round<Bfloat16>(device, values);
        break;
      case ProductPrecision::float16:
        round<Float16>(device, values);
        break;
      default:
        break;
    }
  }

  //! The floats of a tensor, which may not change as long as the factor lives. Those that were
  //! rounded are not held.
  //!
  //! **Cost.** A pass if the device rounds; else none.
  explicit Factor(const Tensor<float, D>& values) : Factor(values.device(), values) {
    if (view_.floats != nullptr) memory_ = values.memory();
  }

  //! What products take.
  operator FactorView() const { return view_; }

 private:
  template <class Rounded>
  void round(D& device, const FactorView& values) {
    const index_t n = values.shape.size();
    memory_ = device.allocate(n * index_t{sizeof(Rounded)});
    auto* const numbers = reinterpret_cast<Rounded*>(memory_.data());
    convert(device, n, values.floats, numbers);
    view_ = View<const Rounded>(numbers, view_.shape);
  }

  FactorView view_ = View<const float>();
  Memory memory_;  // of a tensor's floats, or of what they were rounded to
};

}  // namespace weft::ops
