// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What is kept of a run beside its models: figures, a page, a trace.
#pragma once

#include "figures.hpp"
#include "run_log.hpp"
#include "run_options.hpp"
#include "run_report.hpp"
#include "run_trace.hpp"

#include <weft/core/index.hpp>
#include <weft/train/memory_use.hpp>
#include <weft/train/trainer_settings.hpp>

#include <optional>
#include <string>

namespace examples {

//! The log, the report and the trace that options ask for. All ranks have one; the first one's are
//! written.
class RunRecords {
 public:
  //! `score` is that of RunReport.
  template <class Strategy>
  RunRecords(const Strategy& strategy, const RunOptions& o, const std::string& title,
             const std::string& score = "")
      : report(strategy.is_root() ? o.report : "", title, o.command_line, score),
        trace_(o.trace, strategy.rank()) {}

  //! Opens the log that options ask for, once nothing refuses the run.
  void begin(const RunOptions& o) { log_.emplace(o.log, o.tensorboard, o.resume); }

  void after_update(const weft::train::UpdateReport& update) {
    report.after_update(update);
    trace_.after_update();
  }

  //! `figures` are those of the log.
  template <class Strategy>
  void after_epoch(const Strategy& strategy, const weft::train::EpochReport& epoch,
                   const Figures& figures) {
    report.page.memory = weft::train::memory_of_devices(strategy);
    report.after_epoch(epoch);
    log(epoch.updates, figures);
  }

  //! Adds figures that were found after a number of updates to the log.
  void log(weft::index_t updates, const Figures& figures) {
    if (log_) log_->write(updates, figures);
  }

  //! All ranks call it, once the run has ended.
  template <class Strategy>
  void write_trace(Strategy& strategy) {
    trace_.write(strategy);
  }

  RunReport report;

 private:
  std::optional<RunLog> log_;
  RunTrace trace_;
};

}  // namespace examples
