// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The commands: train, translate, evaluate.
#pragma once

#include "commands.hpp"
#include "options.hpp"

#include <cstdio>
#include <exception>

namespace translation {

//! The program for a strategy.
template <class Strategy>
int run(int argc, char** argv) {
  try {
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
  } catch (const weft::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.message().c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
  }
  return 1;
}

}  // namespace translation
