// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What devices did in a few batches of a run, once they run evenly.
#pragma once

#include "report_errors.hpp"

#include <weft/core/index.hpp>
#include <weft/core/trace.hpp>
#include <weft/io/atomic_file.hpp>

#include <cstdio>
#include <string>
#include <utility>

namespace examples {

class RunTrace {
 public:
  static constexpr weft::index_t first = 5, last = 10;  //!< batches of this run

  //! `path` is where the trace goes; "" for nowhere. All ranks have one.
  RunTrace(std::string path, int rank) : path_(std::move(path)), rank_(rank) {}

  void after_update() {
    ++batches_;
    if (path_.empty()) return;
    if (batches_ == first) weft::start_trace();
    if (batches_ == last) events_ = weft::chrome_events(weft::take_trace(), rank_);
  }

  //! Writes the trace, or says why it cannot. All ranks call it.
  template <class Strategy>
  void write(Strategy& strategy) {
    if (path_.empty()) return;
    if (batches_ < last) events_ = weft::chrome_events(weft::take_trace(), rank_);
    const auto processes = strategy.texts_of_all(events_);
    if (!strategy.is_root()) return;
    if (batches_ <= first) {
      std::fprintf(stderr, "there will be no trace: it begins after batch %d of a run\n",
                   static_cast<int>(first));
      return;
    }
    could_write("there will be no trace",
                [&] { weft::io::write_file(path_, weft::chrome_trace(processes)); });
  }

 private:
  std::string path_;
  int rank_;
  std::string events_;  //!< of this process; of ranks that are threads the first has all
  weft::index_t batches_ = 0;
};

}  // namespace examples
