// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A warp: the registers of its lanes, and where each of them is in the program.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "block.hpp"
#include "counts.hpp"
#include "fault.hpp"
#include "program.hpp"
#include "statements.hpp"
#include "touch.hpp"

namespace emulator {

class Warp {
 public:
  enum class State { runs, at_barrier, ended };

  //! Registers as a launch finds them.
  void prepare(Block& block, unsigned number) {
    block_ = &block;
    number_ = number;
    const Kernel& kernel = *block.kernel;
    registers_ = kernel.registers;
    local_.assign(kernel.local_bytes * warp_size, std::byte{0xff});
  }

  //! Begins the kernel for the block's number.
  void begin() {
    const Triple threads = block_->threads;
    const unsigned count = threads.x * threads.y * threads.z, first = number_ * warp_size;
    alive_ = count - first >= warp_size ? all_lanes : (Mask{1} << (count - first)) - 1;
    groups_.assign(1, {0, alive_, false});
    state_ = State::runs;
    waits_ = 0;
    products_.clear();
    may_multiply_ = multiplies_ = false;
    copies.clear();
    for (const auto& [place, special] : block_->kernel->specials) {
      for (unsigned lane = 0; lane < warp_size; ++lane) {
        at<std::uint32_t>(place)[lane] = value_of(special, first + lane);
      }
    }
  }

  //! Goes on until the block's barrier, or the end.
  void run();

  [[nodiscard]] State state() const { return state_; }

  //! All have come to the barrier.
  void pass_barrier() {
    const Instruction& barrier = block_->kernel->instructions[groups_[0].next];
    if (barrier.run != nullptr) barrier.run(*this, barrier, groups_[0].lanes);
    ++groups_[0].next;
    state_ = State::runs;
  }

  //! A register's values, one a lane.
  template <class T>
  [[nodiscard]] T* at(std::uint32_t place) {
    return reinterpret_cast<T*>(registers_.data() + place);
  }
  //! A predicate.
  [[nodiscard]] Mask& mask(std::uint32_t place) { return *at<Mask>(place); }

  [[nodiscard]] std::byte* local(unsigned lane) {
    return local_.data() + lane * block_->kernel->local_bytes;
  }
  [[nodiscard]] Block& block() { return *block_; }
  [[nodiscard]] unsigned number() const { return number_; }
  [[nodiscard]] unsigned thread(unsigned lane) const { return number_ * warp_size + lane; }
  [[nodiscard]] Mask alive() const { return alive_; }
  [[nodiscard]] Touch touch(unsigned lane) const {
    return {block_->waits, waits_, static_cast<std::uint16_t>(number_ * warp_size + lane)};
  }
  //! Words that a lane has begun to copy into shared memory, which come when it waits for them.
  struct Copy {
    unsigned lane;
    std::uint64_t to;
    std::byte bytes[16];
  };
  std::vector<Copy> copies;

  //! A product of a warpgroup: what it says of its factors in shared memory, 0 of one in registers.
  struct Product {
    const Instruction* place;
    std::uint64_t left, right;
    bool operator==(const Product&) const = default;
  };
  //! Products are under way between their fence and the wait for them.
  void begin_products() { may_multiply_ = true; }
  void add_product(std::uint64_t left, std::uint64_t right) {
    if (!may_multiply_) refuse("a product without wgmma.fence before it", 0);
    const Triple threads = block_->threads;
    if (threads.x * threads.y * threads.z % (4 * warp_size) != 0) {
      refuse("a product of fewer than four warps", 0);
    }
    products_.push_back({current_, left, right});
    multiplies_ = true;
    are_committed_ = false;
  }
  void commit_products() { are_committed_ = true; }
  void end_products() {
    if (multiplies_ && !are_committed_) refuse("waits for products of no group", 0);
    may_multiply_ = multiplies_ = false;
  }
  //! Those that this warp has come to since the barrier.
  [[nodiscard]] const std::vector<Product>& products() const { return products_; }
  void forget_products() { products_.clear(); }

  //! Lanes have waited for one another.
  void count_wait() { ++waits_; }

  //! Ends the program's run: a GPU would do anything.
  [[noreturn]] void refuse(const std::string& what, unsigned lane) const {
    end("emulated GPU: " + what + "; " + place(lane));
  }

  //! Ends the kernel: it stops itself.
  [[noreturn]] void stop(unsigned lane) const { throw Fault{place(lane)}; }

 private:
  //! Where a lane is.
  [[nodiscard]] std::string place(unsigned lane) const {
    const Triple block = block_->number;
    return "thread " + std::to_string(thread(lane)) + " of block (" + std::to_string(block.x) +
           ", " + std::to_string(block.y) + ", " + std::to_string(block.z) + ") in " +
           block_->kernel->name + ", at " + std::string(current_ == nullptr ? "" : current_->text);
  }

  //! Lanes that are at the same instruction.
  struct Group {
    std::uint32_t next;
    Mask lanes;
    bool waits;  // for others of the warp
  };

