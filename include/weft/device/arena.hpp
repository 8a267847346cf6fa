// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Memory that is asked of the system once and then reused.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/device/host_memory.hpp>
#include <weft/device/memory_source.hpp>

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
  bool free;                 //!< whether no copy of Memory holds it
};

//! A best-fit allocator over large segments; neighbouring free blocks are joined.
//!
//! Lists of size classes never stop growing when shapes vary from batch to batch: after 60 steps
//! of sentence batches they held 1,460 MB for 309 MB in use. Joining free neighbours keeps what is
//! held near the peak of what is used. A segment with room grows by no more than is missing behind
//! what is free at its end, and never shrinks; of those without, free ones go back to the system
//! where more would be held.
//!
//! Blocks are aligned as their source says. Thread-safe: a tensor may be dropped on any thread.
class Arena {
 public:
  //! An arena over a source of segments.
  explicit Arena(MemorySource source = host_memory) : source_(source) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  ~Arena() {
    for (const Segment& segment : segments_) source_.give_back(segment);
  }

  //! **Errors.** std::bad_alloc's text is of no use to a reader: a SystemError says what was asked
  //! for and what is held. Whatever fails, what was handed out and what is free stay as they
  //! were, but for free segments that went back.
  [[nodiscard]] Memory allocate(index_t bytes) {
    const std::scoped_lock lock(mutex_);
    // A block and what is left behind it: nothing may fail between them.
    if (spare_ == nullptr || spare_->free_next == nullptr) add_records();
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

  //! Whether free segments stay where more memory is asked for: those who use what was given back
  //! might not have begun.
  void keep_segments(bool keep) {
    const std::scoped_lock lock(mutex_);
    keeps_segments_ = keep;
  }

  //! Gives free segments back to the system, those too that were to be kept: who used them must be
  //! done. Whether there were any.
  bool give_back_free() {
    const std::scoped_lock lock(mutex_);
    const index_t held = statistics_.held;
    give_back_segments(0);
    return statistics_.held < held;
  }

  //! Starts the record of the peak anew from what is live now.
  void reset_peak() {
    const std::scoped_lock lock(mutex_);
    statistics_.peak = statistics_.live;
  }

 private:
  friend Memory;
  using Block = Memory::Block;

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
    if (source_.unused != nullptr) source_.unused(source_.context, block->data, block->size);
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

  //! A block of at least `size` that the system had to be asked for.
  Block* grow(index_t size) {
    if (Block* block = grow_last_segment(size); block != nullptr) return block;
    // Arrays that grow, such as a decoder's caches, leave segments that are all too small.
    const index_t most = 2 * std::max(statistics_.peak, statistics_.live + size) + least_segment;
    if (!keeps_segments_) give_back_segments(most - size);
    segments_.reserve(segments_.size() + 1);
    Segment segment = source_.request(size);
    if (segment.data == nullptr && !keeps_segments_) {
      give_back_segments(0);
      segment = source_.request(size);
    }
    if (segment.data == nullptr) {
      throw SystemError(text("out of memory: asked the system for ", size, " bytes while holding ",
                             statistics_.held, ", of which ", statistics_.live, " are in use"));
    }
    segments_.push_back(segment);
    count_request(segment.size);
    last_ = new_block(segment.data, segment.size, nullptr, nullptr);
    return last_;
  }

  //! The same from what is free at the end of the last segment and what was missing behind it; null
  //! if the segment cannot grow by that.
  Block* grow_last_segment(index_t size) {
    if (last_ == nullptr) return nullptr;
    Segment& segment = segments_.back();
    const index_t before = segment.size;
    const index_t missing = last_->free ? size - last_->size : size;
    if (segment.room - before < missing) return nullptr;
    Block* const last = last_;
    Block* const block = last->free ? last : new_block(segment.data + before, 0, last, nullptr);
    if (!source_.grow(segment, missing)) {
      if (block != last) absorb_next(last);
      return nullptr;
    }
    count_request(segment.size - before);
    if (block == last) remove(block);  // from those that are free
    block->size += segment.size - before;
    last_ = block;
    return block;
  }

  void count_request(index_t bytes) {
    statistics_.held += bytes;
    ++statistics_.system_requests;
  }

  //! Gives whole free segments back as long as more than `most` bytes are held.
  void give_back_segments(index_t most) {
    bool has_waited = source_.wait == nullptr;
    for (Block* block : bins_) {
      while (block != nullptr && statistics_.held > most) {
        Block* const next = block->free_next;
        if (block->previous == nullptr && block->next == nullptr) {
          if (!std::exchange(has_waited, true)) source_.wait(source_.context);
          remove(block);
          if (block == last_) last_ = nullptr;
          const auto segment =
              std::find_if(segments_.begin(), segments_.end(),
                           [&](const Segment& s) { return s.data == block->data; });
          statistics_.held -= segment->size;
          source_.give_back(*segment);
          segments_.erase(segment);
          free_record(block);
        }
        block = next;
      }
    }
  }

  //! Gives back what `block` has beyond `size`.
  void split(Block& block, index_t size) {
    if (block.size - size < source_.alignment) return;
    Block* const rest = new_block(block.data + size, block.size - size, &block, block.next);
    if (last_ == &block) last_ = rest;
    block.size = size;
    insert(rest);
  }

  void absorb_next(Block* block) {
    Block* next = block->next;
    block->size += next->size;
    block->next = next->next;
    if (next->next != nullptr) next->next->previous = block;
    if (last_ == next) last_ = block;
    free_record(next);
  }

  //! A block between its neighbours in a segment. Its record lies apart from what it describes:
  //! that may be memory which only a GPU can reach. There has to be one to spare.
  Block* new_block(std::byte* data, index_t size, Block* previous, Block* next) {
    Block* const block = spare_;
    spare_ = block->free_next;
    block->arena = this;
    block->data = data;
    block->size = size;
    block->previous = previous;
    block->next = next;
    block->free = false;
    if (previous != nullptr) previous->next = block;
    if (next != nullptr) next->previous = block;
    return block;
  }

  void add_records() {
    records_.push_back(std::make_unique<std::array<Block, records_at_once>>());
    for (Block& record : *records_.back()) free_record(&record);
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
  std::vector<Segment> segments_;
  Block* last_ = nullptr;  //!< of the last segment; null once that went back
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
