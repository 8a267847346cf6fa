// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Logical devices made of processor cores.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/device/arena.hpp>
#include <weft/device/device.hpp>
#include <weft/device/lanes.hpp>
#include <weft/device/product_precision.hpp>
#include <weft/device/team.hpp>
#include <weft/device/worker.hpp>

namespace weft {

//! A share of the machine's cores: memory, a worker, and a team of threads for its loops.
//!
//! Operations are synchronous: they return when their result is there. Four devices of one thread
//! and one device of four threads are equally good on a machine with four cores. One thread calls
//! them at a time: ranks that are threads have a device each.
class Cpu {
 public:
  using Lanes = CpuLanes;

  //! **Errors.** ArgumentError unless threads > 0.
  explicit Cpu(int threads = 1, int index = 0) : index_(index), team_(threads) {}

  Cpu(const Cpu&) = delete;
  Cpu& operator=(const Cpu&) = delete;

  [[nodiscard]] int index() const { return index_; }
  //! How many threads work on its loops.
  [[nodiscard]] int threads() const { return team_.size(); }

  //! Of its matrix products: float32 unless it was set.
  [[nodiscard]] ProductPrecision product_precision() const { return product_precision_; }
  //! From the next product on.
  void set_product_precision(ProductPrecision precision) { product_precision_ = precision; }

  [[nodiscard]] Memory allocate(index_t bytes) { return arena_.allocate(bytes); }
  //! As `allocate`: the system has pages behind what is written, and none yet.
  [[nodiscard]] Memory reserve(index_t bytes) {
    Memory memory = allocate(bytes);
    discard(memory.data(), bytes);  // of the pool's, which others may have written
    return memory;
  }
  //! Does nothing: see `reserve`.
  static void commit(void*, index_t) {}
  //! Gives whole pages back to the system, which hands out zeroed ones when they are written again.
  //!
  //! **Cost.** Some 0.5 us for each page of 4 KiB that is written again.
  static void discard(void* pointer, index_t bytes) {
    static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto first = reinterpret_cast<std::uintptr_t>(pointer);
    const auto begin = (first + page - 1) / page * page;
    const auto end = (first + static_cast<std::uintptr_t>(bytes)) / page * page;
    if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }

  static void upload(void* to, const void* from, index_t bytes) { copy(to, from, bytes); }
  static void download(void* to, const void* from, index_t bytes) { copy(to, from, bytes); }
  static void copy(void* to, const void* from, index_t bytes) {
    if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  static void clear(void* to, index_t bytes) {
    if (bytes > 0) std::memset(to, 0, static_cast<std::size_t>(bytes));
  }

  //! The pool that its tensors lie in.
  [[nodiscard]] const Arena& memory() const { return arena_; }
  //! The pool that its tensors lie in.
  [[nodiscard]] Arena& memory() { return arena_; }

  void submit(Worker::Task task) { worker_.submit(task); }
  void synchronize() {}
  static void wait_for(const Cpu&) {}

  //! Several passes over parameters take a block after the other: it is in cache for the next.
  static constexpr bool small_passes = true;
  static constexpr bool on_host = true;

  static bool shares_memory(const Cpu&, const Cpu&) { return true; }

  //! Calls `f(begin, end)` on the team for parts that cover 0 to n - 1, each at least `grain` long.
  template <class F>
  void for_parts(index_t n, index_t grain, F&& f) {
    const index_t most = grain < 1 ? n : n / grain;
    const int parts = most < 1 ? 1 : static_cast<int>(most < threads() ? most : threads());
    if (n < 1) return;
    team_.run(parts, [&](int member) { f(n * member / parts, n * (member + 1) / parts); });
  }

  //! Calls `f(lanes, row)` for each of n rows whose work is about `cost` elements.
  template <class F>
  void for_rows(index_t n, index_t cost, const F& f) {
    for_parts(n, smallest_share / (cost < 1 ? 1 : cost) + 1,
              [&](index_t begin, index_t end) { run_rows(f, begin, end); });
  }

  //! Calls `f(task)` for 0 to n - 1, each on whichever thread is free: for tasks of uneven length.
  template <class F>
  void for_tasks(index_t n, F&& f) {
    std::atomic<index_t> next{0};
    team_.run(n > 1 ? threads() : 1, [&](int) {
      for (index_t task; (task = next.fetch_add(1, std::memory_order_relaxed)) < n;) f(task);
    });
  }

  friend std::string to_text(const Cpu& device) { return text("cpu:", device.index()); }

 private:
  //! Fewer elements than this a thread are not worth waking it (some 5 us).
  static constexpr index_t smallest_share = 8192;

  //! `flatten` inlines the kernel's lambdas into the loop whatever their size.
  template <class F>
  [[gnu::flatten]] static void run_rows(const F& f, index_t begin, index_t end) {
    for (index_t row = begin; row < end; ++row) f(CpuLanes{}, row);
  }

  int index_;
  ProductPrecision product_precision_ = ProductPrecision::float32;
  Arena arena_;
  Team team_;
  Worker worker_;
};

static_assert(Device<Cpu>);

}  // namespace weft
