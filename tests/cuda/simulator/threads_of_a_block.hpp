// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The threads of a block of a GPU, one after the other on a thread of the processor.
//!
//! Each has a stack of its own and runs until it waits for others: for those of its warp, whenever
//! these exchange numbers, or for those of its block. When all have come that are waited for, they
//! go on. The order in which threads run is turned round at every such place: what depends on an
//! order that a GPU does not promise gives other results.
#pragma once

#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

#include <ucontext.h>

struct uint3 {
  unsigned x = 0, y = 0, z = 0;
};

struct dim3 {
  unsigned x = 1, y = 1, z = 1;

  dim3() = default;
  dim3(unsigned width, unsigned height = 1, unsigned depth = 1) : x(width), y(height), z(depth) {}
};

// As kernels know them.
inline thread_local uint3 threadIdx, blockIdx;
inline thread_local dim3 blockDim, gridDim;

namespace simulator {

inline constexpr unsigned warp_size = 32;

//! Ends the program: a GPU would hang, or do anything.
[[noreturn]] inline void refuse(const char* what) {
  std::fprintf(stderr, "simulated GPU: %s; thread (%u, %u, %u) of block (%u, %u, %u)\n", what,
               threadIdx.x, threadIdx.y, threadIdx.z, blockIdx.x, blockIdx.y, blockIdx.z);
  std::abort();
}

//! The stack of one thread, and where on it the thread is.
class Fiber {
 public:
  //! Calls `run` on a stack of its own at the first `resume`; `run` never returns.
  void start(void (*run)()) {
    stack_.resize(stack_bytes);
    getcontext(&context_);
    context_.uc_stack.ss_sp = stack_.data();
    context_.uc_stack.ss_size = stack_.size();
    context_.uc_link = nullptr;
    makecontext(&context_, run, 0);
  }

  //! Goes on where it was, until it calls `leave`. (A context is entered once, since each time asks
  //! the kernel for the mask of signals.)
  void resume(std::jmp_buf& from) {
    if (_setjmp(from) != 0) return;
    if (entered_) _longjmp(here_, 1);
    entered_ = true;
    setcontext(&context_);
  }

  void leave(std::jmp_buf& to) {
    if (_setjmp(here_) == 0) _longjmp(to, 1);
  }

 private:
  static constexpr std::size_t stack_bytes = 128 * 1024;

  std::vector<char> stack_;
  ucontext_t context_{};
  std::jmp_buf here_{};
  bool entered_ = false;
};

//! All that may be in a block, kept from block to block.
class Threads {
 public:
  //! Those of the calling thread of the processor.
  static Threads& here() {
    static thread_local Threads threads;
    return threads;
  }

  //! Runs `body` on `blockDim` threads.
  void run(const std::function<void()>& body) {
    const unsigned count = blockDim.x * blockDim.y * blockDim.z;
    if (count == 0 || count > 1024) refuse("a block has 1 to 1024 threads");
    body_ = &body;
    grow(count);
    block_ = {count, 0, 0};
    warps_.assign((count + warp_size - 1) / warp_size, {});
    for (unsigned t = 0; t < count; ++t) {
      threads_[t]->state = State::ready;
      ++warps_[t / warp_size].group.alive;
    }
    for (bool backwards = false; block_.alive > 0; backwards = !backwards) {
      bool moved = false;
      for (unsigned i = 0; i < count; ++i) {
        const unsigned t = backwards ? count - 1 - i : i;
        if (!can_run(t)) continue;
        moved = true;
        resume(t);
      }
      if (!moved) refuse("threads wait for others that never come");
    }
  }

  //! __syncthreads: those that have ended are not waited for.
  void wait_for_block() { wait(State::at_block, block_); }

  //! Each lane of the warp gives a number, and gets `pick(of_lane)`, where `of_lane(i)` is that of
  //! lane i.
  template <class T, class Pick>
  auto exchange(unsigned lanes, const T& mine, Pick pick) {
    static_assert(sizeof(T) <= largest_number && std::is_trivially_copyable_v<T>);
    Warp& warp = warps_[current_ / warp_size];
    if (lanes != ~0u) refuse("an exchange is not of all lanes");
    // One half is written while the slowest lane still reads the other.
    auto& numbers = warp.numbers[warp.group.passed % 2];
    std::memcpy(numbers[current_ % warp_size], &mine, sizeof mine);
    if (warp.group.alive != warp_size) refuse("a lane of an exchange has ended");
    wait(State::at_warp, warp.group);
    return pick([&numbers](unsigned lane) -> const T& {
      return *std::launder(reinterpret_cast<const T*>(numbers[lane]));
    });
  }

  void wait_for_warp() { wait(State::at_warp, warps_[current_ / warp_size].group); }

  [[nodiscard]] unsigned lane() const { return current_ % warp_size; }

 private:
  static constexpr std::size_t largest_number = 32;
  enum class State { ready, at_warp, at_block, ended };

  //! Threads that wait for one another.
  struct Group {
    unsigned alive = 0, waiting = 0;
    std::uint64_t passed = 0;  // how often all have come
  };
  struct Warp {
    Group group;
    alignas(16) char numbers[2][warp_size][largest_number];
  };
  struct Thread {
    Fiber fiber;
    State state = State::ended;
    std::uint64_t waits_for = 0;  // how often its group has to have come
  };

  void grow(unsigned count) {
    while (threads_.size() < count) {
      threads_.push_back(std::make_unique<Thread>());
      threads_.back()->fiber.start([] { here().live(); });
    }
  }

  [[nodiscard]] bool can_run(unsigned t) const {
    const Thread& thread = *threads_[t];
    switch (thread.state) {
      case State::ready:
        return true;
      case State::at_warp:
        return warps_[t / warp_size].group.passed >= thread.waits_for;
      case State::at_block:
        return block_.passed >= thread.waits_for;
      case State::ended:
        break;
    }
    return false;
  }

  void resume(unsigned t) {
    current_ = t;
    threadIdx = {t % blockDim.x, t / blockDim.x % blockDim.y, t / (blockDim.x * blockDim.y)};
    threads_[t]->fiber.resume(scheduler_);
  }

  //! What a fiber does for ever: the body for each block.
  void live() {
    for (;;) {
      (*body_)();
      threads_[current_]->state = State::ended;
      end(block_);
      end(warps_[current_ / warp_size].group);
      threads_[current_]->fiber.leave(scheduler_);
    }
  }

  void wait(State state, Group& group) {
    Thread& thread = *threads_[current_];
    thread.waits_for = group.passed + 1;
    thread.state = state;
    ++group.waiting;
    pass(group);
    thread.fiber.leave(scheduler_);
    thread.state = State::ready;
  }

  static void end(Group& group) {
    --group.alive;
    if (group.waiting > 0) pass(group);
  }

  static void pass(Group& group) {
    if (group.waiting < group.alive) return;
    group.waiting = 0;
    ++group.passed;
  }

  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<Warp> warps_;
  Group block_;
  const std::function<void()>* body_ = nullptr;
  std::jmp_buf scheduler_{};
  unsigned current_ = 0;
};

}  // namespace simulator
