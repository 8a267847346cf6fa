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
#include <weft/core/fixed.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>

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

//! Measures this process from its making, and from each `take`, on.
class UsageMeter {
 public:
  //! The usage since the last call, of every process that has ranks of the strategy, in the order
  //! of their ranks. All ranks call it.
  template <class Strategy>
  [[nodiscard]] std::vector<ProcessUsage> take(Strategy& strategy) {
    const double now = monotonic_seconds(), worked = processor_seconds();
    // Sums over ranks of what one of them has: rank by rank its process, cores and bytes.
    constexpr std::size_t facts = 3;
    std::vector<double> all(facts * static_cast<std::size_t>(strategy.ranks()));
    const std::size_t mine = facts * static_cast<std::size_t>(strategy.rank());
    all[mine] = static_cast<double>(process_number());
    all[mine + 1] = (worked - std::exchange(worked_, worked)) / (now - std::exchange(begin_, now));
    all[mine + 2] = static_cast<double>(own_memory_bytes());
    strategy.add_over_ranks(std::span(all));
    std::vector<ProcessUsage> processes;
    std::vector<double> seen;
    for (std::size_t at = 0; at < all.size(); at += facts) {
      if (std::ranges::count(seen, all[at]) > 0) continue;
      seen.push_back(all[at]);
      processes.push_back({all[at + 1], all[at + 2]});
    }
    return processes;
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

  //! Tells processes apart, on several hosts too: their numbers alone may meet.
  static index_t process_number() { return index_t{gethostid() & 0xffff} << 32 | getpid(); }

  double begin_ = monotonic_seconds();
  double worked_ = processor_seconds();
};

}  // namespace weft::train
