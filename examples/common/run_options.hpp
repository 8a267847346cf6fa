// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What every program that trains asks about its run.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace examples {

struct RunOptions {
  bool resume = false;
  bool check_finite = false;
  std::string product_precision = "float32";
  std::string log;          //!< a file of JSON lines; "" for none, as below
  std::string tensorboard;  //!< a folder
  std::string report;       //!< an HTML page
  std::string trace;        //!< a file for Perfetto
};

void add_run_options(CLI::App& app, RunOptions& options);

//! The group that they stand in under `--help`.
inline constexpr const char* run_group = "The run";

//! The command line as it was typed.
std::string command_line(int argc, char** argv);

}  // namespace examples
