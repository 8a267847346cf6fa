// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The element types that files name.
#pragma once

#include <weft/core/index.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace weft::io {

//! The element types of safetensors, in the order in which its files arrange them: from the last to
//! the first, so that every tensor is aligned.
//!
//! **Source.** huggingface/safetensors 0.8, `enum Dtype`.
enum class DType {
  BOOL,
  F4,
  F6_E2M3,
  F6_E3M2,
  U8,
  I8,
  F8_E5M2,
  F8_E4M3,
  F8_E8M0,
  F8_E4M3FNUZ,
  F8_E5M2FNUZ,
  I16,
  U16,
  F16,
  BF16,
  I32,
  U32,
  F32,
  C64,
  F64,
  I64,
  U64,
};

namespace detail {

struct DTypeProperties {
  std::string_view name;
  int bits;
};

inline constexpr std::array<DTypeProperties, 22> dtypes = {{
    {"BOOL", 8},        {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
    {"I8", 8},          {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
    {"F8_E5M2FNUZ", 8}, {"I16", 16},    {"U16", 16},    {"F16", 16},    {"BF16", 16},
    {"I32", 32},        {"U32", 32},    {"F32", 32},    {"C64", 64},    {"F64", 64},
    {"I64", 64},        {"U64", 64},
}};
static_assert(dtypes.size() == static_cast<std::size_t>(DType::U64) + 1);

template <class T, class... Types>
concept OneOf = (std::same_as<T, Types> || ...);

}  // namespace detail

//! The C++ types that files have an element type for.
template <class T>
concept FileElement = detail::OneOf<T, float, double, std::uint8_t, std::uint16_t, std::int32_t,
                                    std::int64_t, std::uint64_t>;

//! The element type that files have for `T`.
template <FileElement T>
inline constexpr DType dtype_of = std::same_as<T, float>           ? DType::F32
                                  : std::same_as<T, double>        ? DType::F64
                                  : std::same_as<T, std::uint8_t>  ? DType::U8
                                  : std::same_as<T, std::uint16_t> ? DType::U16
                                  : std::same_as<T, std::int32_t>  ? DType::I32
                                  : std::same_as<T, std::int64_t>  ? DType::I64
                                                                   : DType::U64;

//! The name that files give an element type.
[[nodiscard]] constexpr std::string_view name_of(DType dtype) {
  return detail::dtypes[static_cast<std::size_t>(dtype)].name;
}

//! Its name in the file format, as "F32".
[[nodiscard]] inline std::string to_text(DType dtype) { return std::string(name_of(dtype)); }

//! The element type of that name, if there is one.
[[nodiscard]] constexpr std::optional<DType> dtype_named(std::string_view name) {
  for (std::size_t i = 0; i < detail::dtypes.size(); ++i) {
    if (detail::dtypes[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

//! The bytes that an array takes; nothing if that is no whole number or not an `index_t`.
[[nodiscard]] constexpr std::optional<index_t> bytes_of(DType dtype,
                                                        std::span<const index_t> shape) {
  index_t bits = detail::dtypes[static_cast<std::size_t>(dtype)].bits;
  for (const index_t extent : shape) {
    if (extent < 0 || (extent > 0 && bits > INT64_MAX / extent)) return std::nullopt;
    bits *= extent;
  }
  if (bits % 8 != 0) return std::nullopt;
  return bits / 8;
}

}  // namespace weft::io
