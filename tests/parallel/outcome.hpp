// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What a short training leaves behind, to be compared between strategies.
#pragma once

#include <weft/testing/small_translation.hpp>
#include <weft/train/device_batch.hpp>

#include <cstdint>
#include <vector>

namespace weft::testing {

struct Outcome {
  std::vector<double> losses;
  std::vector<double> norms;
  std::vector<float> values;
  double evaluated = 0.0;
  int skipped = 0;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

//! Updates on batches of 13 sentences, every fifth of only 3.
template <class Strategy>
Outcome train_on_small_batches(Strategy& strategy, int updates = 20) {
  Outcome outcome;
  for (int update = 0; update < updates; ++update) {
    const auto batch =
        random_translations(update % 5 == 4 ? 3 : 13, static_cast<std::uint32_t>(update));
    const auto report = strategy.step(train::DeviceBatch(batch), 0.002);
    outcome.losses.push_back(report.loss.loss.value());
    outcome.norms.push_back(report.gradient_norm);
    outcome.skipped += report.skipped ? 1 : 0;
  }
  const auto batch = random_translations(13, 1000);
  outcome.evaluated = strategy.evaluate(train::DeviceBatch(batch)).loss.value();
  [[maybe_unused]] const auto whole = strategy.whole_values();
  outcome.values = to_host(strategy.state().values());
  return outcome;
}

}  // namespace weft::testing
