// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The command line.
#pragma once

#include "../common/run_options.hpp"

#include <weft/core/index.hpp>
#include <weft/generate/sample.hpp>
#include <weft/parallel/stage_runner.hpp>

#include <cstdint>
#include <string>

namespace language_model {

struct TrainOptions {
  std::string train, valid, test;  //!< text files
  weft::index_t minimum_count = 1;
  bool causal = true;
  weft::index_t batch = 20;
  weft::index_t valid_batch = 10;
  weft::index_t bptt = 25;
  weft::index_t micro_batches = 0;  //!< 0: as many as the schedule has
  weft::index_t chunk = 25;
  double dropout = 0.2;
  double rate = 5.0;
  double decay = 0.95;
  double clip_norm = 0.5;
  weft::index_t max_epochs = 3;
  weft::index_t batches = 0;  //!< an epoch at most; 0: all
  weft::parallel::Recompute recompute = weft::parallel::Recompute::never;
  std::uint64_t seed = 1;
  examples::RunOptions run;
  weft::index_t log_interval = 10;
};

struct GenerateOptions {
  std::string prompt;
  weft::index_t words = 50;
  weft::generate::Sampling sampling;
  std::uint64_t seed = 1;
};

enum class Command { train, generate };

struct Options {
  Command command = Command::train;
  std::string folder;
  int ranks = 1;
  int threads = 1;
  double timeout_s = 600.0;  //!< for which ranks wait for each other
  TrainOptions train;
  GenerateOptions generate;
};

//! Reads the command line; ends the program after `--help` and where it makes no sense. A strategy
//! of `pipeline` ranks takes a multiple of them, one without ranks 0.
Options parse_options(int argc, char** argv, const std::string& strategy, int pipeline,
                      int default_ranks);

}  // namespace language_model
