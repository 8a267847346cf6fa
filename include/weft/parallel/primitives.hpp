// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Moving tensors between the devices of one process, each primitive beside its adjoint.
//!
//!     scatter    cuts along dimension 0       <->  gather      joins along dimension 0
//!     broadcast  one tensor to every device   <->  reduce_add  the sum of one tensor a device
//!
//! The backward of each is the other. `replicate` is `broadcast` for a whole model: its parameters
//! lie in one tensor. These are the primitives of PyTorch's torch.nn.parallel.
#pragma once

#include <cstddef>
#include <iterator>
#include <vector>

#include <weft/core/chunks.hpp>
#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/tree_pairs.hpp>
#include <weft/device/device_group.hpp>
#include <weft/ops/rows.hpp>
#include <weft/tensor/tensor.hpp>

namespace weft::parallel {

//! A copy of `tensor` on another device.
template <class T, class D>
[[nodiscard]] Tensor<T, D> copy_to(D& device, const Tensor<T, D>& tensor) {
  Tensor<T, D> copy(device, tensor.shape());
  if (tensor.size() > 0) {
    device.wait_for(tensor.device());
    device.copy(copy.data(), tensor.data(), tensor.size() * index_t{sizeof(T)});
    tensor.device().wait_for(device);  // before it gives the memory to something else
  }
  return copy;
}

//! Cuts `tensor` along dimension 0, a piece a device, in the sizes of `chunks`: of 5 rows on 4
//! devices come 2, 2 and 1. There may be fewer pieces than devices.
//!
//! **Errors.** ShapeError for a single number.
//! **Source.** torch.nn.parallel.scatter.
template <class T, class D>
[[nodiscard]] std::vector<Tensor<T, D>> scatter(const DeviceGroup<D>& devices,
                                                const Tensor<T, D>& tensor) {
  if (tensor.shape().rank() == 0) throw ShapeError("scatter: a single number cannot be cut");
  std::vector<Tensor<T, D>> pieces;
  for (const Range range : chunks(tensor.shape()[0], devices.size())) {
    const int index = static_cast<int>(pieces.size());
    pieces.push_back(copy_to(devices[index], tensor.slice(range.begin, range.end)));
  }
  return pieces;
}

//! Joins pieces along dimension 0 on `device`.
//!
//! **Errors.** ArgumentError without pieces; ShapeError for single numbers, and unless pieces agree
//! in all other extents.
template <class T, class D>
[[nodiscard]] Tensor<T, D> gather(D& device, const std::vector<Tensor<T, D>>& pieces) {
  if (pieces.empty()) throw ArgumentError("gather: no pieces");
  index_t rows = 0;
  for (const auto& piece : pieces) {
    if (piece.shape().rank() == 0) throw ShapeError("gather: single numbers have no dimension 0");
    rows += piece.shape()[0];
  }
  const Shape& first = pieces.front().shape();
  const Shape shape = first.with_first(rows);
  Tensor<T, D> joined(device, shape);
  index_t row = 0;
  for (const auto& piece : pieces) {
    const index_t count = piece.shape()[0];
    if (piece.shape() != first.with_first(count)) {
      throw ShapeError(text("gather: pieces of ", first, " and ", piece.shape()));
    }
    if (piece.size() > 0) {
      device.wait_for(piece.device());
      device.copy(joined.slice(row, row + count).data(), piece.data(),
                  piece.size() * index_t{sizeof(T)});
      piece.device().wait_for(device);
    }
    row += count;
  }
  return joined;
}

//! The tensor itself where `device` can read it, else a copy. Its own device must wait for the
//! other before the tensor is given up.
template <class T, class D>
[[nodiscard]] Tensor<T, D> readable_on(D& device, const Tensor<T, D>& tensor) {
  if (!D::shares_memory(device, tensor.device())) return copy_to(device, tensor);
  device.wait_for(tensor.device());
  return tensor;
}

//! The tensor on every device, as `readable_on` gives it.
template <class T, class D>
[[nodiscard]] std::vector<Tensor<T, D>> broadcast(const DeviceGroup<D>& devices,
                                                  const Tensor<T, D>& tensor) {
  std::vector<Tensor<T, D>> copies;
  for (int index = 0; index < devices.size(); ++index) {
    copies.push_back(readable_on(devices[index], tensor));
  }
  return copies;
}

//! The parameters of a model on every device; `broadcast` under the name that PyTorch gives it for
//! models.
template <class D>
[[nodiscard]] std::vector<Tensor<float, D>> replicate(const DeviceGroup<D>& devices,
                                                      const Tensor<float, D>& values) {
  return broadcast(devices, values);
}

//! The sum of one tensor a device, on `device`: a balanced tree over the devices' order.
//!
//! **Errors.** ArgumentError without tensors; ShapeError unless all have one shape.
template <class D>
[[nodiscard]] Tensor<float, D> reduce_add(D& device, const std::vector<Tensor<float, D>>& terms) {
  if (terms.empty()) throw ArgumentError("reduce_add: no tensors");
  std::vector<Tensor<float, D>> sums;
  for (const auto& term : terms) sums.push_back(copy_to(device, term));
  const auto sum = [&](index_t i) -> const auto& { return sums[static_cast<std::size_t>(i)]; };
  for_tree_pairs(
      std::ssize(sums), [](index_t) { return true; },
      [&](index_t left, index_t right) { ops::add(device, sum(right), sum(left)); });
  return sums.front();
}

}  // namespace weft::parallel
