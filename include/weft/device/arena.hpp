// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Memory that is asked of the system once and then reused.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>

namespace weft {

//! What memory is for. What nobody marks is an activation.
enum class MemoryKind { activations, parameters, gradients, optimizer };

//! What an arena holds, in bytes, and how often it asked the system.
struct ArenaStatistics {
  index_t live = 0;               //!< handed out now
  index_t peak = 0;               //!< the most that was handed out at once
  index_t held = 0;               //!< taken from the system
  index_t system_requests = 0;    //!< how often the system was asked
  std::array<index_t, 4> kept{};  //!< live, by MemoryKind, of what was marked
};

class Arena;

//! A part of an arena's memory, held by a count of its copies and given back with the last of them.
//!
//! The count is in the arena's own record: a std::shared_ptr would allocate a second block for it,
//! from memory that a processor cannot reach where the arena's is a GPU's.
class Memory {
 public:
  Memory() = default;
  //! Holds it once more.
  Memory(const Memory& other) noexcept;
  //! Takes over what the other holds.
  Memory(Memory&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  //! Holds what the other does, and lets go of what it held.
  Memory& operator=(Memory other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Memory() {
    if (block_ != nullptr) release();
  }

  //! Null if nothing is held.
  [[nodiscard]] std::byte* data() const;
  //! Whether it holds nothing.
  [[nodiscard]] bool empty() const { return block_ == nullptr; }

  //! Says what it is for, to whoever asks the arena.
  void mark(MemoryKind kind) const;

 private:
  friend Arena;
  struct Block;

  explicit Memory(Block* block) : block_(block) {}
  void release() noexcept;

  Block* block_ = nullptr;
};

//! A record of neighbouring bytes in a segment, which are in use or free.
struct Memory::Block {
  Arena* arena;              //!< whose it is
  std::byte* data;           //!< the first byte
  index_t size;              //!< in bytes
  Block* previous;           //!< the neighbours in the segment
  Block* next;               //!< the next one in the segment
  Block* free_previous;      //!< the neighbours in the list of free blocks
  Block* free_next;          //!< the next free one
  std::atomic<int> holders;  //!< copies of Memory that hold it
  MemoryKind kind;           //!< what it is for
  bool free;                 //!< whether nobody does
};

//! Where an arena's segments come from: the system's memory, or a GPU's.
struct MemorySource {
  index_t alignment;                //!< of segments and blocks, in bytes
  void* (*request)(index_t bytes);  //!< null where there is no more
  //! Takes a segment back.
  void (*give_back)(void* segment);
};

//! The system's memory in blocks that are aligned to a cache line; of pages of 2 MiB where the
//! system has them: a training step of the base Transformer takes a tenth less time.
inline constexpr MemorySource host_memory{
    64,
    [](index_t bytes) {
      const auto size = static_cast<std::size_t>(bytes);
      void* segment = ::operator new (size, std::align_val_t{2 << 20}, std::nothrow);
      if (segment != nullptr) madvise(segment, size, MADV_HUGEPAGE);  // a wish
      return segment;
    },
    [](void* segment) { ::operator delete (segment, std::align_val_t{2 << 20}); }};

//! A best-fit allocator over large segments; neighbouring free blocks are joined.
//!
//! Lists of size classes never stop growing when shapes vary from batch to batch: after 60 steps
//! of sentence batches they held 1,460 MB for 309 MB in use. Joining free neighbours keeps what is
//! held near the peak of what is used; whole segments go back to the system where it would not be.
//!
//! Blocks are aligned as their source says. Thread-safe: a tensor may be dropped on any thread.
class Arena {
 public:
  //! An arena over a source of segments.
  explicit Arena(MemorySource source = host_memory) : source_(source) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  ~Arena() {
    for (std::byte* segment : segments_) source_.give_back(segment);
  }

  //! **Errors.** std::bad_alloc's text is of no use to a reader: a SystemError says what was asked
  //! for and what is held.
  [[nodiscard]] Memory allocate(index_t bytes) {
    const std::scoped_lock lock(mutex_);
    const index_t size = round_up(bytes < 1 ? 1 : bytes);
    Block* block = take_best_fit(size);
    if (block == nullptr) block = grow(size);
    split(*block, size);
    block->free = false;
    block->kind = MemoryKind::activations;
    block->holders.store(1, std::memory_order_relaxed);
    statistics_.live += block->size;
    if (statistics_.live > statistics_.peak) statistics_.peak = statistics_.live;
    return Memory(block);
  }

  //! What it holds now. Thread-safe.
  [[nodiscard]] ArenaStatistics statistics() const {
    const std::scoped_lock lock(mutex_);
    return statistics_;
  }

  //! Whether segments stay however little of them is in use: those who use what was given back
  //! might not have begun.
  void keep_segments(bool keep) {
    const std::scoped_lock lock(mutex_);
    keeps_segments_ = keep;
  }

  //! Starts the record of the peak anew from what is live now.
  void reset_peak() {
    const std::scoped_lock lock(mutex_);
    statistics_.peak = statistics_.live;
  }

 private:
  friend Memory;
  using Block = Memory::Block;

  static constexpr index_t segment_bytes = index_t{16} << 20;
  static constexpr int bins = 48;
  static constexpr std::size_t records_at_once = 64;

  [[nodiscard]] index_t round_up(index_t bytes) const {
    return (bytes + source_.alignment - 1) / source_.alignment * source_.alignment;
  }

  //! Free blocks are kept in bins by the power of two below their size.
  static int bin_of(index_t size) {
    return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(size))) - 1;
  }

