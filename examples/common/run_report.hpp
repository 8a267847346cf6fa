// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A page about a run, written again after every epoch.
#pragma once

#include <weft/train/report.hpp>
#include <weft/train/trainer_settings.hpp>

#include <string>
#include <utility>
#include <vector>

namespace examples {

class RunReport {
 public:
  //! Where the page goes; "" for nowhere. `score` names what `EpochReport::valid_score` is.
  //!
  //! Where it cannot be written it is said once, and the run goes on.
  RunReport(std::string path, std::string title, std::string command, std::string score = "");

  void after_update(const weft::train::UpdateReport& update);
  void after_epoch(const weft::train::EpochReport& epoch);

  //! Writes the page with what else is known of the run, if there was an update.
  void write();

  //! What programs add: facts, memory, schedule, samples.
  weft::train::Report page;

 private:
  using Points = std::vector<std::pair<double, double>>;

  std::string path_;
  std::string score_;
  Points train_loss_, valid_loss_, scores_, rate_, speed_;
};

}  // namespace examples
