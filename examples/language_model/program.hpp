// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The program for a strategy.
#pragma once

#include "../common/ranks.hpp"
#include "../common/report_errors.hpp"
#include "generate.hpp"
#include "options.hpp"
#include "single.hpp"
#include "train.hpp"

namespace language_model {

//! Trains by a strategy; what is trained writes on one device, in the first process.
template <class Strategy>
int run(int argc, char** argv) {
  return examples::report_errors([&] {
    const Options options = parse_options(argc, argv, Strategy::name, Strategy::ranks_of_pipeline,
                                          Strategy::default_ranks());
    if (options.command == Command::generate) {
      return examples::environment().rank == 0 ? generate_command<Single>(options) : 0;
    }
    return Strategy::launch(options,
                            [&](Strategy& strategy) { return train_command(options, strategy); });
  });
}

}  // namespace language_model
