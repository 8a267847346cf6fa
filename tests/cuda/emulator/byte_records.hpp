// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What is known of every byte of a memory.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace emulator {

//! A record for each byte, which begins as zeros. The bytes of a word share one until fewer of them
//! are touched: almost all touches are of whole words, and would write the same record four times.
template <class Record>
class ByteRecords {
 public:
  ByteRecords() = default;
  //! Not `valid`, if the machine has no addresses left.
  explicit ByteRecords(std::size_t bytes)
      : bytes_(bytes),
        words_(map<Record>(words())),
        apart_(map<Record>(words() * word)),
        is_apart_(map<bool>(words())) {}
  ByteRecords(ByteRecords&& other) noexcept { swap(other); }
  ByteRecords& operator=(ByteRecords&& other) noexcept {
    swap(other);
    return *this;
  }
  ~ByteRecords() {
    unmap(words_, words());
    unmap(apart_, words() * word);
    unmap(is_apart_, words());
  }

  [[nodiscard]] bool valid() const {
    return words_ != nullptr && apart_ != nullptr && is_apart_ != nullptr;
  }
  [[nodiscard]] std::size_t size() const { return bytes_; }

  [[nodiscard]] const Record& operator[](std::size_t byte) const {
    return is_apart_[byte / word] ? apart_[byte] : words_[byte / word];
  }

  //! Calls `f` with the records of bytes until it says false, and returns whether it never did.
  template <class F>
  bool all_of(std::size_t begin, std::size_t bytes, const F& f) {
    const std::size_t end = begin + bytes;
    while (begin < end) {
      const std::size_t in_word = begin / word;
      const bool whole = begin % word == 0 && end - begin >= word;
      if (!whole) set_apart(in_word);
      if (!is_apart_[in_word]) {
        if (!f(words_[in_word])) return false;
        begin += word;
        continue;
      }
      for (; begin < end && begin / word == in_word; ++begin) {
        if (!f(apart_[begin])) return false;
      }
    }
    return true;
  }

  //! Bytes of a word share the record again that they shared last.
  void forget_bytes() { std::memset(is_apart_, 0, words()); }

  //! Makes bytes' records zeros again, of whole words.
  void clear(std::size_t begin, std::size_t bytes) {
    std::memset(static_cast<void*>(words_ + begin / word), 0, bytes / word * sizeof(Record));
    std::memset(is_apart_ + begin / word, 0, bytes / word);
  }

 private:
  static constexpr std::size_t word = 4;

  [[nodiscard]] std::size_t words() const { return (bytes_ + word - 1) / word; }

  void set_apart(std::size_t in_word) {
    if (is_apart_[in_word]) return;
    is_apart_[in_word] = true;
    for (std::size_t i = 0; i < word; ++i) apart_[in_word * word + i] = words_[in_word];
  }

  void swap(ByteRecords& other) {
    std::swap(bytes_, other.bytes_);
    std::swap(words_, other.words_);
    std::swap(apart_, other.apart_);
    std::swap(is_apart_, other.is_apart_);
  }

  //! Zeros, which take memory where they are written.
  template <class T>
  static T* map(std::size_t count) {
    if (count == 0) return nullptr;
    void* const mapped = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return mapped == MAP_FAILED ? nullptr : static_cast<T*>(mapped);
  }
  template <class T>
  static void unmap(T* mapped, std::size_t count) {
    if (mapped != nullptr) munmap(mapped, count * sizeof(T));
  }

  std::size_t bytes_ = 0;
  Record *words_ = nullptr, *apart_ = nullptr;
  bool* is_apart_ = nullptr;
};

}  // namespace emulator
