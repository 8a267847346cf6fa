// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/train/process_usage.hpp>

#include <weft/parallel/one_process.hpp>

#include <catch2/catch.hpp>

#include <chrono>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace process_usage_tests {

using namespace weft;
using train::ProcessUsage;
using train::UsageMeter;

namespace {

void work(double seconds) {
  for (const double begin = monotonic_seconds(); monotonic_seconds() < begin + seconds;) {
  }
}

//! Three ranks, of which the last two are one other process and share a GPU.
struct ThreeRanks {
  static int rank() { return 0; }
  static int ranks() { return 3; }
  static void add_over_ranks(std::span<double> numbers) {
    const std::vector<double> others{7.0, 0.5, 2e9, 9.0, 0.25, 3e9, 7.0, 0.5, 2e9, 9.0, 0.25, 3e9};
    std::ranges::copy(others, numbers.begin() + 6);
  }
};

}  // namespace

TEST_CASE("a thread that works keeps a core busy, and one that sleeps does not") {
  UsageMeter meter;
  parallel::OneProcess strategy;
  work(0.2);
  const auto busy = meter.take(strategy).processes;
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const auto idle = meter.take(strategy).processes;
  REQUIRE(busy.size() == 1);
  CHECK(idle[0].cores < 0.2);
  CHECK(busy[0].cores > idle[0].cores + 0.2);
  CHECK(busy[0].cores < 1.1);
}

TEST_CASE("memory is what the process holds") {
  UsageMeter meter;
  parallel::OneProcess strategy;
  const double before = meter.take(strategy).processes[0].bytes;
  std::vector<char> held(64 << 20);
  std::memset(held.data(), 1, held.size());
  const double grown = meter.take(strategy).processes[0].bytes - before;
  CHECK(grown > 60e6);
  CHECK(grown < 100e6);
}

TEST_CASE("ranks of one process are one line") {
  UsageMeter meter;
  ThreeRanks strategy;
  const auto usage = meter.take(strategy);
  REQUIRE(usage.processes.size() == 2);
  CHECK(usage.processes[1] == ProcessUsage{0.5, 2e9});
  CHECK(usage.gpus == std::vector{GpuUsage{0.25, 3e9}});
  CHECK(to_text(train::Usage{{{0.5, 2e9}}, usage.gpus}) == "0.50 cores 2.00 GB, GPUs 25 % 3.00 GB");
}

TEST_CASE("few processes are listed, of many the range is told") {
  const std::vector<ProcessUsage> two{{0.984, 1.23e9}, {1.0, 1.2e9}};
  CHECK(train::to_text(two) == "0.98 cores 1.23 GB | 1.00 cores 1.20 GB");
  std::vector<ProcessUsage> many(8, {0.9, 2e9});
  many[3] = {0.5, 3e9};
  CHECK(train::to_text(many) == "8 processes: 0.50 to 0.90 cores, 2.00 to 3.00 GB");
  CHECK(train::to_text(std::span<const ProcessUsage>{}).empty());
}

namespace {

struct OnGpu : parallel::OneProcess {
  struct Device {
    std::optional<GpuUsage> told;
    [[nodiscard]] std::optional<GpuUsage> gpu_usage() const { return told; }
    static std::string pci_bus_id() { return "0000:3B:00.0"; }
  };
  Device of_rank;
  const Device& device(int) const { return of_rank; }
};

}  // namespace

TEST_CASE("a GPU is told of where the driver tells") {
  UsageMeter meter;
  OnGpu strategy{{}, {GpuUsage{0.9, 5e9}}};
  CHECK(meter.take(strategy).gpus == std::vector{GpuUsage{0.9, 5e9}});
  OnGpu silent{{}, {}};
  CHECK(meter.take(silent).gpus.empty());
  // No machine has this one.
  CHECK(!Nvml::library().usage("ffff:ff:1f.7"));
}

}  // namespace process_usage_tests
