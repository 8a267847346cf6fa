// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Writes safetensors files; see weft/io/safetensors.hpp.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/io/atomic_file.hpp>
#include <weft/io/detail/safetensors_header.hpp>
#include <weft/io/dtype.hpp>
#include <weft/io/utf8.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace weft::io {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

//! A tensor that is to be written.
struct StoredTensor {
  std::string name;
  DType dtype{};
  std::vector<index_t> shape;        //!< slowest first
  std::span<const std::byte> bytes;  //!< row-major
};

//! A tensor with elements of type T that is to be written.
template <FileElement T>
[[nodiscard]] StoredTensor stored(std::string name, std::vector<index_t> shape,
                                  std::span<const T> values) {
  return {std::move(name), dtype_of<T>, std::move(shape), std::as_bytes(values)};
}

namespace detail {

[[nodiscard]] inline std::string json_string(std::string_view name) {
  if (find_invalid_utf8(name))
    throw ArgumentError(text("safetensors: ", in_quotes(name), " is not UTF-8"));
  return nlohmann::json(name).dump();
}

inline void check_tensors(std::span<const StoredTensor> tensors) {
  std::set<std::string_view> names = {"__metadata__"};  // which the format keeps for itself
  for (const auto& tensor : tensors) {
    if (!names.insert(tensor.name).second) {
      throw ArgumentError(text("safetensors: the name ", in_quotes(tensor.name), " is taken"));
    }
    if (bytes_of(tensor.dtype, tensor.shape) != std::ssize(tensor.bytes)) {
      throw ArgumentError(text("safetensors: tensor ", in_quotes(tensor.name), " has ",
                               tensor.bytes.size(), " bytes, which is not what ", tensor.dtype, " ",
                               to_text(tensor.shape), " takes"));
    }
  }
}

//! The JSON of tensors that follow each other in this order.
[[nodiscard]] inline std::string header_of(std::span<const StoredTensor* const> tensors,
                                           const Metadata& metadata) {
  std::string out = "{";
  const auto separate = [&out] {
    if (out.back() != '{') out += ',';
  };
  if (!metadata.empty()) {
    out += "\"__metadata__\":{";
    for (const auto& [name, value] : metadata) {
      separate();
      out += text(json_string(name), ":", json_string(value));
    }
    out += '}';
  }
  std::size_t begin = 0;
  for (const StoredTensor* tensor : tensors) {
    const auto end = begin + tensor->bytes.size();
    separate();
    out += text(json_string(tensor->name), ":{\"dtype\":\"", tensor->dtype, "\",\"shape\":[");
    for (std::size_t axis = 0; axis < tensor->shape.size(); ++axis) {
      out += text(axis > 0 ? "," : "", tensor->shape[axis]);
    }
    out += text("],\"data_offsets\":[", begin, ",", end, "]}");
    begin = end;
  }
  out += '}';
  out.resize((out.size() + 7) / 8 * 8, ' ');  // aligns the tensors
  return out;
}

}  // namespace detail

//! Writes tensors and metadata into the file `path`, which holds its old contents until all is
//! done.
//!
//! The bytes are those that the Python package writes: larger element types first, then by name.
//! `"format": "pt"` is what Python's transformers look for.
//! **Errors.** ArgumentError for a name that is there twice, is `__metadata__` or is not UTF-8, for
//! bytes that do not fill the shape, and for a header that readers refuse (100 MB); SystemError as
//! AtomicFile.
inline void write_safetensors(const std::string& path, std::span<const StoredTensor> tensors,
                              const Metadata& metadata = {{"format", "pt"}}) {
  constexpr std::size_t most_header_bytes = 100'000'000;
  detail::check_tensors(tensors);
  std::vector<const StoredTensor*> order;
  for (const auto& tensor : tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const StoredTensor* a, const StoredTensor* b) {
    return std::tie(b->dtype, a->name) < std::tie(a->dtype, b->name);
  });
  const std::string header = detail::header_of(order, metadata);
  if (header.size() > most_header_bytes) {
    throw ArgumentError(text("safetensors: a header of ", header.size(), " bytes for ", path,
                             " is longer than the limit of ", most_header_bytes));
  }
  const std::uint64_t length = header.size();

  AtomicFile file(path);
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(header);
  for (const StoredTensor* tensor : order) file.write(tensor->bytes);
  file.commit();
}

}  // namespace weft::io
