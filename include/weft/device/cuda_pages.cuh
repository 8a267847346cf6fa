// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Memory of a GPU that comes and goes behind addresses that stay.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <weft/core/chunks.hpp>
#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/range_set.hpp>
#include <weft/device/arena.hpp>
#include <weft/device/cuda_error.cuh>
#include <weft/device/cuda_handles.cuh>
#include <weft/device/cuda_queue.cuh>
#include <weft/device/cuda_virtual_memory.cuh>
#include <weft/device/memory_source.hpp>

namespace weft {

//! What a device has of pages, in bytes.
struct CudaPageUse {
  index_t page = 0;       //!< of one; 0 as long as nothing was reserved
  index_t committed = 0;  //!< of those in use
  index_t held = 0;       //!< taken from the GPU
};

namespace detail {

//! Addresses that are reserved, and the pages of a GPU's memory behind parts of them.
//!
//! A page goes when all of its bytes are discarded, whatever the pieces, and once the stream has
//! come to where that was said. Its memory then serves the next page. Where more than
//! `most_on_their_way` bytes would wait for the stream, the host does, before it asks the GPU for
//! more: a program that runs far ahead of its GPU would hold memory for all of its way. It does,
//! too, where the GPU has no more. All calls but those of `Memory` are one thread's at a time.
class CudaPages {
 public:
  //! Not tuned. One layer's values or gradients, of all but the largest models.
  static constexpr index_t most_on_their_way = index_t{512} << 20;

  CudaPages() = default;
  CudaPages(const CudaPages&) = delete;
  CudaPages& operator=(const CudaPages&) = delete;

  //! Nothing may be queued that uses them.
  ~CudaPages() {
    for (const auto& [address, page] : pages_) {
      unmap({address});
      free_.push_back(page.memory);
    }
    release_free();
  }

  //! Whether a GPU, the calling thread's, has such memory: asked before anything else. Only a yes
  //! is remembered: a GPU without memory for a page may have some later.
  [[nodiscard]] bool can_reserve(int gpu) {
    if (driver_ != nullptr) return true;
    wanted_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted_.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    wanted_.location.id = gpu;
    const VirtualMemory* const driver = VirtualMemory::of_driver();
    std::size_t bytes = 0;
    CUmemGenericAllocationHandle page{};  // to see whether there are any
    if (driver == nullptr ||
        driver->granularity(&bytes, &wanted_, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED) !=
            CUDA_SUCCESS ||
        driver->create(&page, bytes, &wanted_, 0) != CUDA_SUCCESS) {
      return false;
    }
    driver->release(page);
    driver_ = driver;
    page_ = static_cast<index_t>(bytes);
    addresses_.emplace(MemorySource{
        .alignment = page_,
        .request = [](index_t size) -> Segment {
          CUdeviceptr first = 0;
          const auto status =
              VirtualMemory::of_driver()->reserve(&first, static_cast<std::size_t>(size), 0, 0, 0);
          if (status != CUDA_SUCCESS) return {};
          return {reinterpret_cast<std::byte*>(first), size, size};
        },
        .give_back =
            [](const Segment& segment) {
              VirtualMemory::of_driver()->free(reinterpret_cast<CUdeviceptr>(segment.data),
                                               static_cast<std::size_t>(segment.size));
            },
        .unused = [](void* pages, const std::byte* data,
                     index_t size) { static_cast<CudaPages*>(pages)->drop(range_of(data, size)); },
        .context = this});
    addresses_->keep_segments(true);  // pages may be on their way out
    return true;
  }

  //! Addresses for so many bytes. Parts that are committed have memory, as long as somebody holds
  //! what this returns.
  //!
  //! **Errors.** SystemError if there are no more addresses.
  [[nodiscard]] Memory reserve(index_t bytes) {
    const Memory memory = addresses_->allocate(bytes);
    const Range block = range_of(memory.data(), up(bytes));
    reserved_.insert(block);
    holes_.insert(block);
    const std::scoped_lock lock(mutex_);
    // `drop` may not throw, so there has to be room for all that somebody holds.
    dropped_.reserve(dropped_.size() + static_cast<std::size_t>(++blocks_));
    return memory;
  }

