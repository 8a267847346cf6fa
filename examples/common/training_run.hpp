// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A run of a training program, from its folder to its end.
#pragma once

#include "counted.hpp"
#include "run_options.hpp"
#include "run_records.hpp"

#include <weft/comm/environment.hpp>
#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/train/interrupt.hpp>
#include <weft/train/model_config.hpp>
#include <weft/train/run_folder.hpp>
#include <weft/train/trainer.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

namespace examples {

//! The folder of a new run, or with --resume of the one that goes on. The first rank, which
//! `claims` it, has it for itself.
//!
//! **Errors.** SystemError, ArgumentError and FormatError, as RunFolder's and `expect_config`:
//! where the folder holds another run, or none, or another model's.
inline weft::train::RunFolder open_run(const std::string& path, const RunOptions& o, bool claims,
                                       const weft::train::ModelConfig& config) {
  auto folder = o.resume ? weft::train::RunFolder::existing(path) : weft::train::RunFolder(path);
  if (claims) folder.claim();
  if (claims && !o.resume) folder.expect_no_run();
  if (o.resume) {
    folder.expect_state();
    weft::train::expect_config(folder, config);
  }
  return folder;
}

//! How a run has ended.
struct RunEnd {
  int status;            //!< 0, or what the program exits with where a signal ended it
  weft::index_t epochs;  //!< as `Trainer::epochs`
};

//! Trains until something ends the run; a signal does, whose state is then saved. All ranks call
//! it.
//!
//! **Errors.** As Trainer.
template <class Strategy, class Data, class Schedule>
RunEnd train_run(Strategy& strategy, const Data& data, const Schedule& schedule,
                 const weft::train::RunFolder& folder, const weft::train::TrainerSettings& settings,
                 weft::train::TrainerHooks hooks, RunRecords& records, const RunOptions& o) {
  std::optional<weft::train::Interrupt> interrupt(std::in_place);
  hooks.interrupted = [&] { return interrupt->signal() != 0; };
  weft::train::Trainer trainer(strategy, data, schedule, folder, settings, std::move(hooks));
  if (o.resume) {
    trainer.resume();
    records.report.page.facts.emplace_back("shown after update",
                                           weft::text(strategy.state().updates()));
  }
  if (strategy.is_root()) records.begin(o);
  const auto ended = trainer.run();
  const int signal = interrupt->signal();
  interrupt.reset();  // the state is saved: a signal may end what follows
  records.write_trace(strategy);
  if (ended != weft::train::Ended::interrupted) return {0, trainer.epochs()};
  return {128 + weft::train::Interrupt::on_any_rank(strategy, signal), trainer.epochs()};
}

//! **Errors.** Error if a run that has trained has no best model.
inline void expect_best(const weft::train::RunFolder& folder) {
  if (std::filesystem::exists(folder.best())) return;
  throw weft::Error("there is no best model: no epoch's validation loss was a number");
}

//! How a run that a signal has ended goes on, for people. What started its processes is named: the
//! program alone would have other ranks.
template <class Strategy>
std::string how_to_go_on(const Strategy& strategy, const RunOptions& o) {
  using weft::comm::Launcher;
  const auto launcher =
      strategy.ranks() > 1 ? weft::comm::read_environment().launcher : Launcher::none;
  return weft::text("interrupted after ", counted(strategy.state().updates(), "updates"),
                    ", the state is saved; go on with\n  ",
                    launcher == Launcher::none ? "" : weft::text(to_text(launcher), " ... "),
                    o.command_line, o.resume ? "" : " --resume");
}

}  // namespace examples
