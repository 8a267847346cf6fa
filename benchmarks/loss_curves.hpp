// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file How far a training's losses come from float32's when products are rounded.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <weft/core/index.hpp>
#include <weft/core/philox.hpp>
#include <weft/device/product_precision.hpp>
#include <weft/nn/criteria.hpp>
#include <weft/nn/language_model.hpp>
#include <weft/optim/adam.hpp>
#include <weft/parallel/chunked.hpp>
#include <weft/parallel/gradient_accumulation.hpp>

#include "text_batch.hpp"

namespace benchmark {

//! Words that follow from the last but one before them, by attention to it: each has four
//! successors, of probability 1/2, 1/4, 1/8 and 1/8. So losses can be learnt down to 1.21, and stay
//! where ratios mean something.
inline std::vector<weft::token_t> random_text(weft::index_t words, weft::index_t vocabulary,
                                              std::uint32_t number) {
  const auto random = [](std::uint32_t a, std::uint32_t b, std::uint64_t stream) {
    return weft::philox({a, b, 0, 0}, weft::RandomKey(/*seed=*/1, stream))[0];
  };
  std::vector<weft::token_t> text;
  std::uint32_t last_but_one = 0, last = 0;
  for (std::uint32_t i = 0; std::ssize(text) < words; ++i) {
    const std::uint32_t eighth = random(i, number, 1) >> 29;
    const std::uint32_t successor = eighth < 4 ? 0 : eighth < 6 ? 1 : eighth - 4;
    const auto next = random(last_but_one, successor, 2) % static_cast<std::uint32_t>(vocabulary);
    text.push_back(static_cast<weft::token_t>(next));
    last_but_one = std::exchange(last, next);
  }
  return text;
}

//! What all curves have in common.
struct CurveSettings {
  weft::index_t vocabulary, sequences, length;
  int updates = 1000, updates_a_point = 50;
};

//! The losses of a training, each the mean of some updates, and how many of these were left out.
struct LossCurve {
  std::vector<double> losses;
  int skipped = 0;
};

//! Trains a language model with Adam, on new words each time.
template <weft::nn::LanguageModelShape Shape, class D>
LossCurve loss_curve(D& device, const CurveSettings& settings,
                     const weft::parallel::Recipe& recipe) {
  using namespace weft;
  using Model = nn::LanguageModel<Shape>;
  using Loss = Chunked<nn::LanguageModelGenerator<Shape>, nn::CrossEntropy>;
  const auto& [vocabulary, sequences, length, updates, updates_a_point] = settings;
  GradientAccumulation<Model, Loss, optim::Adam, D> strategy(
      device,
      parallel::Objective<Model, Loss>(Model(vocabulary, length, nn::Dropouts::everywhere(0.1f)),
                                       nn::CrossEntropy()),
      optim::Adam(), recipe);
  LossCurve curve;
  double sum = 0.0;
  for (int update = 0; update < updates; ++update) {
    const auto words =
        random_text(sequences * length + 1, vocabulary, static_cast<std::uint32_t>(update));
    const double rate = 1e-3 * std::min(1.0, (update + 1) / 100.0);
    const auto report = strategy.step(TextBatch(length, words), rate);
    sum += mean(report.loss.loss, report.loss.tokens).value();
    curve.skipped += report.skipped ? 1 : 0;
    if ((update + 1) % updates_a_point == 0) {
      curve.losses.push_back(std::exchange(sum, 0.0) / updates_a_point);
    }
  }
  return curve;
}

//! The largest distance of a point from the other curve's, as a share of that.
inline double farthest(const LossCurve& curve, const LossCurve& from) {
  double result = 0.0;
  for (std::size_t i = 0; i < from.losses.size(); ++i) {
    result = std::max(result, std::abs(curve.losses[i] / from.losses[i] - 1.0));
  }
  return result;
}

//! Prints a line of JSON for each precision, and one for float32 with sums in another order, which
//! says what a distance means.
template <weft::nn::LanguageModelShape Shape, class D>
void loss_curves(D& device, const std::string& suite, const CurveSettings& settings,
                 const std::vector<weft::ProductPrecision>& rounded) {
  using weft::ProductPrecision;
  const auto curve = [&](ProductPrecision precision, const weft::parallel::Recipe& recipe) {
    device.set_product_precision(precision);
    return loss_curve<Shape>(device, settings, recipe);
  };
  const LossCurve exact = curve(ProductPrecision::float32, {});
  const auto report = [&](const std::string& subject, const LossCurve& found) {
    std::printf(
        "{\"suite\": \"%s\", \"subject\": \"weft_%s\", \"metric\": \"farthest_from_float32\", "
        "\"median\": %.6g, \"first_loss\": %.6g, \"last_loss\": %.6g, \"updates\": %d, "
        "\"updates_a_point\": %d, \"skipped\": %d}\n",
        suite.c_str(), subject.c_str(), farthest(found, exact), found.losses.front(),
        found.losses.back(), settings.updates, settings.updates_a_point, found.skipped);
    std::fflush(stdout);
  };
  report("float32", exact);
  report("float32_in_two_lanes",
         curve(ProductPrecision::float32, {.lanes = 2, .micro_batches = 2}));
  for (const auto precision : rounded) {
    weft::parallel::Recipe recipe;
    if (precision == ProductPrecision::float16) recipe.loss_scaling.emplace();
    report(to_text(precision), curve(precision, recipe));
  }
}

}  // namespace benchmark