  //! Has memory behind these bytes, whose content is undefined where there was none; does nothing
  //! to bytes that are not reserved. How often the host waited for the GPU.
  //!
  //! **Errors.** SystemError if the GPU has no more memory; called again, this goes on.
  index_t commit(const void* data, index_t bytes, CudaQueue& queue) {
    const Range range = range_of(data, bytes);
    if (!reserved_.overlaps(range)) return 0;
    discard_dropped(queue);
    holes_.erase(range);
    std::vector<index_t> missing;
    for (index_t page = down(range.begin); page < range.end; page += page_) {
      const auto found = pages_.find(page);
      if (found == pages_.end()) {
        missing.push_back(page);
      } else {
        if (found->second.retirement != stays) committed_ += page_;
        found->second.retirement = stays;
      }
    }
    const index_t waits = take(missing.size());
    map(missing);
    return waits;
  }

  //! Says that bytes are of no use until they are committed again. The queue has the operations
  //! that used them; what fails of those its next call throws, here as in all others.
  void discard(const void* data, index_t bytes, CudaQueue& queue) {
    const Range range = range_of(data, bytes);
    if (!reserved_.overlaps(range)) return;
    discard_dropped(queue);
    discard(range, queue);
  }

  //! Gives the GPU the memory of all pages that are not in use, and waits for those that still are.
  //! Whether there was any.
  bool give_back_unused(CudaQueue& queue) {
    discard_dropped(queue);
    while (!retired_.empty()) wait_for_first_retirement();
    return release_free();
  }

  //! What there is. Thread-safe.
  [[nodiscard]] CudaPageUse use() const { return {page_, committed_, held_}; }

 private:
  static constexpr std::uint64_t stays = 0;

  struct Page {
    CUmemGenericAllocationHandle memory;
    std::uint64_t retirement = stays;  // with which it goes
  };
  //! Pages that go once the stream has reached a place.
  struct Retirement {
    std::uint64_t number;
    CudaEvent reached;
    std::vector<index_t> pages;
  };

  static Range range_of(const void* data, index_t bytes) {
    const auto begin = reinterpret_cast<index_t>(data);
    return {begin, begin + bytes};
  }
  static CUdeviceptr address(index_t page) { return static_cast<CUdeviceptr>(page); }
  [[nodiscard]] index_t down(index_t address) const { return address / page_ * page_; }
  [[nodiscard]] index_t up(index_t address) const { return down(address + page_ - 1); }
  [[nodiscard]] std::size_t bytes_of(index_t pages) const {
    return static_cast<std::size_t>(pages * page_);
  }

  //! Nobody holds these any more: on any thread, which may not have the stream.
  void drop(Range range) {
    const std::scoped_lock lock(mutex_);
    dropped_.push_back(range);
    --blocks_;
  }

  void discard_dropped(CudaQueue& queue) {
    std::vector<Range> dropped;
    {
      const std::scoped_lock lock(mutex_);
      if (dropped_.empty()) return;
      dropped = dropped_;
      dropped_.clear();
    }
    for (const Range range : dropped) discard(range, queue);
  }

  void discard(Range range, CudaQueue& queue) {
    const Range hole = holes_.insert(range);
    const index_t begin = std::max(up(hole.begin), down(range.begin));
    const index_t end = std::min(down(hole.end), up(range.end));
    std::vector<index_t> going;
    for (index_t page = begin; page < end; page += page_) {
      const auto found = pages_.find(page);
      if (found != pages_.end() && found->second.retirement == stays) going.push_back(page);
    }
    if (going.empty()) return;
    if (events_.empty()) events_.push_back(make_event());
    expect_success(cudaEventRecord(events_.back().get(), queue.stream_or_later_error()),
                   "recording an event");
    retired_.push_back({++retirements_, std::move(events_.back()), std::move(going)});
    events_.pop_back();
    for (const index_t page : retired_.back().pages) pages_[page].retirement = retirements_;
    const index_t bytes = std::ssize(retired_.back().pages) * page_;
    committed_ -= bytes;
  }

  //! Of the pages that are on their way out, however long they have been.
  [[nodiscard]] index_t bytes_on_their_way() const {
    return held_ - committed_ - std::ssize(free_) * page_;
  }

  //! Has memory for so many pages. How often the host waited for it.
  index_t take(std::size_t count) {
    index_t waits = 0;
    while (free_.size() < count) {
      if (!retired_.empty()) {
        const cudaError_t status = cudaEventQuery(retired_.front().reached.get());
        const bool is_reached = status != cudaErrorNotReady;
        if (is_reached) {
          expect_success(status, "waiting for memory");
        } else {
          cudaGetLastError();  // it is no error
        }
        if (is_reached || bytes_on_their_way() > most_on_their_way) {
          if (!is_reached) ++waits;
          wait_for_first_retirement();
          continue;
        }
      }
      CUmemGenericAllocationHandle memory{};
      const CUresult status = driver_->create(&memory, bytes_of(1), &wanted_, 0);
      if (status == CUDA_ERROR_OUT_OF_MEMORY && !retired_.empty()) {
        ++waits;
        wait_for_first_retirement();
        continue;
      }
      expect_driver(status, "allocating memory of a GPU");
      held_ += page_;
      free_.push_back(memory);
    }
    return waits;
  }

