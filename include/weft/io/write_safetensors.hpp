// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Writes safetensors files; see weft/io/safetensors.hpp.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/io/atomic_file.hpp>
#include <weft/io/detail/messages.hpp>
#include <weft/io/detail/safetensors_header.hpp>
#include <weft/io/dtype.hpp>
#include <weft/io/safetensors_layout.hpp>

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::io {

//! A tensor that is to be written.
struct StoredTensor {
  std::string name;                  //!< in the file's header
  DType dtype{};                     //!< the type of its elements
  std::vector<index_t> shape;        //!< slowest first
  std::span<const std::byte> bytes;  //!< row-major
};

//! A tensor with elements of type T that is to be written.
template <FileElement T>
[[nodiscard]] StoredTensor stored(std::string name, std::vector<index_t> shape,
                                  std::span<const T> values) {
  return {std::move(name), dtype_of<T>, std::move(shape), std::as_bytes(values)};
}

//! Writes tensors and metadata into the file `path`, which holds its old contents until all is
//! done.
//!
//! `"format": "pt"` is what Python's transformers look for.
//! **Errors.** ArgumentError as SafetensorsLayout, and for bytes that do not fill the shape;
//! SystemError as AtomicFile.
inline void write_safetensors(const std::string& path, std::span<const StoredTensor> tensors,
                              const Metadata& metadata = {{"format", "pt"}}) {
  std::vector<TensorEntry> entries;
  std::map<std::string_view, std::span<const std::byte>> bytes;
  for (const auto& tensor : tensors) {
    if (bytes_of(tensor.dtype, tensor.shape) != std::ssize(tensor.bytes)) {
      throw ArgumentError(text("safetensors: tensor ", detail::in_quotes(tensor.name), " has ",
                               tensor.bytes.size(), " bytes, which is not what ", tensor.dtype, " ",
                               detail::to_text(tensor.shape), " takes"));
    }
    entries.push_back({tensor.name, tensor.dtype, tensor.shape});
    bytes[tensor.name] = tensor.bytes;
  }
  const SafetensorsLayout layout(std::move(entries), metadata);
  AtomicFile file(path);
  file.write(layout.header());
  for (const TensorEntry& tensor : layout.tensors()) file.write(bytes.at(tensor.name));
  file.commit();
}

}  // namespace weft::io
