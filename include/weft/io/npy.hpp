// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Arrays in files that `numpy.load` opens and `numpy.save` writes.
//!
//!     write_npy<float>("losses.npy", {2, 3}, losses);
//!     const auto tokens = read_npy<std::uint16_t>("tokens.npy");  // .shape, .elements
//!
//! **Source.** NumPy's `numpy.lib.format`, versions 1.0, 2.0 and 3.0 of the format.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/io/atomic_file.hpp>
#include <weft/io/detail/messages.hpp>
#include <weft/io/detail/npy_header.hpp>
#include <weft/io/dtype.hpp>
#include <weft/io/regular_file.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::io {

static_assert(std::endian::native == std::endian::little, "weft's files are little-endian");

//! An array of any number of dimensions.
template <FileElement T>
struct NpyArray {
  std::vector<index_t> shape;  //!< slowest first; without extents for a single number
  std::vector<T> elements;     //!< row-major
};

namespace detail {

//! What NumPy calls an element type: `<f4` for float, `|u1` for bytes, which have no order.
template <FileElement T>
[[nodiscard]] std::string npy_descr() {
  const char kind = static_cast<char>(name_of(dtype_of<T>).front() - 'A' + 'a');
  return text(sizeof(T) == 1 ? '|' : '<', kind, sizeof(T));
}

//! The bytes that the elements take; nothing if that is no `index_t`. Without elements it is 0,
//! however large the other extents are.
template <FileElement T>
[[nodiscard]] std::optional<index_t> npy_bytes(std::span<const index_t> shape) {
  if (!shape.empty() && std::ranges::min(shape) == 0) return 0;
  return bytes_of(dtype_of<T>, shape);
}

//! All that stands before the elements, byte for byte as NumPy 1.23 and later write it.
[[nodiscard]] inline std::string npy_preamble(const std::string& descr,
                                              std::span<const index_t> shape) {
  std::string extents = "(";
  for (const index_t extent : shape) extents += text(extents.size() > 1 ? ", " : "", extent);
  extents += shape.size() == 1 ? ",)" : ")";
  std::string header =
      text("{'descr': '", descr, "', 'fortran_order': False, 'shape': ", extents, ", }");
  // Room for the first extent to grow in place, up to the digits of 2^64 and one more.
  constexpr std::size_t most_digits = 21;
  if (!shape.empty()) header.append(most_digits - text(shape[0]).size(), ' ');
  constexpr std::size_t alignment = 64, magic_bytes = 10;
  header.append(alignment - (magic_bytes + header.size() + 1) % alignment, ' ');
  header += '\n';
  if (header.size() > 0xFFFF) {
    throw ArgumentError(text("npy: ", shape.size(), " dimensions are too many for a header"));
  }
  std::string start = "\x93NUMPY";
  for (const std::size_t byte :
       {std::size_t{1}, std::size_t{0}, header.size() & 0xFF, header.size() >> 8}) {
    start += static_cast<char>(byte);
  }
  return start + header;
}

//! A header, and where the elements begin.
struct NpyPreamble {
  NpyHeader header;
  index_t end = 0;
};

[[nodiscard]] inline NpyPreamble read_npy_preamble(const RegularFile& file) {
  const auto refuse = [&](const std::string& why) { throw FormatError(text(file.path(), why)); };
  std::string start(static_cast<std::size_t>(std::min(file.bytes(), index_t{12})), '\0');
  file.read_at(0, std::as_writable_bytes(std::span(start)));
  const auto byte = [&](std::size_t at) -> index_t {
    return static_cast<unsigned char>(start[at]);
  };
  if (!start.starts_with("\x93NUMPY")) {
    refuse(": not a NumPy file: it does not begin with \\x93NUMPY");
  }
  constexpr std::size_t length_at = 8;  // after the version
  const auto length_bytes = std::size_t{start.size() > 6 && byte(6) == 1 ? 2U : 4U};
  if (start.size() < length_at + length_bytes) {
    refuse(text(": has ", file.bytes(), " bytes, not even a header's length"));
  }
  if (byte(6) < 1 || byte(6) > 3 || byte(7) != 0) {
    refuse(text(": is of version ", byte(6), ".", byte(7),
                " of NumPy's format; 1.0, 2.0 and 3.0 are read"));
  }
  index_t length = 0;
  for (std::size_t i = length_bytes; i-- > 0;) length = length * 256 + byte(length_at + i);
  const auto begin = static_cast<index_t>(length_at + length_bytes);
  if (length > file.bytes() - begin) {
    refuse(text(": has ", file.bytes(), " bytes, but its header ends at ", begin + length));
  }
  constexpr index_t most_bytes = index_t{1} << 20;  // NumPy reads 10,000 unless told otherwise
  if (length > most_bytes) {
    refuse(text(": a header of ", length, " bytes is longer than the limit of ", most_bytes));
  }
  std::string header(static_cast<std::size_t>(length), '\0');
  file.read_at(begin, std::as_writable_bytes(std::span(header)));
  return {NpyHeaderReader(file.path(), header).read(), begin + length};
}

}  // namespace detail

