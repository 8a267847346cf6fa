// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file How busy the processes of a run are, and how much memory they hold.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <weft/core/clock.hpp>
#include <weft/core/fingerprint.hpp>
#include <weft/core/fixed.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/device/nvml.hpp>

namespace weft::train {

//! One process, over some time.
struct ProcessUsage {
  double cores = 0.0;  //!< how many it kept busy, on average
  double bytes = 0.0;  //!< of memory that is its own, at the end

  friend bool operator==(const ProcessUsage&, const ProcessUsage&) = default;
};

//! "1.98 cores 1.2 GB" of each process, or from the least to the most where there are many.
[[nodiscard]] inline std::string to_text(std::span<const ProcessUsage> processes) {
  constexpr std::size_t most_listed = 4;
  const auto gigabytes = [](double bytes) { return fixed(bytes * 1e-9, 2); };
  std::string line;
  if (processes.size() <= most_listed) {
    for (const ProcessUsage& process : processes) {
      line += text(line.empty() ? "" : " | ", fixed(process.cores, 2), " cores ",
                   gigabytes(process.bytes), " GB");
    }
    return line;
  }
  const auto [idle, busy] = std::ranges::minmax(processes, {}, &ProcessUsage::cores);
  const auto [small, large] = std::ranges::minmax(processes, {}, &ProcessUsage::bytes);
  return text(processes.size(), " processes: ", fixed(idle.cores, 2), " to ", fixed(busy.cores, 2),
              " cores, ", gigabytes(small.bytes), " to ", gigabytes(large.bytes), " GB");
}

//! "97 % 61.20 GB" of each GPU.
[[nodiscard]] inline std::string to_text(std::span<const GpuUsage> gpus) {
  std::string line;
  for (const GpuUsage& gpu : gpus) {
    line += text(line.empty() ? "" : " | ", fixed(100 * gpu.busy, 0), " % ",
                 fixed(gpu.bytes * 1e-9, 2), " GB");
  }
  return line;
}

//! What a run has of its machines.
struct Usage {
  std::vector<ProcessUsage> processes;  //!< by their ranks
  std::vector<GpuUsage> gpus;           //!< by their ranks
};

//! "1.98 cores 1.2 GB, GPUs 97 % 61.20 GB".
[[nodiscard]] inline std::string to_text(const Usage& usage) {
  const std::string gpus = to_text(std::span(usage.gpus));
  return to_text(std::span(usage.processes)) + (gpus.empty() ? "" : ", GPUs " + gpus);
}

//! Measures this process from its making, and from each `take`, on.
class UsageMeter {
 public:
  //! The usage since the last call, of every process that has ranks of the strategy and of every
  //! GPU that the driver tells about, in the order of their ranks. All ranks call it.
  template <class Strategy>
  [[nodiscard]] Usage take(Strategy& strategy) {
    const double now = monotonic_seconds(), worked = processor_seconds();
    // Sums over ranks of what one of them has, rank by rank.
    enum Fact : std::size_t { process, cores, bytes, gpu, gpu_busy, gpu_bytes, facts };
    std::vector<double> all(facts * static_cast<std::size_t>(strategy.ranks()));
    const auto mine = std::span(all).subspan(facts * static_cast<std::size_t>(strategy.rank()));
    mine[process] = static_cast<double>(process_number());
    mine[cores] = (worked - std::exchange(worked_, worked)) / (now - std::exchange(begin_, now));
    mine[bytes] = static_cast<double>(own_memory_bytes());
    if constexpr (requires { strategy.device(0).gpu_usage(); }) {
      if (const auto usage = strategy.device(0).gpu_usage()) {
        mine[gpu] = static_cast<double>(gpu_number(strategy.device(0).pci_bus_id()));
        mine[gpu_busy] = usage->busy;
        mine[gpu_bytes] = usage->bytes;
      }
    }
    strategy.add_over_ranks(std::span(all));
    Usage found;
    std::vector<double> seen{0.0};  // no GPU has this number
    const auto is_new = [&](double number) {
      if (std::ranges::count(seen, number) > 0) return false;
      seen.push_back(number);
      return true;
    };
    for (std::size_t at = 0; at < all.size(); at += facts) {
      if (is_new(all[at + process])) found.processes.push_back({all[at + cores], all[at + bytes]});
      if (is_new(all[at + gpu])) found.gpus.push_back({all[at + gpu_busy], all[at + gpu_bytes]});
    }
    return found;
  }

 private:
  //! Seconds of all threads of this process.
  static double processor_seconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }

  //! What is resident and not a file's; 0 where the system does not tell.
  static index_t own_memory_bytes() {
    long pages = 0, resident = 0, shared = 0;
    std::FILE* const file = std::fopen("/proc/self/statm", "r");
    if (file == nullptr) return 0;
    const bool told = std::fscanf(file, "%ld %ld %ld", &pages, &resident, &shared) == 3;
    std::fclose(file);
    return told ? index_t{resident - shared} * sysconf(_SC_PAGESIZE) : 0;
  }

  //! Tells hosts apart, in 16 bits: by what the kernel calls this boot, else by the host's name.
  //!
  //! Not gethostid(): without /etc/hostid it asks the network for the host's address, and a network
  //! that does not answer held a run for ten seconds; on most hosts that is 127.0.1.1.
  static index_t host_number() {
    static const index_t number = [] {
      char name[256] = "";
      if (std::FILE* const file = std::fopen("/proc/sys/kernel/random/boot_id", "r")) {
        name[std::fread(name, 1, sizeof name - 1, file)] = '\0';
        std::fclose(file);
      }
      if (name[0] == '\0') gethostname(name, sizeof name - 1);
      return static_cast<index_t>(Fingerprint().add(name).value() & 0xffff);
    }();
    return number;
  }
  //! Tells processes apart, on several hosts too: their numbers alone may meet.
  static index_t process_number() { return host_number() << 32 | getpid(); }
  //! The same for GPUs, of no process's number.
  static index_t gpu_number(const std::string& pci_bus_id) {
    const auto place = static_cast<index_t>(Fingerprint().add(pci_bus_id).value() & 0xffffffff);
    return index_t{1} << 49 | host_number() << 32 | place;
  }

  double begin_ = monotonic_seconds();
  double worked_ = processor_seconds();
};

}  // namespace weft::train
