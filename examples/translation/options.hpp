// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The command line.
#pragma once

#include "../common/run_options.hpp"

#include <weft/core/index.hpp>
#include <weft/data/parallel_corpus.hpp>
#include <weft/parallel/exchange.hpp>

#include <cstdint>
#include <string>

namespace translation {

//! Where pairs of sentences are: two line files, or one file with both sides.
struct CorpusOptions {
  std::string source;
  std::string target;
  std::string tsv;
  std::string json;
};

struct TrainOptions {
  std::string folder;
  CorpusOptions train;
  CorpusOptions valid;
  std::string subwords;              //!< a file of them
  weft::index_t train_subwords = 0;  //!< or how many to find
  weft::index_t minimum_count = 1;
  weft::index_t vocabulary = 1'000'000;
  weft::index_t longest = 256;
  weft::data::TooLong too_long = weft::data::TooLong::refuse;
  weft::index_t tokens = 8000;
  bool by_length = false;
  weft::index_t lanes = 0;
  weft::index_t micro_batches = 0;
  weft::index_t chunk = 5;
  double dropout = 0.3;
  double attention_dropout = 0.0;
  double activation_dropout = 0.0;
  double label_smoothing = 0.1;
  std::string schedule = "inverse-sqrt";
  double rate = 0.005;
  weft::index_t warmup = 2000;
  double clip_norm = 0.0;
  double weight_decay = 0.0;
  weft::index_t max_updates = 0;
  weft::index_t max_epochs = 0;
  int patience = 10;
  weft::index_t average = 10;
  bool score = false;
  std::uint64_t seed = 1;
  examples::RunOptions run;
  std::string summary;
};

struct TranslateOptions {
  std::string folder;
  std::string model = "average";
  weft::index_t beam = 5;
  double length_penalty = 1.0;
  weft::index_t max_length = 200;
  weft::index_t batch = 64;
  bool truncate = false;
  bool join_subwords = false;
  std::string product_precision = "float32";
};

struct EvaluateOptions {
  TranslateOptions translate;
  CorpusOptions corpus;
  std::string hypotheses;
  std::string references;
  std::string tokenize = "13a";
  std::string summary;
};

enum class Command { train, translate, evaluate };

struct Options {
  Command command = Command::train;
  int devices = 1;  //!< or ranks
  int threads = 1;
  double timeout_s = 600.0;  //!< for which ranks wait for each other
  weft::Exchange exchange;   //!< of ranks
  TrainOptions train;
  TranslateOptions translate;
  EvaluateOptions evaluate;
};

//! Reads the command line; ends the program after `--help` and where it makes no sense. `unit` is
//! "devices" or "ranks", and the option's name.
Options parse_options(int argc, char** argv, const std::string& strategy, const std::string& unit,
                      int default_devices, int most_devices);

}  // namespace translation
