// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The memory of GPUs: what was allocated, which bytes were written, and by which block.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "byte_records.hpp"
#include "statements.hpp"
#include "touch.hpp"

namespace emulator {

//! How many GPUs there are.
inline int gpus() {
  static const char* const wanted = std::getenv("EMULATED_GPUS");
  static const int count = wanted == nullptr ? 1 : std::atoi(wanted);
  return count;
}

//! What the GPUs have given out. Bytes begin as those of NaN; of each it is known whether anything
//! has written it, and which blocks of a launch have touched it.
class Memory {
 public:
  static Memory& of_all() {
    static Memory memory;
    return memory;
  }

  //! Null if there is no more.
  void* allocate(std::size_t bytes, int gpu) {
    const std::lock_guard lock(mutex_);
    const std::size_t size = std::max<std::size_t>(bytes, 1);
    auto history = std::make_shared<ByteRecords<History>>(size);
    void* const data = map(size, PROT_READ | PROT_WRITE);
    if (!history->valid() || data == nullptr) {
      if (data != nullptr) munmap(data, size);
      return nullptr;
    }
    std::memset(data, 0xff, size);
    const auto begin = reinterpret_cast<std::uint64_t>(data);
    pieces_[begin] = {begin, size, gpu, std::move(history)};
    ++changes_;
    return data;
  }

  //! Whether that had been given out.
  bool free(void* data) {
    const std::lock_guard lock(mutex_);
    const auto piece = pieces_.find(reinterpret_cast<std::uint64_t>(data));
    if (piece == pieces_.end()) return false;
    munmap(data, piece->second.bytes);
    pieces_.erase(piece);
    ++changes_;
    return true;
  }

  //! Addresses without memory, in pages of `page_bytes`; null if there are no more.
  void* reserve(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    auto history = std::make_shared<ByteRecords<History>>(bytes);
    void* const data = map(bytes, PROT_NONE);
    if (!history->valid() || data == nullptr) return nullptr;
    const auto begin = reinterpret_cast<std::uint64_t>(data);
    auto* const has_memory = &reserved_[begin];
    has_memory->assign(bytes / page_bytes, false);
    pieces_[begin] = {begin, bytes, -1, std::move(history), has_memory};
    ++changes_;
    return data;
  }

  //! Whether these are addresses that were reserved, whole pages.
  [[nodiscard]] bool is_reserved(std::uint64_t address, std::size_t bytes) const {
    const std::lock_guard lock(mutex_);
    const Piece piece = find(address);
    return piece.has_memory != nullptr && (address - piece.begin) % page_bytes == 0 &&
           bytes % page_bytes == 0 && address + bytes <= piece.begin + piece.bytes;
  }

  //! Puts a GPU's memory behind a page, or takes it away. False if that was so before.
  bool set_memory(std::uint64_t address, bool has, int gpu) {
    const std::lock_guard lock(mutex_);
    Piece& piece = (--pieces_.upper_bound(address))->second;
    const auto offset = address - piece.begin;
    auto page = piece.has_memory->begin() + static_cast<std::ptrdiff_t>(offset / page_bytes);
    if (*page == has) return false;
    *page = has;
    piece.gpu = gpu;
    void* const data = reinterpret_cast<void*>(address);
    piece.history->clear(offset, page_bytes);
    if (!has) madvise(data, page_bytes, MADV_DONTNEED);
    mprotect(data, page_bytes, has ? PROT_READ | PROT_WRITE : PROT_NONE);
    if (has) std::memset(data, 0xff, page_bytes);
    ++changes_;
    return true;
  }

  //! Gives addresses back. False while there is memory behind any.
  bool free_addresses(std::uint64_t address) {
    const std::lock_guard lock(mutex_);
    const auto pages = reserved_.find(address);
    if (pages == reserved_.end() ||
        std::find(pages->second.begin(), pages->second.end(), true) != pages->second.end()) {
      return false;
    }
    munmap(reinterpret_cast<void*>(address), pieces_[address].bytes);
    pieces_.erase(address);
    reserved_.erase(pages);
    ++changes_;
    return true;
  }

  //! What has memory at once.
  static constexpr std::size_t page_bytes = 4096;
  //! How many of these somebody has, mapped or not.
  std::atomic<std::size_t> physical_pages{0};

  //! The GPU whose memory that is; -1: the host's.
  [[nodiscard]] int gpu_of(const void* data) const {
    const std::lock_guard lock(mutex_);
    return find(reinterpret_cast<std::uint64_t>(data)).gpu;
  }

  //! Null, or what is wrong when a thread of a block touches these bytes. Blocks of all launches
  //! have numbers of their own. `values`: what it writes; those of several threads may be the same.
  const char* touch(std::uint64_t address, unsigned bytes, Access access, int gpu,
                    std::uint32_t block, Touch now, const std::byte* values) {
    // Most touches are where the one before was.
    static thread_local Piece last;
    static thread_local std::uint64_t as_of = 0;
    if (as_of != changes_ || address < last.begin || address + bytes > last.begin + last.bytes) {
      as_of = changes_;
      const std::lock_guard lock(mutex_);
      last = find(address);
      if (last.bytes == 0) return "an address that was never allocated, or is freed";
      if (address + bytes > last.begin + last.bytes) return "bytes behind an allocation's end";
    }
    if (!last.has(address, bytes)) return "addresses that have no memory";
    if (last.gpu != gpu) return "memory of another GPU";
    const auto another = [&](std::uint32_t who) { return who >= first_ && who != block; };
    const char* wrong = nullptr;
    last.history->all_of(address - last.begin, bytes, [&](History& of) {
      if (access != Access::write && of.writer == 0) {
        wrong = "bytes that nothing has written";
      } else if (access == Access::volatile_read) {
        // A flag or a counter has put it in order.
      } else if (access == Access::read) {
        if (another(of.writer)) wrong = "bytes that another block of the launch writes";
        if (of.writer == block && !of.write.is_atomic && conflicts(of.write, now)) {
          wrong = "bytes that another thread of the block writes";
        }
        if (another(of.reader)) of.reader_before = of.reader;
        if (of.reader != block) of.read = now;
        remember(of.read, now);
        of.reader = block;
      } else {
        if (access == Access::write) {
          if (another(of.reader) || another(of.reader_before)) {
            wrong = "bytes that another block of the launch reads";
          }
          if (another(of.writer)) wrong = "bytes that another block of the launch writes too";
          if (of.reader == block && conflicts(of.read, now)) {
            wrong = "bytes that another thread of the block reads";
          }
          if (of.writer == block && conflicts(of.write, now) &&
              std::memcmp(reinterpret_cast<const std::byte*>(address), values, bytes) != 0) {
            wrong = "bytes to which another thread of the block writes something else";
          }
        }
        of.writer = block;
        of.write = now;
        of.write.is_atomic = access == Access::atomic;
      }
      return wrong == nullptr;
    });
    return wrong;
  }

