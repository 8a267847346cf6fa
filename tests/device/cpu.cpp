// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/device/cpu.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "../message_of.hpp"

namespace cpu_tests {

using namespace weft;
using weft::testing::message_of;

namespace {

using Parts = std::vector<std::pair<index_t, index_t>>;

Parts parts_of(Cpu& device, index_t n, index_t grain) {
  std::mutex mutex;
  Parts parts;
  device.for_parts(n, grain, [&](index_t begin, index_t end) {
    const std::scoped_lock lock(mutex);
    parts.emplace_back(begin, end);
  });
  std::sort(parts.begin(), parts.end());
  return parts;
}

}  // namespace

TEST_CASE("what is discarded gives its pages back, and what lies beside it stays") {
  Cpu device;
  constexpr std::size_t bytes = std::size_t{64} << 20;
  const Memory memory = device.allocate(bytes);
  std::memset(memory.data(), 7, bytes);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto resident = [&] {
    std::vector<unsigned char> pages(bytes / page);
    const auto begin = reinterpret_cast<std::uintptr_t>(memory.data()) / page * page;
    REQUIRE(mincore(reinterpret_cast<void*>(begin), bytes, pages.data()) == 0);
    return std::ranges::count_if(pages, [](unsigned char flags) { return (flags & 1) != 0; });
  };
  const auto before = resident();
  Cpu::discard(memory.data() + 100, bytes - 200);
  CHECK(resident() < before / 10);
  CHECK(memory.data()[99] == std::byte{7});
  CHECK(memory.data()[bytes - 100] == std::byte{7});
  Cpu::discard(memory.data(), 10);  // less than a page
  CHECK(memory.data()[0] == std::byte{7});
}

TEST_CASE("parts cover a range once, each as long as asked, one a thread at most") {
  for (const int threads : {1, 2, 3}) {
    Cpu device(threads);
    for (const index_t n : {0, 1, 2, 3, 15, 64, 1001}) {
      for (const index_t grain : {0, 1, 7, 64, 5000}) {
        const Parts parts = parts_of(device, n, grain);
        index_t next = 0;
        for (const auto& [begin, end] : parts) {
          CHECK(begin == next);
          CHECK(end > begin);
          if (parts.size() > 1) CHECK(end - begin >= grain);
          next = end;
        }
        CHECK(next == n);
        CHECK(static_cast<int>(parts.size()) <= threads);
      }
    }
    CHECK(static_cast<int>(parts_of(device, 1000, 10).size()) == threads);
  }
}

TEST_CASE("every row is visited once, however little it costs") {
  for (const int threads : {1, 2, 3}) {
    Cpu device(threads);
    for (const index_t n : {0, 1, 17, 5000}) {
      for (const index_t cost : {0, 1, 512, 1 << 20}) {
        std::vector<int> visits(static_cast<std::size_t>(n), 0);
        device.for_rows(n, cost, [&](CpuLanes, index_t row) {
          ++visits[static_cast<std::size_t>(row)];
        });
        CHECK(visits == std::vector<int>(visits.size(), 1));
      }
    }
  }
}

TEST_CASE("too little work stays on the calling thread") {
  Cpu device(3);
  std::atomic<int> elsewhere{0};
  device.for_rows(8, 512, [&, caller = std::this_thread::get_id()](CpuLanes, index_t) {
    if (std::this_thread::get_id() != caller) ++elsewhere;
  });
  CHECK(elsewhere == 0);
}

TEST_CASE("every task runs once, whoever is free") {
  for (const int threads : {1, 2, 3}) {
    Cpu device(threads);
    for (const index_t n : {0, 1, 2, 100}) {
      std::vector<int> runs(static_cast<std::size_t>(n), 0);
      device.for_tasks(n, [&](index_t task) { ++runs[static_cast<std::size_t>(task)]; });
      CHECK(runs == std::vector<int>(runs.size(), 1));
    }
  }
}

TEST_CASE("a loop's exception reaches its caller, and the device works on") {
  for (const int threads : {1, 3}) {
    Cpu device(threads);
    const auto fail = [](index_t task) {
      if (task == 7) throw std::runtime_error("task 7");
    };
    CHECK_THROWS_WITH(device.for_tasks(20, fail), "task 7");
    CHECK_THROWS_WITH(device.for_parts(20, 1, [](index_t, index_t end) {
      if (end == 20) throw std::runtime_error("the last part");
    }), "the last part");
    CHECK(parts_of(device, 9, 1).back().second == 9);
  }
}

TEST_CASE("the worker of a device may use its team") {
  Cpu device(2);
  struct Job {
    Cpu* device;
    std::atomic<index_t> sum{0};
    std::atomic<bool> done{false};
    static void run(void* self) noexcept {
      auto* job = static_cast<Job*>(self);
      job->device->for_tasks(10, [job](index_t task) { job->sum += task; });
      job->done = true;
      job->done.notify_one();
    }
  } job{&device};
  device.submit({&Job::run, &job});
  job.done.wait(false);
  CHECK(job.sum == 45);
}

TEST_CASE("a device has a name, a size and memory") {
  Cpu device(2, 3);
  CHECK(text(device) == "cpu:3");
  CHECK(device.index() == 3);
  CHECK(device.threads() == 2);
  Memory memory = device.allocate(100);
  CHECK(device.memory().statistics().live > 0);
  memory = {};
  CHECK(device.memory().statistics().live == 0);
  CHECK(message_of<ArgumentError>([] { return Cpu(0).threads(); }) ==
        "Team: needs at least one thread, not 0");
}

}  // namespace cpu_tests
