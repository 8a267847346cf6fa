// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Modules that stand alone, with places and values for their parameters.
#pragma once

#include <weft/nn/context.hpp>
#include <weft/nn/initialize.hpp>
#include <weft/nn/parameter_layout.hpp>
#include <weft/tensor/sequences.hpp>
#include <weft/testing/gradient_check.hpp>
#include <weft/testing/random.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace weft::testing {

//! Gives a module its places.
template <class Module>
[[nodiscard]] nn::ParameterLayout place(Module& module) {
  nn::ParameterLayout layout;
  nn::place_trained(module, layout);
  nn::place_others(module, layout);
  return layout;
}

//! A module with values and gradients.
template <class Module>
struct Placed {
  Module module;
  nn::ParameterLayout layout;
  std::vector<float> values;
  nn::Gradients<Cpu> gradients;
  RandomKey key{5, 6};

  Placed(Cpu& device, const Module& unplaced, std::uint64_t seed = 1)
      : module(unplaced),
        layout(place(module)),
        values(nn::initial_values(layout, seed, module)),
        gradients(device, layout) {
    gradients.begin();
    // What is not written is not what somebody left there before, perhaps the same numbers.
    std::fill_n(gradients.data(), layout.gradients, std::numeric_limits<float>::quiet_NaN());
  }

  [[nodiscard]] nn::Context<Cpu> training(Cpu& device) {
    return {device, values.data(), gradients, key};
  }
  [[nodiscard]] nn::Context<Cpu> evaluation(Cpu& device) const { return {device, values.data()}; }

  //! The gradients, tied ones added up.
  [[nodiscard]] std::vector<float> total_gradients() {
    gradients.end(layout);
    std::vector<float> total(gradients.data(), gradients.data() + layout.gradients);
    for (const auto& tied : layout.tied) {
      for (index_t i = 0; i < tied.size; ++i) {
        total[static_cast<std::size_t>(tied.to + i)] +=
            total[static_cast<std::size_t>(tied.from + i)];
      }
    }
    total.resize(static_cast<std::size_t>(layout.trained));
    return total;
  }
};

//! Random rows for sequences of the given lengths.
template <index_t C>
[[nodiscard]] Rows<C> random_rows(Cpu& device, const std::vector<index_t>& lengths,
                                  std::uint32_t seed, float low = -1.0f, float high = 1.0f) {
  const auto layout = make_layout(device, std::span<const index_t>(lengths));
  return {random_tensor(device, {layout->rows(), C}, seed, low, high), layout};
}

//! Empty if a module's gradients, for its rows `x` and for its parameters, are those that central
//! differences of <dy, y> give, with a random dy; else what is wrong.
template <class Module, index_t C>
[[nodiscard]] std::string gradient_fault(Cpu& device, const Module& unplaced, const Rows<C>& x) {
  Placed placed(device, unplaced);
  auto ctx = placed.training(device);
  auto [y, saved] = placed.module.forward(ctx, x);
  const auto dy = random_tensor(device, y.values.shape(), 99);
  auto dx = placed.module.backward(ctx, std::move(saved), {dy, y.layout});
  const auto gradients = placed.total_gradients();

  double noise = 0.0;  // sixteen roundings of a number of size 1 or of y, whichever is larger
  for (index_t i = 0; i < dy.size(); ++i) {
    const double size = 1.0 + std::abs(double{y.values.data()[i]});
    noise += 0x1p-20 * std::abs(double{dy.data()[i]}) * size;
  }
  const auto loss = [&] {
    auto again = placed.training(device);
    const auto y_again = placed.module.forward(again, x).output;
    double sum = 0.0;
    for (index_t i = 0; i < dy.size(); ++i) {
      sum += double{dy.data()[i]} * double{y_again.values.data()[i]};
    }
    return sum;
  };
  const auto elements = [](const Tensor<float>& t) {
    return std::span<float>(t.data(), static_cast<std::size_t>(t.size()));
  };
  const auto input = gradient_difference(elements(x.values), elements(dx.values), loss, noise);
  if (!input.empty()) return "of the input: " + input;
  const auto trained = std::span(placed.values).first(gradients.size());
  const auto weights = gradient_difference(trained, gradients, loss, noise);
  return weights.empty() ? "" : "of the parameters: " + weights;
}

}  // namespace weft::testing
