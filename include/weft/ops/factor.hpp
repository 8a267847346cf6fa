// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Factors of matrix products: floats, or what they are rounded to once for several.
#pragma once

#include <utility>

#include <weft/core/any_floats.hpp>
#include <weft/core/index.hpp>
#include <weft/core/shape.hpp>
#include <weft/device/arena.hpp>
#include <weft/device/product_precision.hpp>
#include <weft/ops/check.hpp>
#include <weft/ops/check_finite.hpp>
#include <weft/ops/convert.hpp>
#include <weft/tensor/any_view.hpp>
#include <weft/tensor/tensor.hpp>

namespace weft::ops {

//! A factor that somebody else owns, as a product reads it.
using FactorView = AnyView<const void>;
//! Where an operation writes floats, or rounds them as it writes.
using FactorTarget = AnyView<void>;

//! What a device's products round floats to before they multiply them, as numbers in memory.
template <class D>
[[nodiscard]] FloatType factor_type(const D& device) {
  const ProductPrecision precision = product_precision_of(device);
  if (precision == ProductPrecision::bfloat16) return FloatType::bfloat16;
  if (precision == ProductPrecision::float16) return FloatType::float16;
  return FloatType::float32;
}

//! Whether products and attention of a device round what they write for each other, and read 16
//! bytes at once: a GPU says so (`Cuda::rounds_results`). A processor's attention reads and writes
//! floats.
template <class D>
inline constexpr bool rounds_results = requires {
  requires D::rounds_results;
};

//! What a device's products and its attention write where nothing but they read it.
template <class D>
[[nodiscard]] FloatType result_type(const D& device) {
  return rounds_results<D> ? factor_type(device) : FloatType::float32;
}

//! How far apart the rows of a large matrix of so many columns should begin, in elements: on a GPU
//! at multiples of 128 bytes, a line of its caches. cuBLASLt has no fast algorithm for rows that
//! begin elsewhere, as those of logits over 28,782 words.
template <class D>
[[nodiscard]] index_t row_stride(const D&, index_t columns, FloatType type) {
  const index_t line = 128 / size_of(type);
  return rounds_results<D> ? (columns + line - 1) / line * line : columns;
}

//! A matrix that several products read: rounded once, to what they round it to, in half the
//! memory; the very floats where products round nothing. On a processor a product has the bits that
//! it has of the floats.
template <class D>
class Factor {
 public:
  Factor() = default;

  //! Room for the result of an operation that only products read, or others that are content with
  //! what products read; nothing is written yet.
  Factor(D& device, Shape shape) : Factor(device, shape, factor_type(device)) {}
  //! The same for numbers of this type.
  Factor(D& device, Shape shape, FloatType type) : Factor(device, shape, type, shape.columns()) {}
  //! The same with rows that are so many elements apart.
  Factor(D& device, Shape shape, FloatType type, index_t stride)
      : Factor(device, shape, type, stride,
               device.allocate(shape.rows() * stride * size_of(type))) {}
  //! The same without gaps, in memory of the device's, which has room for it.
  Factor(D& device, Shape shape, FloatType type, Memory memory)
      : Factor(device, shape, type, shape.columns(), std::move(memory)) {}

  //! The numbers of somebody else, which may not change, or go, as long as the factor lives.
  //!
  //! **Cost.** A pass if the device rounds and they are floats; else none.
  //! **Errors.** ShapeError if it is to round rows that have gaps between them.
  Factor(D& device, const FactorView& values) : device_(&device), view_(values) {
    const FloatType type = factor_type(device);
    if (values.numbers.rounded() || type == FloatType::float32) return;
    detail::expect_no_gaps("Factor", "values", values);
    const float* const floats = values.numbers.floats();
    const index_t n = values.shape.size();
    memory_ = device.allocate(n * size_of(type));
    const AnyFloats<void> made(memory_.data(), type);
    convert(device, n, floats, made);
    view_ = FactorView(AnyFloats<const void>(made.data, type), values.shape);
    detail::expect_finite(device, "Factor", "values", view_);
  }

  //! The floats of a tensor, which may not change as long as the factor lives. Those that were
  //! rounded are not held.
  //!
  //! **Cost.** A pass if the device rounds; else none.
  explicit Factor(const Tensor<float, D>& values) : Factor(values.device(), values) {
    if (!view_.numbers.rounded()) memory_ = values.memory();
  }

  //! What products take.
  operator FactorView() const { return view_; }
  //! Where an operation writes it: it is the factor's own memory, or a tensor's.
  [[nodiscard]] FactorTarget target() const {
    const AnyFloats<const void> first = view_.numbers;
    return {AnyFloats<void>(const_cast<void*>(first.data), first.type), view_.shape, view_.stride};
  }

  //! The same as the device's products read it: itself, or a copy if the device rounds and it is
  //! not.
  [[nodiscard]] Factor rounded() const {
    if (view_.numbers.rounded() || factor_type(*device_) == FloatType::float32) return *this;
    return Factor(*device_, *this);
  }

  //! Says what its memory is for, to whoever asks the device.
  void mark(MemoryKind kind) const { memory_.mark(kind); }

  //! Whether there is nothing.
  [[nodiscard]] bool empty() const { return view_.numbers.data == nullptr; }
  //! Where its elements lie.
  [[nodiscard]] D& device() const { return *device_; }
  //! The first element.
  [[nodiscard]] AnyFloats<const void> numbers() const { return view_.numbers; }
  //! The extents.
  [[nodiscard]] const Shape& shape() const { return view_.shape; }
  //! N of the array seen as (N, C).
  [[nodiscard]] index_t rows() const { return view_.rows(); }

 private:
  Factor(D& device, Shape shape, FloatType type, index_t stride, Memory memory)
      : device_(&device),
        memory_(std::move(memory)),
        view_(AnyFloats<const void>(memory_.data(), type), shape, stride) {}

  D* device_ = nullptr;
  Memory memory_;  // of a tensor's floats, or of what they were rounded to
  FactorView view_;
};

}  // namespace weft::ops