//! Reads an array with elements of type T, in C order.
//!
//! **Errors.** SystemError if the file cannot be read or is not a regular file. FormatError, naming
//! the file, for a file in another format, in Fortran order, with elements of another type or byte
//! order (then with their name), and with fewer or more bytes than its shape takes.
//! **Cost.** What a file says of its size is compared with the size that it has before any memory
//! is asked for.
template <FileElement T>
[[nodiscard]] NpyArray<T> read_npy(const std::string& path) {
  const RegularFile file(path);
  auto [header, begin] = detail::read_npy_preamble(file);
  const std::string expected = detail::npy_descr<T>();
  // The order of single bytes is written as none, but other tools give them one.
  const bool is_expected = sizeof(T) == 1
                               ? header.descr.size() == expected.size() &&
                                     header.descr.ends_with(expected.substr(1)) &&
                                     text("|<>=").find(header.descr[0]) != std::string::npos
                               : header.descr == expected;
  if (!is_expected) {
    throw FormatError(text(path, ": has elements of type ", detail::in_quotes(header.descr),
                           ", not \"", expected, '"'));
  }
  if (header.fortran_order) {
    throw FormatError(text(path, ": its ", detail::in_quotes(header.descr), " of shape ",
                           detail::to_text(header.shape),
                           " are in Fortran order; numpy.ascontiguousarray gives C order"));
  }
  const auto bytes = detail::npy_bytes<T>(header.shape);
  if (bytes != file.bytes() - begin) {
    throw FormatError(text(path, ": has ", file.bytes() - begin, " bytes of elements, but \"",
                           header.descr, "\" of shape ", detail::to_text(header.shape), " takes ",
                           bytes ? text(*bytes) : "more than any file has"));
  }
  NpyArray<T> array{std::move(header.shape),
                    std::vector<T>(static_cast<std::size_t>(*bytes) / sizeof(T))};
  file.read_at(begin, std::as_writable_bytes(std::span(array.elements)));
  return array;
}

//! Writes an array in version 1.0 of the format, in the place of the file that was there.
//!
//! The bytes are those that `numpy.save` writes.
//! **Errors.** ArgumentError unless the elements fill the shape; SystemError as AtomicFile, and
//! then the old file stays.
template <FileElement T>
void write_npy(const std::string& path, const std::vector<index_t>& shape,
               std::span<const T> elements) {
  if (detail::npy_bytes<T>(shape) != std::ssize(std::as_bytes(elements))) {
    throw ArgumentError(text("write_npy: ", elements.size(), " elements do not fill the shape ",
                             detail::to_text(shape), " of ", path));
  }
  const std::string preamble = detail::npy_preamble(detail::npy_descr<T>(), shape);
  AtomicFile file(path);
  file.write(preamble);
  file.write(std::as_bytes(elements));
  file.commit();
}

}  // namespace weft::io
