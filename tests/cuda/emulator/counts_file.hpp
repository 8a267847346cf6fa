// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The counts of all kernels, written when the program ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

#include "counts.hpp"
#include "program.hpp"

namespace emulator {

//! With `EMULATOR_COUNTS=FILE` a table of all kernels is written there. With
//! `EMULATOR_LISTING=NAME` too, the table ends with the instructions of each kernel whose mangled
//! name has NAME in it, and how often a warp came to each.
class CountsFile {
 public:
  static CountsFile& of_all() {
    static CountsFile file;
    return file;
  }

  Counts& of(const Kernel& kernel) { return counts_[&kernel]; }

  ~CountsFile() {
    if (const char* const path = std::getenv("EMULATOR_COUNTS")) write(path);
  }

 private:
  void write(const char* path) const {
    std::ofstream file(path);
    file << "launches\tblocks\tarithmetic\tmoves\tspecial\ttensor\tglobal_loads\tglobal_stores\t"
            "shared\tlocal\tcontrol\tlanes\trequests\tsectors\tbytes\tshared_passes\t"
            "shared_passes_at_least\tkernel\n";
    for (const auto& [kernel, c] : counts_) {
      file << c.launches << '\t' << c.blocks;
      std::uint64_t all = 0, lanes = 0;
      for (std::size_t i = 0; i < c.instructions.size(); ++i) {
        file << '\t' << c.instructions[i];
        all += c.instructions[i];
        lanes += c.lanes[i];
      }
      file << '\t' << (all == 0 ? 0.0 : static_cast<double>(lanes) / static_cast<double>(all))
           << '\t' << c.requests << '\t' << c.sectors << '\t' << c.bytes << '\t' << c.shared_passes
           << '\t' << c.shared_least << '\t' << kernel->name << '\n';
    }
    const char* const wanted = std::getenv("EMULATOR_LISTING");
    if (wanted == nullptr) return;
    for (const auto& [kernel, c] : counts_) {
      if (kernel->name.find(wanted) == std::string::npos) continue;
      file << '\n' << kernel->name << '\n';
      for (std::size_t i = 0; i < c.visits.size(); ++i) {
        file << c.visits[i] << '\t' << kernel->instructions[i].text << '\n';
      }
    }
  }

  std::map<const Kernel*, Counts> counts_;
};

}  // namespace emulator
