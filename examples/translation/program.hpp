// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The commands: train, translate, evaluate.
#pragma once

#include "../common/report_errors.hpp"
#include "evaluate.hpp"
#include "options.hpp"
#include "train.hpp"
#include "translate.hpp"

namespace translation {

//! The program for a strategy.
template <class Strategy>
int run(int argc, char** argv) {
  return examples::report_errors([&] {
    const Options options = parse_options(argc, argv, Strategy::name, Strategy::unit,
                                          Strategy::default_devices(), Strategy::most_devices());
    if (options.command != Command::train && !Strategy::is_first_process()) return 0;
    switch (options.command) {
      case Command::train:
        return Strategy::launch(
            options, [&](Strategy& strategy) { return train_command(options, strategy); });
      case Command::translate:
        return translate_command<Strategy>(options);
      case Command::evaluate:
        return evaluate_command<Strategy>(options);
    }
    return 0;  // there is no other command
  });
}

}  // namespace translation