  void wait_for_first_retirement() {
    expect_success(cudaEventSynchronize(retired_.front().reached.get()), "waiting for memory");
    end_first_retirement();
  }

  void end_first_retirement() {
    Retirement retirement = std::move(retired_.front());
    retired_.pop_front();
    events_.push_back(std::move(retirement.reached));
    std::vector<index_t> gone;
    for (const index_t page : retirement.pages) {
      const auto found = pages_.find(page);
      if (found == pages_.end() || found->second.retirement != retirement.number) continue;
      gone.push_back(page);
    }
    free_.reserve(free_.size() + gone.size());
    for_runs(gone, [&](index_t first, index_t count) {
      expect_driver(driver_->unmap(address(first), bytes_of(count)),
                    "taking memory of a GPU from its place");
      for (index_t page = 0; page < count; ++page) {
        free_.push_back(pages_.extract(first + page * page_).mapped().memory);
      }
    });
  }

  //! Has the memory that was taken behind pages, in ascending order; none of it if that fails.
  void map(const std::vector<index_t>& missing) {
    std::vector<index_t> mapped;
    try {
      for (const index_t page : missing) {
        const auto& memory = free_[free_.size() - 1 - mapped.size()];
        expect_driver(driver_->map(address(page), bytes_of(1), 0, memory, 0),
                      "placing memory of a GPU");
        mapped.push_back(page);
      }
      const CUmemAccessDesc access{wanted_.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
      for_runs(mapped, [&](index_t first, index_t count) {
        expect_driver(driver_->set_access(address(first), bytes_of(count), &access, 1),
                      "reaching memory of a GPU");
      });
    } catch (...) {
      unmap(mapped);
      throw;
    }
    for (const index_t page : missing) {
      pages_[page] = {free_.back()};
      free_.pop_back();
    }
    committed_ += std::ssize(missing) * page_;
  }

  //! Where nothing can be done if the driver refuses.
  void unmap(const std::vector<index_t>& pages) {
    for_runs(pages, [&](index_t first, index_t count) {
      driver_->unmap(address(first), bytes_of(count));
    });
  }

  //! Calls `f(first, count)` for pages that lie behind each other: a call of the driver for each
  //! page would take the host some microseconds.
  template <class F>
  void for_runs(const std::vector<index_t>& pages, const F& f) const {
    for (std::size_t i = 0; i < pages.size();) {
      std::size_t next = i + 1;
      while (next < pages.size() && pages[next] == pages[next - 1] + page_) ++next;
      f(pages[i], static_cast<index_t>(next - i));
      i = next;
    }
  }

  bool release_free() {
    for (const CUmemGenericAllocationHandle memory : free_) driver_->release(memory);
    held_ -= std::ssize(free_) * page_;
    return !std::exchange(free_, {}).empty();
  }

  void expect_driver(CUresult status, const char* attempted) const {
    if (status == CUDA_SUCCESS) return;
    if (status == CUDA_ERROR_OUT_OF_MEMORY) {
      throw SystemError(text("out of memory: asked the GPU for a page of ", page_.load(),
                             " bytes while holding ", held_.load(), " in pages"));
    }
    throw CudaError(text(attempted, ": the driver's error ", static_cast<int>(status)));
  }

  const VirtualMemory* driver_ = nullptr;  // null: no page has been seen yet
  CUmemAllocationProp wanted_{};
  std::atomic<index_t> page_{0};  // bytes
  RangeSet reserved_;
  RangeSet holes_;                                  // what was discarded and is not committed again
  std::unordered_map<index_t, Page> pages_;         // that have memory, by their address
  std::deque<Retirement> retired_;                  // in the order of the stream
  std::vector<CUmemGenericAllocationHandle> free_;  // memory of no page
  std::vector<CudaEvent> events_;                   // that are not in use
  std::uint64_t retirements_ = 0;
  std::atomic<index_t> committed_{0}, held_{0};  // bytes
  std::mutex mutex_;                             // of what follows
  std::vector<Range> dropped_;
  index_t blocks_ = 0;              // that somebody holds
  std::optional<Arena> addresses_;  // freed before all else, once nothing lies there
};

}  // namespace detail

}  // namespace weft
