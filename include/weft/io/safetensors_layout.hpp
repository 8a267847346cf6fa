// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Where tensors lie in a safetensors file that is to be written.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/io/detail/messages.hpp>
#include <weft/io/detail/safetensors_header.hpp>
#include <weft/io/dtype.hpp>
#include <weft/io/utf8.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace weft::io {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

//! The header of a file, and the place of every tensor behind it.
//!
//! The bytes are those that the Python package writes: larger element types first, then by name.
class SafetensorsLayout {
 public:
  //! Gives each tensor its place; those that the entries have are not looked at.
  //!
  //! **Errors.** ArgumentError for a name that is there twice, is `__metadata__` or is not UTF-8,
  //! for a shape that no memory holds, and for a header that SafetensorsFile refuses unless it is
  //! told otherwise: of more than 16 MiB, 65,536 entries of metadata, or 64 extents of a tensor.
  SafetensorsLayout(std::vector<TensorEntry> tensors, const Metadata& metadata)
      : tensors_(std::move(tensors)) {
    std::ranges::sort(tensors_, [](const TensorEntry& a, const TensorEntry& b) {
      return std::tie(b.dtype, a.name) < std::tie(a.dtype, b.name);
    });
    index_t end = 0;
    for (TensorEntry& tensor : tensors_) {
      const auto bytes = bytes_of(tensor.dtype, tensor.shape);
      if (!bytes || *bytes > INT64_MAX - end ||
          tensor.shape.size() > detail::HeaderLimits::extents) {
        throw ArgumentError(text("safetensors: tensor ", detail::in_quotes(tensor.name),
                                 " cannot have the shape ", detail::to_text(tensor.shape)));
      }
      tensor.begin = std::exchange(end, end + *bytes);
      tensor.end = end;
    }
    check_names();
    write_header(metadata);
  }

  //! What the file begins with: the length of the JSON, and the JSON.
  [[nodiscard]] const std::string& header() const { return header_; }

  //! In the order in which they lie in the file.
  [[nodiscard]] std::span<const TensorEntry> tensors() const { return tensors_; }

  //! The first byte of a tensor in the file. **Errors.** ArgumentError if there is none.
  [[nodiscard]] index_t begin(std::string_view name) const {
    for (const TensorEntry& tensor : tensors_) {
      if (tensor.name == name) return std::ssize(header_) + tensor.begin;
    }
    throw ArgumentError(text("safetensors: no tensor is called ", detail::in_quotes(name)));
  }

 private:
  void check_names() const {
    std::vector<std::string_view> names = {"__metadata__"};  // which the format keeps for itself
    for (const TensorEntry& tensor : tensors_) names.push_back(tensor.name);
    std::ranges::sort(names);
    const auto twice = std::ranges::adjacent_find(names);
    if (twice != names.end()) {
      throw ArgumentError(text("safetensors: the name ", detail::in_quotes(*twice), " is taken"));
    }
  }

  static std::string json_string(std::string_view name) {
    if (find_invalid_utf8(name)) {
      throw ArgumentError(text("safetensors: ", detail::in_quotes(name), " is not UTF-8"));
    }
    return nlohmann::json(name).dump();
  }

  void write_header(const Metadata& metadata) {
    using Limits = detail::HeaderLimits;
    if (metadata.size() > Limits::remarks) {
      throw ArgumentError(text("safetensors: ", metadata.size(),
                               " entries of metadata are more than the limit of ",
                               Limits::remarks));
    }
    std::string json = "{";
    const auto separate = [&json] {
      if (json.back() != '{') json += ',';
    };
    if (!metadata.empty()) {
      json += "\"__metadata__\":{";
      for (const auto& [name, value] : metadata) {
        separate();
        json += text(json_string(name), ":", json_string(value));
      }
      json += '}';
    }
    for (const TensorEntry& tensor : tensors_) {
      separate();
      json += text(json_string(tensor.name), ":{\"dtype\":\"", tensor.dtype, "\",\"shape\":[");
      for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
        json += text(axis > 0 ? "," : "", tensor.shape[axis]);
      }
      json += text("],\"data_offsets\":[", tensor.begin, ",", tensor.end, "]}");
    }
    json += '}';
    json.resize((json.size() + 7) / 8 * 8, ' ');  // aligns the tensors
    const std::uint64_t length = json.size();
    if (length > std::uint64_t{Limits::bytes}) {
      throw ArgumentError(text("safetensors: a header of ", length,
                               " bytes is longer than the limit of ", Limits::bytes));
    }
    header_.resize(sizeof length);
    std::memcpy(header_.data(), &length, sizeof length);
    header_ += json;
  }

  std::vector<TensorEntry> tensors_;
  std::string header_;
};

}  // namespace weft::io
