// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What every program that trains asks about its run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <weft/optim/loss_scale.hpp>

namespace CLI {
class App;
}

namespace examples {

struct RunOptions {
  bool resume = false;
  bool check_finite = false;
  std::string product_precision = "float32";
  std::string log;           //!< a file of JSON lines; "" for none, as below
  std::string tensorboard;   //!< a folder
  std::string report;        //!< an HTML page
  std::string trace;         //!< a file for Perfetto
  std::string command_line;  //!< of the program, as it was typed
};

//! What programs of several commands have in common: one command is given, options stand before or
//! behind it or in a file (--config), and --version is there.
void prepare_commands(CLI::App& app);

void add_run_options(CLI::App& app, RunOptions& options);

//! The option --product-precision alone, for programs that use a model.
void add_product_precision(CLI::App& app, std::string& precision, const std::string& help,
                           const std::string& group);

//! The option --seed: a whole number that fits.
void add_seed(CLI::App& app, std::uint64_t& seed, const std::string& help,
              const std::string& group = "Options");

//! The most lanes, or micro-batches of one, that a program takes.
inline constexpr int most_parts = 65536;

//! How losses are scaled: dynamically where products are of float16.
std::optional<weft::optim::LossScaling> loss_scaling_of(const RunOptions& options);

//! The group that they stand in under `--help`.
inline constexpr const char* run_group = "The run";

//! The command line as it was typed.
std::string command_line(int argc, char** argv);

}  // namespace examples
