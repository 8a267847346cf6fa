// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A device whose memory the host cannot reach, on any machine.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <mutex>
#include <span>
#include <string>

#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/device/arena.hpp>
#include <weft/device/cpu.hpp>
#include <weft/device/device.hpp>
#include <weft/device/memory_source.hpp>
#include <weft/device/worker.hpp>
#include <weft/ops/attention_problem.hpp>
#include <weft/ops/column_sums.hpp>
#include <weft/ops/cpu/attention.hpp>
#include <weft/ops/cpu/matmul.hpp>
#include <weft/ops/embedding.hpp>
#include <weft/ops/factor.hpp>
#include <weft/tensor/sequences.hpp>

namespace weft::testing {

namespace detail {

//! The memory of all far devices: closed, but while an operation of one of them runs.
class FarMemory {
 public:
  static FarMemory& all() {
    static FarMemory memory;
    return memory;
  }

  Segment request(index_t bytes) {
    const std::scoped_lock lock(mutex_);
    const index_t size = std::max(bytes, least_segment);
    void* memory =
        mmap(nullptr, static_cast<std::size_t>(size), access(), MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return {};
    segments_[memory] = static_cast<std::size_t>(size);
    return {static_cast<std::byte*>(memory), size, size};
  }

  void give_back(const Segment& segment) {
    const std::scoped_lock lock(mutex_);
    munmap(segment.data, segments_[segment.data]);
    segments_.erase(segment.data);
  }

  void open() {
    const std::scoped_lock lock(mutex_);
    if (++operations_ == 1) protect();
  }
  void close() {
    const std::scoped_lock lock(mutex_);
    if (--operations_ == 0) protect();
  }

 private:
  [[nodiscard]] int access() const { return operations_ > 0 ? PROT_READ | PROT_WRITE : PROT_NONE; }
  void protect() {
    for (const auto& [memory, size] : segments_) mprotect(memory, size, access());
  }

  std::mutex mutex_;
  std::map<void*, std::size_t> segments_;
  int operations_ = 0;
};

}  // namespace detail

//! A processor that keeps what it works on as far from the host as a GPU does: whoever touches the
//! memory outside of an operation ends the process by SIGSEGV.
//!
//! For tests of strategies and communicators: what runs here, and gives the bits of Cpu, reaches a
//! device only by its operations. While one thread is in an operation, others are not caught.
class FarDevice {
 public:
  //! As Cpu's.
  explicit FarDevice(int threads = 1, int index = 0)
      : engine_(threads, index), arena_(far_memory) {}

  FarDevice(const FarDevice&) = delete;
  FarDevice& operator=(const FarDevice&) = delete;

  [[nodiscard]] int index() const { return engine_.index(); }

  [[nodiscard]] Memory allocate(index_t bytes) { return arena_.allocate(bytes); }
  //! As `allocate`.
  [[nodiscard]] Memory reserve(index_t bytes) { return allocate(bytes); }
  //! Does nothing.
  static void commit(void*, index_t) {}
  static void discard(void*, index_t) {}

  void upload(void* to, const void* from, index_t bytes) { copy(to, from, bytes); }
  void download(void* to, const void* from, index_t bytes) { copy(to, from, bytes); }
  void copy(void* to, const void* from, index_t bytes) {
    run([&](Cpu&) { Cpu::copy(to, from, bytes); });
  }
  void clear(void* to, index_t bytes) {
    run([&](Cpu&) { Cpu::clear(to, bytes); });
  }

  void submit(Worker::Task task) { worker_.submit(task); }
  void synchronize() {}
  static void wait_for(const FarDevice&) {}

  static constexpr bool small_passes = false;
  static constexpr bool on_host = false;
  static bool shares_memory(const FarDevice&, const FarDevice&) { return true; }

  template <class F>
  void for_rows(index_t n, index_t cost, const F& f) {
    run([&](Cpu& engine) { engine.for_rows(n, cost, f); });
  }

  //! Calls `operation(engine)`, which may touch the memory.
  template <class Operation>
  void run(const Operation& operation) {
    const Open open;
    operation(engine_);
  }

  friend std::string to_text(const FarDevice& device) { return text("far:", device.index()); }

 private:
  struct Open {
    Open() { detail::FarMemory::all().open(); }
    ~Open() { detail::FarMemory::all().close(); }
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;
  };

  static constexpr MemorySource far_memory{
      64, [](index_t bytes) { return detail::FarMemory::all().request(bytes); },
      [](const Segment& segment) { detail::FarMemory::all().give_back(segment); }};

  Cpu engine_;
  Arena arena_;
  Worker worker_;
};

static_assert(Device<FarDevice>);

}  // namespace weft::testing

// The operations of which each device has its own.
namespace weft::ops::detail {

inline void multiply(testing::FarDevice& device, const Product& product) {
  device.run([&](Cpu& engine) { multiply(engine, product); });
}

inline void add_rows(testing::FarDevice& device, const RowAddition& rows) {
  device.run([&](Cpu& engine) { add_rows(engine, rows); });
}

template <class Term>
void sum_columns(testing::FarDevice& device, index_t N, index_t C, float* sums, Write write,
                 Term term) {
  device.run([&](Cpu& engine) { sum_columns(engine, N, C, sums, write, term); });
}

//! Calls `f(problem)` with a problem whose layouts the engine can read.
template <class F>
void with_near_layouts(Cpu& engine, const AttentionProblem<testing::FarDevice>& far, const F& f) {
  const auto near = [&](const SequenceLayout<testing::FarDevice>& layout) {
    const std::span<const RowKey> keys(layout.keys.data(), static_cast<std::size_t>(layout.rows()));
    return SequenceLayout<Cpu>{
        layout.offsets, {}, to_device(engine, keys, {layout.rows()}), layout.longest};
  };
  const auto queries = near(*far.query_layout), keys = near(*far.key_layout);
  f(AttentionProblem<Cpu>{far.heads, far.head_size, far.causal, far.scale, &queries, &keys,
                          far.dropout});
}

inline void attention_forward(testing::FarDevice& device,
                              const AttentionForward<testing::FarDevice>& a, AnyHeadSize head) {
  device.run([&](Cpu& engine) {
    with_near_layouts(engine, a.problem, [&](const AttentionProblem<Cpu>& problem) {
      attention_forward(engine, AttentionForward<Cpu>{problem, a.q, a.k, a.v, a.out, a.log_sums},
                        head);
    });
  });
}

inline void attention_backward(testing::FarDevice& device,
                               const AttentionBackward<testing::FarDevice>& a, AnyHeadSize head) {
  device.run([&](Cpu& engine) {
    with_near_layouts(engine, a.problem, [&](const AttentionProblem<Cpu>& problem) {
      attention_backward(engine,
                         AttentionBackward<Cpu>{problem, a.q, a.k, a.v, a.out, a.log_sums, a.dout,
                                                a.dq, a.dk, a.dv},
                         head);
    });
  });
}

}  // namespace weft::ops::detail
