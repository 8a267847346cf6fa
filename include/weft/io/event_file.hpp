// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Figures of a run, as TensorBoard reads them.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <unistd.h>

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/io/file_descriptor.hpp>

namespace weft::io {

namespace detail {

//! The checksum of Castagnoli's polynomial, as TensorFlow's records mask it.
//!
//! **Source.** RFC 3720, B.4; tensorflow/core/lib/hash/crc32c.h.
[[nodiscard]] constexpr std::uint32_t masked_crc32c(std::string_view bytes) {
  std::uint32_t crc = 0xffffffffu;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1u) != 0 ? 0x82f63b78u : 0u);
  }
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

template <class Number>
void append_bytes(std::string& to, Number number) {
  const auto bytes = std::bit_cast<std::array<char, sizeof(Number)>>(number);
  to.append(bytes.data(), bytes.size());
}

//! The parts of a message of Protocol Buffers that an event has.
class ProtobufMessage {
 public:
  ProtobufMessage& number(int field, double value) {
    key(field, 1);
    append_bytes(bytes_, value);
    return *this;
  }
  ProtobufMessage& number(int field, float value) {
    key(field, 5);
    append_bytes(bytes_, value);
    return *this;
  }
  ProtobufMessage& integer(int field, index_t value) {
    key(field, 0);
    varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  ProtobufMessage& bytes(int field, std::string_view value) {
    key(field, 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  [[nodiscard]] const std::string& encoded() const { return bytes_; }

 private:
  void key(int field, int type) { varint(static_cast<std::uint64_t>(field << 3 | type)); }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

}  // namespace detail

//! A file of scalars that TensorBoard draws as curves. Each is on its way to the disk when `add`
//! returns, so that the curves of a run can be looked at while it goes on.
//!
//! **Source.** tensorflow/core/util/event.proto and tensorflow/core/lib/io/record_writer.cc.
class EventFile {
 public:
  //! Makes a file with a name of its own in the folder, which is made too.
  //!
  //! **Errors.** SystemError if that is not possible.
  explicit EventFile(const std::string& folder) {
    std::error_code ignored;
    std::filesystem::create_directories(folder, ignored);
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    static std::atomic<int> made{0};  // in this process, which may make several in a second
    path_ = text(folder, "/events.out.tfevents.", static_cast<index_t>(seconds_now()), ".", host,
                 ".", getpid(), ".", made++);
    file_.open(path_, std::ios::binary | std::ios::trunc);
    if (!file_.is_open()) throw system_error("write", path_);
    write(detail::ProtobufMessage().number(1, seconds_now()).bytes(3, "brain.Event:2"));
  }

  //! Where it is.
  [[nodiscard]] const std::string& path() const { return path_; }

  //! Adds the value of a curve after a number of updates.
  //!
  //! **Errors.** SystemError if it cannot be written, as where the disk is full.
  void add(std::string_view curve, index_t updates, double value) {
    const auto scalar =
        detail::ProtobufMessage().bytes(1, curve).number(2, static_cast<float>(value));
    const auto summary = detail::ProtobufMessage().bytes(1, scalar.encoded());
    write(detail::ProtobufMessage()
              .number(1, seconds_now())
              .integer(2, updates)
              .bytes(5, summary.encoded()));
  }

 private:
  static double seconds_now() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  }

  //! A record: its length, the bytes, and checksums of both.
  void write(const detail::ProtobufMessage& event) {
    std::string length;
    detail::append_bytes(length, std::uint64_t{event.encoded().size()});
    std::string record = length;
    detail::append_bytes(record, detail::masked_crc32c(length));
    record += event.encoded();
    detail::append_bytes(record, detail::masked_crc32c(event.encoded()));
    if (!file_.write(record.data(), static_cast<std::streamsize>(record.size())).flush()) {
      throw system_error("write", path_);
    }
  }

  std::string path_;
  std::ofstream file_;
};

}  // namespace weft::io
