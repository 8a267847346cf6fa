// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The JSON header of a safetensors file: read strictly, in memory that its length bounds.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/io/detail/messages.hpp>
#include <weft/io/dtype.hpp>
#include <weft/io/metadata.hpp>

#include <nlohmann/json.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::io {

//! A tensor of a file: what it is and where it lies.
struct TensorEntry {
  std::string name;            //!< in the file's header
  DType dtype{};               //!< the type of its elements
  std::vector<index_t> shape;  //!< slowest first
  index_t begin = 0;           //!< first byte, counted from the end of the header
  index_t end = 0;             //!< one past the last byte
};

namespace detail {

//! What is read of a header, and so the most that is written.
struct HeaderLimits {
  static constexpr index_t bytes = index_t{16} << 20;  // unless a reader asks for more
  static constexpr std::size_t extents = 64;
  static constexpr std::size_t remarks = 65536;  // a map takes many times its JSON's memory
};

//! Takes the events of nlohmann's parser and refuses, by a FormatError, whatever is not
//!
//!     {"__metadata__": {string: string, ...},
//!      name: {"dtype": string, "shape": [n, ...], "data_offsets": [begin, end]}, ...}
//!
//! No tree is built, so the header's length bounds the memory; a name that is there twice, or a
//! number that is negative, a fraction or too large, is seen before anything could round it.
class SafetensorsHeaderReader {
 public:
  explicit SafetensorsHeaderReader(std::string_view path) : path_(path) {}

  std::vector<TensorEntry> tensors;
  Metadata metadata;

  bool start_object(std::size_t) {
    if (awaited_ == Awaited::header) return await(Awaited::name);
    if (awaited_ == Awaited::metadata) return await(Awaited::remark_name);
    if (awaited_ == Awaited::tensor) return await(Awaited::field);
    unexpected("an object");
  }

  bool end_object() {
    if (awaited_ == Awaited::field) {
      for (const auto& field : fields_) {
        if (!field.seen) fail(text(tensor(), " has no ", field.name));
      }
    }
    return await(Awaited::name);
  }

  bool key(const std::string& name) {
    if (awaited_ == Awaited::remark_name) return remark_name(name);
    if (awaited_ == Awaited::field) return field_name(name);
    if (name == "__metadata__") {
      if (has_metadata_) fail("__metadata__ is there twice");
      has_metadata_ = true;
      return await(Awaited::metadata);
    }
    tensors.emplace_back().name = name;
    for (auto& field : fields_) field.seen = false;
    return await(Awaited::tensor);
  }

  bool start_array(std::size_t) {
    if (awaited_ == Awaited::shape) return await(Awaited::extent);
    if (awaited_ == Awaited::offsets) return await(Awaited::begin);
    unexpected("an array");
  }

  bool end_array() {
    if (awaited_ == Awaited::begin || awaited_ == Awaited::end) {
      fail(text(tensor(), " has fewer than two data_offsets"));
    }
    return await(Awaited::field);
  }

  bool string(const std::string& value) {
    if (awaited_ == Awaited::remark) {
      *remark_ = value;
      return await(Awaited::remark_name);
    }
    if (awaited_ != Awaited::dtype) unexpected(in_quotes(value));
    const auto dtype = dtype_named(value);
    if (!dtype) fail(text(tensor(), " has the unknown dtype ", in_quotes(value)));
    tensors.back().dtype = *dtype;
    return await(Awaited::field);
  }

  bool number_unsigned(std::uint64_t value) {
    if (value > std::uint64_t{INT64_MAX}) unexpected(text(value));
    const auto number = static_cast<index_t>(value);
    if (awaited_ == Awaited::extent) {
      auto& shape = tensors.back().shape;
      if (shape.size() == HeaderLimits::extents) {
        fail(text(tensor(), " has more than ", HeaderLimits::extents, " extents"));
      }
      shape.push_back(number);
      return true;
    }
    if (awaited_ == Awaited::begin) {
      tensors.back().begin = number;
      return await(Awaited::end);
    }
    if (awaited_ == Awaited::end) {
      tensors.back().end = number;
      return await(Awaited::no_more_offsets);
    }
    unexpected(text(number));
  }

  bool number_integer(std::int64_t value) { unexpected(text(value)); }
  bool number_float(double, const std::string& digits) { unexpected(in_quotes(digits)); }
  bool boolean(bool value) { unexpected(text(value)); }
  bool null() { unexpected("null"); }
  bool binary(const std::vector<std::uint8_t>&) { unexpected("binary data"); }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) {
    fail(text("its byte ", position, " is not UTF-8 JSON"));
  }

 private:
  enum class Awaited {
    header,
    name,
    metadata,
    remark_name,
    remark,
    tensor,
    field,
    dtype,
    shape,
    extent,
    offsets,
    begin,
    end,
    no_more_offsets,
  };

  struct Field {
    std::string_view name;
    Awaited value;
    bool seen;
  };

  bool await(Awaited next) {
    awaited_ = next;
    return true;
  }

  bool remark_name(const std::string& name) {
    const auto [remark, is_new] = metadata.try_emplace(name);
    if (!is_new) fail(text("__metadata__ has ", in_quotes(name), " twice"));
    if (metadata.size() > HeaderLimits::remarks) {
      fail(text("__metadata__ has more than ", HeaderLimits::remarks, " entries"));
    }
    remark_ = &remark->second;
    return await(Awaited::remark);
  }

  bool field_name(const std::string& name) {
    for (auto& field : fields_) {
      if (field.name != name) continue;
      if (field.seen) fail(text(tensor(), " has ", name, " twice"));
      field.seen = true;
      return await(field.value);
    }
    fail(text(tensor(), " has the unknown field ", in_quotes(name)));
  }

  [[nodiscard]] std::string tensor() const {
    return text("tensor ", in_quotes(tensors.back().name));
  }

  [[nodiscard]] std::string_view wanted() const {
    switch (awaited_) {
      case Awaited::metadata:
        return "the object __metadata__";
      case Awaited::remark:
        return "a string of __metadata__";
      case Awaited::dtype:
        return "the name of a dtype";
      case Awaited::shape:
        return "the array shape";
      case Awaited::extent:
        return "an extent";
      case Awaited::offsets:
        return "the array data_offsets";
      case Awaited::begin:
      case Awaited::end:
        return "a byte offset";
      case Awaited::no_more_offsets:
        return "the end of data_offsets";
      default:
        return "an object";
    }
  }

  [[noreturn]] void unexpected(std::string_view what) const {
    fail(text(awaited_ < Awaited::tensor ? "" : tensor() + ": ", what, " instead of ", wanted()));
  }

  [[noreturn]] void fail(std::string_view what) const {
    throw FormatError(text(path_, ": the header is damaged: ", what));
  }

  std::string_view path_;
  Awaited awaited_ = Awaited::header;
  bool has_metadata_ = false;
  std::string* remark_ = nullptr;
  std::array<Field, 3> fields_ = {{{"dtype", Awaited::dtype, false},
                                   {"shape", Awaited::shape, false},
                                   {"data_offsets", Awaited::offsets, false}}};
};

}  // namespace detail
}  // namespace weft::io
