// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Reads safetensors files; see weft/io/safetensors.hpp.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/io/detail/messages.hpp>
#include <weft/io/detail/safetensors_header.hpp>
#include <weft/io/dtype.hpp>
#include <weft/io/regular_file.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::io {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

//! A safetensors file that is open for reading.
//!
//! The constructor reads and checks the header; `read` copies a tensor into the caller's memory.
//! What the file says is not trusted: memory stays below some multiples of `most_header_bytes`.
//!
//! **Errors.** SystemError if the file cannot be read or is not a regular file. FormatError, naming
//! file and tensor, unless the header follows the format, the tensors fill the rest of the file
//! exactly, and what is read has the type and size of what is there. Values are not checked.
class SafetensorsFile {
 public:
  //! The largest header that is read, in bytes, if nothing else is asked for.
  static constexpr index_t default_most_header_bytes = detail::HeaderLimits::bytes;

  //! Reads and checks the header.
  explicit SafetensorsFile(std::string path, index_t most_header_bytes = default_most_header_bytes)
      : file_(std::move(path)) {
    read_header(most_header_bytes);
    check_layout();
  }

  //! As the constructor was given it.
  [[nodiscard]] const std::string& path() const noexcept { return file_.path(); }

  //! All tensors in the order in which they lie in the file.
  [[nodiscard]] std::span<const TensorEntry> tensors() const noexcept { return tensors_; }

  //! What was written beside the tensors.
  [[nodiscard]] const Metadata& metadata() const noexcept { return metadata_; }

  //! Whether there is a tensor of that name.
  [[nodiscard]] bool contains(std::string_view name) const { return by_name_.contains(name); }

  //! The tensor of that name; a FormatError if there is none.
  [[nodiscard]] const TensorEntry& tensor(std::string_view name) const {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) {
      throw FormatError(text(path(), ": has no tensor ", detail::in_quotes(name)));
    }
    return tensors_[found->second];
  }

  //! Copies the tensor of that name; it must hold exactly `out.size()` elements of type T.
  template <FileElement T>
  void read(std::string_view name, std::span<T> out) const {
    const auto& entry = tensor(name);
    if (entry.dtype != dtype_of<T> || entry.end - entry.begin != std::ssize(std::as_bytes(out))) {
      throw FormatError(text(path(), ": tensor ", detail::in_quotes(name), " is ", entry.dtype, " ",
                             detail::to_text(entry.shape), ", not ", out.size(), " of ",
                             dtype_of<T>));
    }
    file_.read_at(data_begin_ + entry.begin, std::as_writable_bytes(out));
  }

  //! Copies elements `first` and following of the tensor of that name, which has type T and so
  //! many.
  template <FileElement T>
  void read_part(std::string_view name, index_t first, std::span<T> out) const {
    const auto& entry = tensor(name);
    const index_t elements = (entry.end - entry.begin) / index_t{sizeof(T)};
    if (entry.dtype != dtype_of<T> || first < 0 || first > elements - std::ssize(out)) {
      throw FormatError(text(path(), ": tensor ", detail::in_quotes(name), " is ", entry.dtype, " ",
                             detail::to_text(entry.shape), ", not ", dtype_of<T>, " with elements ",
                             first, " to ", first + std::ssize(out)));
    }
    file_.read_at(data_begin_ + entry.begin + first * index_t{sizeof(T)},
                  std::as_writable_bytes(out));
  }

  //! Copies the bytes of a tensor of any type; there must be exactly `out.size()`.
  void read_bytes(std::string_view name, std::span<std::byte> out) const {
    const auto& entry = tensor(name);
    if (entry.end - entry.begin != std::ssize(out)) {
      throw FormatError(text(path(), ": tensor ", detail::in_quotes(name), " has ",
                             entry.end - entry.begin, " bytes, not ", out.size()));
    }
    file_.read_at(data_begin_ + entry.begin, out);
  }

 private:
  void read_header(index_t most_header_bytes) {
    const index_t file_bytes = file_.bytes();
    std::uint64_t length = 0;
    constexpr index_t length_bytes = sizeof length;
    if (file_bytes < length_bytes) {
      throw FormatError(text(path(), ": has ", file_bytes, " bytes, not even a header's length"));
    }
    file_.read_at(0, std::as_writable_bytes(std::span(&length, 1)));
    if (length > static_cast<std::uint64_t>(most_header_bytes)) {
      if (length > static_cast<std::uint64_t>(file_bytes)) {
        throw FormatError(text(path(), ": is no safetensors file: has ", file_bytes,
                               " bytes, but its first 8 name a header of ", length));
      }
      throw FormatError(text(path(), ": a header of ", length,
                             " bytes is longer than the limit of ", most_header_bytes));
    }
    data_begin_ = length_bytes + static_cast<index_t>(length);
    if (data_begin_ > file_bytes) {
      throw FormatError(
          text(path(), ": has ", file_bytes, " bytes, but its header ends at ", data_begin_));
    }
    std::string header(length, '\0');
    file_.read_at(length_bytes, std::as_writable_bytes(std::span(header)));
    // The parser would skip a byte order mark and take a NUL for the end.
    if (!header.starts_with('{') || header.find('\0') != std::string::npos) {
      throw FormatError(text(path(), ": the header is damaged: it is not a JSON object"));
    }
    detail::SafetensorsHeaderReader reader(path());
    nlohmann::json::sax_parse(header, &reader);
    tensors_ = std::move(reader.tensors);
    metadata_ = std::move(reader.metadata);
  }

  void check_layout() {
    const index_t file_bytes = file_.bytes();
    std::sort(tensors_.begin(), tensors_.end(), [](const TensorEntry& a, const TensorEntry& b) {
      return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    index_t end = 0;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const auto& entry = tensors_[i];
      const auto refuse = [&](const std::string& why) {
        throw FormatError(text(path(), ": tensor ", detail::in_quotes(entry.name), " ", why));
      };
      if (!by_name_.emplace(entry.name, i).second) refuse("is there twice");
      if (entry.begin != end || entry.end < entry.begin) {
        refuse(
            text("lies at bytes ", entry.begin, " to ", entry.end, ", but should begin at ", end));
      }
      const auto bytes = bytes_of(entry.dtype, entry.shape);
      if (bytes != entry.end - entry.begin) {
        refuse(text("has ", entry.end - entry.begin, " bytes, which is not what ", entry.dtype, " ",
                    detail::to_text(entry.shape), " takes"));
      }
      end = entry.end;
    }
    if (end != file_bytes - data_begin_) {
      throw FormatError(text(path(), ": has ", file_bytes - data_begin_,
                             " bytes after its header, but its tensors have ", end));
    }
  }

  RegularFile file_;
  index_t data_begin_ = 0;
  std::vector<TensorEntry> tensors_;
  std::map<std::string_view, std::size_t> by_name_;  // names in, and positions of, tensors_
  Metadata metadata_;
};

}  // namespace weft::io