  //! The lanes that are furthest behind, of those that need not wait: they may meet others ahead.
  Group take_group();
  //! Lets them go on until they part, wait, end, or meet others.
  void run_group(Group group);
  //! Lanes have ended.
  void leave(Mask lanes);

  [[nodiscard]] std::uint32_t value_of(Special special, unsigned thread) const {
    const Triple threads = block_->threads, blocks = block_->blocks, block = block_->number;
    switch (special) {
      case Special::thread_x:
        return thread % threads.x;
      case Special::thread_y:
        return thread / threads.x % threads.y;
      case Special::thread_z:
        return thread / (threads.x * threads.y);
      case Special::block_x:
        return block.x;
      case Special::block_y:
        return block.y;
      case Special::block_z:
        return block.z;
      case Special::threads_x:
        return threads.x;
      case Special::threads_y:
        return threads.y;
      case Special::threads_z:
        return threads.z;
      case Special::blocks_x:
        return blocks.x;
      case Special::blocks_y:
        return blocks.y;
      case Special::blocks_z:
        return blocks.z;
      case Special::lane:
        return thread % warp_size;
      case Special::lanes_to_here:
        return all_lanes >> (warp_size - 1 - thread % warp_size);
    }
    return 0;
  }

  Block* block_ = nullptr;
  unsigned number_ = 0;
  std::vector<std::byte> registers_, local_;
  std::vector<Group> groups_;
  Mask alive_ = 0;
  State state_ = State::ended;
  std::uint32_t waits_ = 0;
  std::vector<Product> products_;
  bool may_multiply_ = false, multiplies_ = false, are_committed_ = false;
  const Instruction* current_ = nullptr;
};

inline void Warp::run() {
  while (state_ == State::runs) run_group(take_group());
}

inline Warp::Group Warp::take_group() {
  auto chosen = groups_.end();
  for (auto group = groups_.begin(); group != groups_.end(); ++group) {
    if (!group->waits && (chosen == groups_.end() || group->next < chosen->next)) chosen = group;
  }
  if (chosen == groups_.end()) {
    refuse("lanes of a warp wait for one another at different places",
           static_cast<unsigned>(std::countr_zero(groups_.front().lanes)));
  }
  Group taken = *chosen;
  groups_.erase(chosen);
  // Those that are at the same place go along.
  std::erase_if(groups_, [&](const Group& other) {
    if (other.next != taken.next) return false;
    taken.lanes |= other.lanes;
    return true;
  });
  return taken;
}

inline void Warp::run_group(Group group) {
  const auto& instructions = block_->kernel->instructions;
  // Until it comes to where others are, or goes back behind some.
  const auto meets = [&] {
    return std::any_of(groups_.begin(), groups_.end(), [&](const Group& other) {
      return other.next == group.next || (!other.waits && other.next < group.next);
    });
  };
  const auto count = [&](const Instruction& now, Mask lanes) {
    block_->counts->add(now.kind, lanes);
    ++block_->counts->visits[group.next];
  };
  for (bool first = true; first || groups_.empty() || !meets(); first = false) {
    const Instruction& now = instructions[group.next];
    current_ = &now;
    Mask lanes = group.lanes;
    if (now.guard != Instruction::no_register) {
      const Mask predicate = mask(now.guard);
      lanes &= now.guard_is_negated ? ~predicate : predicate;
    }
    const bool needs_all = now.flow == Flow::all_together || now.flow == Flow::barrier;
    if (needs_all && lanes != alive_) {
      group.waits = true;
      groups_.push_back(group);
      return;
    }
    if (multiplies_ && (now.flow == Flow::barrier || now.flow == Flow::leave)) {
      refuse("goes on before its products are done", 0);
    }
    count(now, lanes);
    switch (now.flow) {
      case Flow::next:
      case Flow::all_together:
        if (lanes != 0) now.run(*this, now, lanes);
        ++group.next;
        break;
      case Flow::barrier:
        if (now.run != nullptr && (mask(now.operands[1]) & lanes) != 0) block_->any = true;
        groups_.push_back(group);
        state_ = State::at_barrier;
        return;
      case Flow::branch:
        if (lanes != group.lanes && lanes != 0) {
          groups_.push_back({group.next + 1, group.lanes & ~lanes, false});
          groups_.push_back({now.target, lanes, false});
          return;
        }
        group.next = lanes == 0 ? group.next + 1 : now.target;
        break;
      case Flow::leave:
        leave(lanes);
        group.lanes &= ~lanes;
        ++group.next;
        if (group.lanes == 0) return;
        break;
    }
  }
  groups_.push_back(group);
}

inline void Warp::leave(Mask lanes) {
  for (const Copy& copy : copies) {
    if ((lanes >> copy.lane & 1u) != 0) refuse("ends before its copies have come", copy.lane);
  }
  alive_ &= ~lanes;
  if (alive_ == 0) state_ = State::ended;
  // What others wait for may have come with that.
  for (Group& other : groups_) other.waits = false;
}

}  // namespace emulator
