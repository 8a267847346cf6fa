// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Serves the training steps of a strategy, and those of a module without one.
#pragma once

#include "parameters.hpp"
#include "serve.hpp"

#include <weft/core/chunks.hpp>
#include <weft/nn/context.hpp>
#include <weft/nn/initialize.hpp>
#include <weft/ops/blocks.hpp>
#include <weft/ops/reduce.hpp>
#include <weft/optim/adam.hpp>
#include <weft/train/saved_model.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace benchmark {

//! The commands of a strategy that trains on one batch again and again: `repeat` times a `step`.
template <class Strategy, class Batch>
Commands training_commands(Strategy& strategy, const Batch& batch, double rate) {
  return {{"save",
           [&](const std::string& path) {
             weft::train::save_model(strategy, path, {});
             return Json(true);
           }},
          {"check",
           [&](const std::string&) {
             const auto sum = strategy.evaluate(batch);
             return Json{mean(sum.loss, sum.tokens).value()};
           }},
          {"repeat",
           [&, rate](const std::string&) {
             return Json{{"step", milliseconds([&] { (void)strategy.step(batch, rate); })}};
           }},
          {"memory",
           [&](const std::string&) { return memory(weft::train::memory_of_devices(strategy)); }}};
}

//! A module that is trained without a strategy, so that forward, backward and step can be timed
//! apart. The loss is the mean of the output's squares; the optimizer is Adam.
template <class Module, index_t C>
class LoneModule {
 public:
  //! `make(dropout)` makes the module. Settings: threads, precision, dropout, sequences, length.
  template <class Make>
  LoneModule(const Json& settings, const Make& make)
      : device_(settings.at("threads")),
        module_(make(settings.at("dropout"))),
        without_dropout_(make(0.0f)) {
    device_.set_product_precision(precision(settings));
    weft::nn::ParameterLayout same;
    weft::nn::place_trained(without_dropout_, same);
    weft::nn::place_trained(module_, layout_);
    const auto values = weft::nn::initial_values(layout_, /*seed=*/1, module_);
    values_ = weft::to_device<float>(device_, values, {layout_.values});
    values_.mark(weft::MemoryKind::parameters);
    gradients_ = std::make_unique<weft::nn::Gradients<weft::Cpu>>(device_, layout_);
    for (auto& moments : moments_) {
      moments = weft::Tensor<float>(device_, {layout_.trained});
      device_.clear(moments.data(), moments.size() * index_t{sizeof(float)});
      moments.mark(weft::MemoryKind::optimizer);
    }
    const index_t sequences = settings.at("sequences"), length = settings.at("length");
    const index_t N = sequences * length;
    std::vector<float> numbers(static_cast<std::size_t>(N * C));
    for (std::size_t i = 0; i < numbers.size(); ++i) {  // the same in peers/torch_encoder.py
      numbers[i] = static_cast<float>((i * 7919 + 13) % 2001) / 500.0f - 2.0f;
    }
    const std::vector<index_t> lengths(static_cast<std::size_t>(sequences), length);
    x_ = {weft::to_device<float>(device_, numbers, {N, C}),
          weft::make_layout<weft::Cpu>(device_, lengths)};
    block_sums_ =
        weft::Tensor<double>(device_, {weft::ops::block_count(std::max(N * C, layout_.trained))});
  }

  [[nodiscard]] Commands commands() {
    return {
        {"save",
         [&](const std::string& path) {
           write_parameters(path, module_, values_.data());
           return Json(true);
         }},
        {"check",
         [&](const std::string&) {
           gradients_->begin();
           Context ctx(device_, values_.data(), *gradients_, weft::RandomKey());
           auto [y, saved] = without_dropout_.forward(ctx, x_);
           const double loss = mean_of_squares(y.values);
           (void)without_dropout_.backward(ctx, std::move(saved), gradient(y));
           return Json{loss, std::sqrt(sum_of_squares(gradients_->data(), layout_.trained))};
         }},
        {"repeat", [&](const std::string&) { return repeat(); }},
        {"memory", [&](const std::string&) { return memory({weft::train::memory_of(device_)}); }}};
  }

 private:
  using Context = weft::nn::Context<weft::Cpu>;
  using Rows = weft::Rows<C>;
  using Adam = weft::optim::Adam;

  Json repeat() {
    const double begin = weft::monotonic_seconds();
    Context ctx(device_, values_.data(), *gradients_, weft::RandomKey(1, updates_));
    auto [y, saved] = module_.forward(ctx, x_);
    (void)mean_of_squares(y.values);
    const double middle = weft::monotonic_seconds();
    (void)module_.backward(ctx, std::move(saved), gradient(y));
    const double end = weft::monotonic_seconds();
    const double step_ms = milliseconds([&] { step(); });
    return {
        {"forward", 1e3 * (middle - begin)}, {"backward", 1e3 * (end - middle)}, {"step", step_ms}};
  }

  void step() {
    const auto update = adam_.step(++updates_, 1e-3, 1.0);
    const index_t blocks = weft::ops::block_count(layout_.trained);
    Adam::update(device_, update, {layout_.trained, 0, blocks}, gradients_->data(), values_.data(),
                 {moments_[0].data(), moments_[1].data()});
    gradients_->begin();
  }

  double sum_of_squares(const float* x, index_t n) {
    const index_t blocks = weft::ops::block_count(n);
    weft::ops::sum_of_squares(device_, n, 0, blocks, x, block_sums_.data());
    double sum = 0.0;
    for (index_t block = 0; block < blocks; ++block) sum += block_sums_.data()[block];
    return sum;
  }

  double mean_of_squares(const weft::Tensor<float>& y) {
    return sum_of_squares(y.data(), y.size()) / static_cast<double>(y.size());
  }

  //! That of the loss by the output.
  Rows gradient(const Rows& y) {
    const Rows dy{weft::Tensor<float>(device_, y.values.shape()), y.layout};
    const float scale = 2.0f / static_cast<float>(y.values.size());
    device_.for_rows(y.values.rows(), C, [&](auto lanes, index_t n) {
      const float* in = y.values.data() + n * C;
      float* out = dy.values.data() + n * C;
      lanes.for_each(C,
                     [&](auto c) { weft::simd::store(out, c, weft::simd::load(in, c) * scale); });
    });
    return dy;
  }

  weft::Cpu device_;
  Module module_;
  Module without_dropout_;
  weft::nn::ParameterLayout layout_;
  weft::Tensor<float> values_;
  std::unique_ptr<weft::nn::Gradients<weft::Cpu>> gradients_;
  std::array<weft::Tensor<float>, 2> moments_;
  Rows x_;
  weft::Tensor<double> block_sums_;
  Adam adam_;
  index_t updates_ = 0;
};

}  // namespace benchmark
