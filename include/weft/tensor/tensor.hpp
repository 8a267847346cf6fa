// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Arrays in a device's memory, held by reference counts.
#pragma once

#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <weft/core/error.hpp>
#include <weft/core/shape.hpp>
#include <weft/device/arena.hpp>
#include <weft/device/cpu.hpp>
#include <weft/tensor/view.hpp>

namespace weft {

//! A dense, row-major array on a device. Copies share the elements; a slice keeps them alive.
//!
//! A tensor must not outlive its device. Its elements start undefined.
template <class T, class D = Cpu>
class Tensor {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Tensor() = default;

  //! **Cost.** One allocation from the device's pool; none of the system once the pool is warm.
  Tensor(D& device, Shape shape)
      : Tensor(device, shape, device.allocate(shape.size() * static_cast<index_t>(sizeof(T)))) {}

  //! In memory of the device's, which has room for its elements.
  Tensor(D& device, Shape shape, Memory memory)
      : device_(&device),
        memory_(std::move(memory)),
        data_(reinterpret_cast<T*>(memory_.data())),
        shape_(shape) {}

  //! An array of which parts have memory: those that `Device::commit` was told of.
  [[nodiscard]] static Tensor reserved(D& device, Shape shape) {
    return {device, shape, device.reserve(shape.size() * static_cast<index_t>(sizeof(T)))};
  }

  //! Whether it holds no memory.
  [[nodiscard]] bool empty() const { return memory_.empty(); }
  //! Where its elements lie.
  [[nodiscard]] D& device() const { return *device_; }
  //! The first element.
  [[nodiscard]] T* data() const { return data_; }
  //! What holds its elements.
  [[nodiscard]] const Memory& memory() const { return memory_; }
  //! Its extents.
  [[nodiscard]] const Shape& shape() const { return shape_; }
  //! How many elements it has.
  [[nodiscard]] index_t size() const { return shape_.size(); }
  //! N of the tensor seen as (N, C).
  [[nodiscard]] index_t rows() const { return shape_.rows(); }
  //! C, the last extent.
  [[nodiscard]] index_t columns() const { return shape_.columns(); }

  //! Says what its memory is for, to whoever asks the device.
  void mark(MemoryKind kind) const { memory_.mark(kind); }

  //! What operations take.
  operator View<T>() const { return {data(), shape_}; }
  //! What operations take that only read.
  operator View<const T>() const { return {data(), shape_}; }

  //! Rows `begin` to `end` - 1 along the first axis; shares the elements.
  //!
  //! **Errors.** ShapeError unless 0 <= begin <= end <= extent of the first axis.
  [[nodiscard]] Tensor slice(index_t begin, index_t end) const {
    if (shape_.rank() == 0 || begin < 0 || begin > end || end > shape_[0]) {
      throw ShapeError(text("slice: rows ", begin, " to ", end, " of ", shape_));
    }
    const index_t stride = shape_[0] == 0 ? 0 : size() / shape_[0];
    Tensor part = *this;
    part.data_ += begin * stride;
    part.shape_ = shape_.with_first(end - begin);
    return part;
  }

  //! The same elements under another shape. **Errors.** ShapeError unless the sizes are equal.
  [[nodiscard]] Tensor reshaped(Shape shape) const {
    if (shape.size() != size()) throw ShapeError(text("reshape: ", shape_, " into ", shape));
    Tensor result = *this;
    result.shape_ = shape;
    return result;
  }

 private:
  D* device_ = nullptr;
  Memory memory_;
  T* data_ = nullptr;
  Shape shape_;
};

//! Copies elements from the host to a new tensor, in the order of the device's operations: on a GPU
//! they may still be on their way. The host's may be changed when it returns; before another device
//! reads the tensor, it waits for this one (`wait_for`), or the host does (`synchronize`).
//!
//! **Errors.** ShapeError unless there are `shape.size()` values.
template <class T, class D>
[[nodiscard]] Tensor<T, D> to_device(D& device, std::span<const T> values, Shape shape) {
  if (static_cast<index_t>(values.size()) != shape.size()) {
    throw ShapeError(text("to_device: ", values.size(), " values for the shape ", shape));
  }
  Tensor<T, D> tensor(device, shape);
  device.upload(tensor.data(), values.data(), static_cast<index_t>(values.size_bytes()));
  return tensor;
}

//! Copies a tensor's elements to the host. Synchronous.
template <class T, class D>
[[nodiscard]] std::vector<std::remove_const_t<T>> to_host(D& device, View<T> view) {
  std::vector<std::remove_const_t<T>> values(static_cast<std::size_t>(view.size()));
  device.download(values.data(), view.data, view.size() * static_cast<index_t>(sizeof(T)));
  return values;
}

//! Copies a tensor's elements to the host. Synchronous.
template <class T, class D>
[[nodiscard]] std::vector<T> to_host(const Tensor<T, D>& tensor) {
  return to_host(tensor.device(), View<const T>(tensor));
}

}  // namespace weft
