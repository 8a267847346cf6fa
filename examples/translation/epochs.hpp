// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What is said of epochs and their updates.
#pragma once

#include "../common/figures.hpp"

#include <weft/train/progress.hpp>
#include <weft/train/trainer_settings.hpp>

#include <memory>
#include <string>

namespace translation {

//! An epoch as a line for people.
std::string line_of(const weft::train::EpochReport& epoch);

//! The same for the log; `seconds` since the run began here.
examples::Figures figures_of(const weft::train::EpochReport& epoch, double seconds);

//! The bar of an epoch's updates, where it `shows`.
class EpochProgress {
 public:
  explicit EpochProgress(bool shows) : shows_(shows) {}

  void after_update(const weft::train::UpdateReport& update);
  void end_epoch() { bar_.reset(); }

 private:
  bool shows_;
  std::unique_ptr<weft::train::Progress> bar_;
};

}  // namespace translation
