// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The program for a strategy.
#pragma once

#include "../common/report_errors.hpp"
#include "commands.hpp"
#include "options.hpp"
#include "single.hpp"

namespace language_model {

//! Trains by a strategy; what is trained writes on one device.
template <class Strategy>
int run(int argc, char** argv) {
  return examples::report_errors([&] {
    const Options options = parse_options(argc, argv, Strategy::name, Strategy::ranks_of_pipeline,
                                          Strategy::default_ranks());
    if (options.command == Command::generate) return generate_command<Single>(options);
    return Strategy::launch(options,
                            [&](Strategy& strategy) { return train_command(options, strategy); });
  });
}

}  // namespace language_model