  //! Ends the program if bytes begin in an allocation and end behind it. (Others are the host's.)
  void expect_room(const void* data, std::size_t bytes) const {
    const std::lock_guard lock(mutex_);
    const auto address = reinterpret_cast<std::uint64_t>(data);
    const Piece piece = find(address);
    if (piece.bytes > 0 && address + bytes > piece.begin + piece.bytes) {
      end("emulated GPU: a copy, or a product, goes behind an allocation's end");
    }
    if (!piece.has(address, bytes)) {
      end("emulated GPU: a copy, or a product, of addresses that have no memory");
    }
  }

  //! Ends the program unless the bytes are that GPU's and have been written.
  void expect_written(const void* data, std::size_t bytes, int gpu) const {
    expect_room(data, bytes);
    const std::lock_guard lock(mutex_);
    const auto address = reinterpret_cast<std::uint64_t>(data);
    const Piece piece = find(address);
    if (piece.gpu != gpu) end("emulated GPU: a product reads memory of another GPU");
    const bool all_are = piece.history->all_of(address - piece.begin, bytes,
                                               [](const History& of) { return of.writer != 0; });
    if (!all_are) end("emulated GPU: a product reads bytes that nothing has written");
  }

  //! Bytes that something other than a block has written.
  void written(const void* data, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto address = reinterpret_cast<std::uint64_t>(data);
    const Piece piece = find(address);
    if (piece.bytes == 0) return;
    piece.history->all_of(address - piece.begin, bytes, [](History& of) {
      if (of.writer == 0) of.writer = by_no_block;
      return true;
    });
  }

  //! Bytes that were copied: what nobody had written is still nobody's. The host's count as
  //! written.
  void copied(const void* to, const void* from, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto target = reinterpret_cast<std::uint64_t>(to);
    const auto source = reinterpret_cast<std::uint64_t>(from);
    const Piece of_target = find(target), of_source = find(source);
    if (of_target.bytes == 0) return;
    const auto is_written = [&](std::size_t i) {
      return of_source.bytes == 0 || (*of_source.history)[source - of_source.begin + i].writer != 0;
    };
    for (std::size_t begin = 0, end = 0; begin < bytes; begin = end) {
      const bool written = is_written(begin);
      while (end < bytes && is_written(end) == written) ++end;
      of_target.history->all_of(target - of_target.begin + begin, end - begin, [&](History& of) {
        of.writer = written ? by_no_block : 0;
        return true;
      });
    }
  }

  //! The number of a launch's first block.
  std::uint32_t begin_launch(std::uint32_t blocks) {
    first_ = next_;
    next_ += blocks;
    return first_;
  }

 private:
  //! The block that wrote a byte last, 0: none; that read it last, and another before. And which
  //! threads of the two last did.
  struct History {
    std::uint32_t writer, reader, reader_before;
    Touch write, read;
  };
  static constexpr std::uint32_t by_no_block = 1;

  struct Piece {
    std::uint64_t begin = 0;
    std::size_t bytes = 0;
    int gpu = -1;
    std::shared_ptr<ByteRecords<History>> history;
    std::vector<bool>* has_memory = nullptr;  // by page, where addresses were reserved

    //! Whether there is memory behind some of its addresses.
    [[nodiscard]] bool has(std::uint64_t address, std::size_t size) const {
      if (has_memory == nullptr || size == 0) return true;
      const auto first = (address - begin) / page_bytes;
      const auto end = (address + size - 1 - begin) / page_bytes + 1;
      const auto pages = has_memory->begin();
      return std::find(pages + static_cast<std::ptrdiff_t>(first),
                       pages + static_cast<std::ptrdiff_t>(end),
                       false) == pages + static_cast<std::ptrdiff_t>(end);
    }
  };

  static void* map(std::size_t bytes, int protection) {
    void* const data =
        mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return data == MAP_FAILED ? nullptr : data;
  }

  //! The piece that an address is in; of no bytes if there is none.
  [[nodiscard]] Piece find(std::uint64_t address) const {
    auto piece = pieces_.upper_bound(address);
    if (piece == pieces_.begin()) return {};
    --piece;
    return address < piece->second.begin + piece->second.bytes ? piece->second : Piece{};
  }

  mutable std::mutex mutex_;
  std::map<std::uint64_t, Piece> pieces_;
  std::map<std::uint64_t, std::vector<bool>> reserved_;  // which pages have memory
  std::atomic<std::uint64_t> changes_{1};  // of the pieces
  std::uint32_t next_ = by_no_block + 1, first_ = next_;
};

}  // namespace emulator
