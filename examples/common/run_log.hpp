// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A run's figures, epoch by epoch, for programs and for TensorBoard.
#pragma once

#include "figures.hpp"

#include <weft/io/event_file.hpp>

#include <fstream>
#include <optional>
#include <string>

namespace examples {

//! Where the figures of each epoch go; either may be "", for nowhere.
class RunLog {
 public:
  //! `lines` is a file of JSON objects, which a run that goes on adds to; `events` a folder for
  //! TensorBoard. Where one cannot be written it is said once, and the run goes on without it.
  RunLog(const std::string& lines, const std::string& events, bool goes_on);

  //! Adds figures that were found after a number of updates.
  void write(weft::index_t updates, const Figures& figures);

 private:
  //! Closes the file where a line could not be written.
  void expect_written_lines();

  std::string path_;  //!< of the lines
  std::ofstream lines_;
  std::optional<weft::io::EventFile> events_;
};

}  // namespace examples
