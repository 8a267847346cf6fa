// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Writes the parameters that the peers start from.
#pragma once

#include <weft/io/write_safetensors.hpp>
#include <weft/nn/parameter_layout.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace benchmark {

//! A module's parameters in a safetensors file, without tables that are computed. `values` is the
//! buffer that they have their places in.
template <class Module>
void write_parameters(const std::string& path, const Module& module, const float* values) {
  std::vector<weft::io::StoredTensor> tensors;
  for (const auto& [name, p] : weft::nn::named_parameters(module)) {
    if (p.computed) continue;
    std::vector<weft::index_t> shape;
    for (int axis = 0; axis < p.shape.rank(); ++axis) shape.push_back(p.shape[axis]);
    tensors.push_back(weft::io::stored<float>(
        name, shape, {values + p.value_offset, static_cast<std::size_t>(p.size())}));
  }
  weft::io::write_safetensors(path, tensors);
}

}  // namespace benchmark