  //! Adds to what is live of the block's kind.
  void count(const Block& block, index_t bytes) {
    if (block.kind == MemoryKind::activations) return;
    statistics_.kept[static_cast<std::size_t>(block.kind)] += bytes;
  }

  void mark(Block& block, MemoryKind kind) {
    const std::scoped_lock lock(mutex_);
    count(block, -block.size);
    block.kind = kind;
    count(block, block.size);
  }

  void take_back(Block* block) noexcept {
    const std::scoped_lock lock(mutex_);
    statistics_.live -= block->size;
    count(*block, -block->size);
    if (Block* next = block->next; next != nullptr && next->free) {
      remove(next);
      absorb_next(block);
    }
    if (Block* previous = block->previous; previous != nullptr && previous->free) {
      remove(previous);
      absorb_next(previous);
      block = previous;
    }
    insert(block);
  }

  void insert(Block* block) {
    Block*& head = bins_[bin_of(block->size)];
    block->free = true;
    block->free_previous = nullptr;
    block->free_next = head;
    if (head != nullptr) head->free_previous = block;
    head = block;
  }

  void remove(Block* block) {
    if (block->free_previous != nullptr) {
      block->free_previous->free_next = block->free_next;
    } else {
      bins_[bin_of(block->size)] = block->free_next;
    }
    if (block->free_next != nullptr) block->free_next->free_previous = block->free_previous;
  }

  Block* take_best_fit(index_t size) {
    for (int bin = bin_of(size); bin < bins; ++bin) {
      Block* best = nullptr;
      for (Block* block = bins_[bin]; block != nullptr; block = block->free_next) {
        if (block->size >= size && (best == nullptr || block->size < best->size)) best = block;
      }
      if (best != nullptr) {
        remove(best);
        return best;
      }
    }
    return nullptr;
  }

  Block* grow(index_t size) {
    const index_t bytes = size > segment_bytes ? size : segment_bytes;
    // Arrays that grow, such as a decoder's caches, leave segments that are all too small.
    const index_t most = 2 * std::max(statistics_.peak, statistics_.live + bytes) + segment_bytes;
    give_back_segments(most - bytes);
    Block* block = new_record();
    void* memory = source_.request(bytes);
    if (memory == nullptr) {
      give_back_segments(0);
      memory = source_.request(bytes);
    }
    if (memory == nullptr) {
      free_record(block);
      throw SystemError(text("out of memory: asked the system for ", bytes, " bytes while holding ",
                             statistics_.held, ", of which ", statistics_.live, " are in use"));
    }
    segments_.push_back(static_cast<std::byte*>(memory));
    statistics_.held += bytes;
    ++statistics_.system_requests;
    block->data = segments_.back();
    block->size = bytes;
    block->previous = block->next = nullptr;
    return block;
  }

  //! Gives whole free segments back as long as more than `most` bytes are held.
  void give_back_segments(index_t most) {
    if (keeps_segments_) return;
    for (Block* block : bins_) {
      while (block != nullptr && statistics_.held > most) {
        Block* const next = block->free_next;
        if (block->previous == nullptr && block->next == nullptr) {
          remove(block);
          std::erase(segments_, block->data);
          statistics_.held -= block->size;
          source_.give_back(block->data);
          free_record(block);
        }
        block = next;
      }
    }
  }

  //! Gives back what `block` has beyond `size`.
  void split(Block& block, index_t size) {
    if (block.size - size < source_.alignment) return;
    Block* rest = new_record();
    rest->data = block.data + size;
    rest->size = block.size - size;
    rest->previous = &block;
    rest->next = block.next;
    if (block.next != nullptr) block.next->previous = rest;
    block.next = rest;
    block.size = size;
    insert(rest);
  }

  void absorb_next(Block* block) {
    Block* next = block->next;
    block->size += next->size;
    block->next = next->next;
    if (next->next != nullptr) next->next->previous = block;
    free_record(next);
  }

  //! Records lie apart from what they describe: that may be memory which only a GPU can reach.
  Block* new_record() {
    if (spare_ == nullptr) {
      records_.push_back(std::make_unique<std::array<Block, records_at_once>>());
      for (Block& record : *records_.back()) free_record(&record);
    }
    Block* record = spare_;
    spare_ = record->free_next;
    record->arena = this;
    return record;
  }

  void free_record(Block* record) {
    record->free_next = spare_;
    spare_ = record;
  }

  MemorySource source_;
  mutable std::mutex mutex_;
  Block* bins_[bins] = {};
  Block* spare_ = nullptr;
  std::vector<std::unique_ptr<std::array<Block, records_at_once>>> records_;
  std::vector<std::byte*> segments_;
  ArenaStatistics statistics_;
  bool keeps_segments_ = false;
};

inline Memory::Memory(const Memory& other) noexcept : block_(other.block_) {
  if (block_ != nullptr) block_->holders.fetch_add(1, std::memory_order_relaxed);
}

inline std::byte* Memory::data() const { return block_ == nullptr ? nullptr : block_->data; }

inline void Memory::mark(MemoryKind kind) const {
  if (block_ != nullptr) block_->arena->mark(*block_, kind);
}

inline void Memory::release() noexcept {
  if (block_->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    block_->arena->take_back(block_);
  }
}

}  // namespace weft
