// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/optim/adam.hpp>
#include <weft/optim/sgd.hpp>

#include <weft/device/cpu.hpp>

#include <catch2/catch.hpp>

#include <cmath>
#include <vector>

#include "../message_of.hpp"
#include "random_gradients.hpp"

namespace adam_tests {

using namespace weft;
using namespace weft::testing;
using optim::AdamSettings;

namespace {

//! Updates of 50 values by weft and by the formulas of the paper in double, the rate rising.
template <class Adam>
void check_against_paper(const typename Adam::Settings& s, bool decoupled) {
  constexpr index_t n = 50, updates = 60;
  constexpr double scale = 0.25, u = 0x1p-24;
  Cpu device;
  const Adam adam(s);
  auto values = random_gradients(n, 0);
  std::vector<float> first(n), second(n);
  std::vector<double> w(values.begin(), values.end()), m(n), v(n);
  double bound = 0.0;
  for (index_t t = 1; t <= updates; ++t) {
    const double rate = 0.01 + 1e-4 * static_cast<double>(t);
    const auto gradients = random_gradients(n, t);
    Adam::update(device, adam.step(t, rate, scale), {n, 0, 1}, gradients.data(), values.data(),
                 {first.data(), second.data()});
    // A step is about one rate, and takes some 30 roundings of that and 2 of the value.
    bound += 30 * u * rate + 2 * u * 2.0;
    const auto power = static_cast<double>(t);
    for (std::size_t i = 0; i < w.size(); ++i) {
      double g = scale * static_cast<double>(gradients[i]);
      if (!decoupled) g += s.weight_decay * w[i];
      m[i] = s.beta1 * m[i] + (1.0 - s.beta1) * g;
      v[i] = s.beta2 * v[i] + (1.0 - s.beta2) * g * g;
      const double m_hat = m[i] / (1.0 - std::pow(s.beta1, power));
      const double v_hat = v[i] / (1.0 - std::pow(s.beta2, power));
      if (decoupled) w[i] -= rate * s.weight_decay * w[i];
      w[i] -= rate * m_hat / (std::sqrt(v_hat) + s.epsilon);
      CAPTURE(t, i);
      REQUIRE(static_cast<double>(values[i]) == Approx(w[i]).margin(bound).epsilon(0));
    }
  }
}

}  // namespace

TEST_CASE("Adam's updates are those of the paper, biases corrected at every step") {
  check_against_paper<optim::Adam>({}, false);
  check_against_paper<optim::Adam>({.beta1 = 0.9, .beta2 = 0.98, .epsilon = 1e-9}, false);
  check_against_paper<optim::Adam>({.beta1 = 0.0, .beta2 = 0.5, .epsilon = 0.1}, false);
}

TEST_CASE("Adam's weight decay is part of the gradient, AdamW's passes by the moments") {
  check_against_paper<optim::Adam>({.weight_decay = 0.1}, false);
  check_against_paper<optim::AdamW>({.weight_decay = 0.1}, true);
}

TEST_CASE("settings that are not given are PyTorch's") {
  CHECK(optim::Adam().settings().weight_decay == 0.0);
  CHECK(optim::AdamW().settings().weight_decay == 0.01);
  CHECK(optim::AdamW({.epsilon = 1e-6}).settings().weight_decay == 0.01);
}

TEST_CASE("the first step of Adam is the learning rate, whatever the gradient's size") {
  Cpu device;
  const optim::Adam adam({.beta1 = 0.9, .beta2 = 0.999, .epsilon = 0.0});
  const std::vector<float> gradients{3e-9f, -0.25f, 7e6f};
  std::vector<float> values(3), first(3), second(3);
  optim::Adam::update(device, adam.step(1, 0.5, 1.0), {3, 0, 1}, gradients.data(), values.data(),
                      {first.data(), second.data()});
  // Some ten roundings: (1 - beta) and its correction have to agree to that.
  CHECK(values[0] == Approx(-0.5).epsilon(1e-6));
  CHECK(values[1] == Approx(0.5).epsilon(1e-6));
  CHECK(values[2] == Approx(-0.5).epsilon(1e-6));
}

TEST_CASE("Adam refuses settings that cannot be, and says which") {
  const auto refusal = [](const AdamSettings& settings) {
    return message_of<ArgumentError>([&] { return optim::Adam(settings); });
  };
  const std::string needs =
      "; needs 0 <= beta1, beta2 < 1, and epsilon and weight_decay of 0 or more";
  CHECK(refusal({.beta1 = 1.0}) ==
        "Adam: beta1 1, beta2 0.999, epsilon 1e-08, weight_decay 0" + needs);
  CHECK(refusal({.beta1 = -0.1}) ==
        "Adam: beta1 -0.1, beta2 0.999, epsilon 1e-08, weight_decay 0" + needs);
  CHECK(refusal({.beta2 = 1.5}) ==
        "Adam: beta1 0.9, beta2 1.5, epsilon 1e-08, weight_decay 0" + needs);
  CHECK(refusal({.epsilon = -1.0}) ==
        "Adam: beta1 0.9, beta2 0.999, epsilon -1, weight_decay 0" + needs);
  CHECK(refusal({.weight_decay = std::nan("")}) ==
        "Adam: beta1 0.9, beta2 0.999, epsilon 1e-08, weight_decay nan" + needs);
  CHECK(refusal({.epsilon = HUGE_VAL}) ==
        "Adam: beta1 0.9, beta2 0.999, epsilon inf, weight_decay 0" + needs);
  CHECK(refusal({.beta1 = 0.0, .beta2 = 0.0, .epsilon = 0.0}) == "(no error)");
}

TEST_CASE("without a decay of its first moment Adam steps by the sign of the gradient") {
  Cpu device;
  const optim::Adam adam({.beta1 = 0.0, .beta2 = 0.0, .epsilon = 0.0});
  std::vector<float> values(1), first(1), second(1);
  for (const float gradient : {1.0f, 1e-8f}) {  // which its distance from 1 does not hold
    const float before = values[0];
    optim::Adam::update(device, adam.step(1, 0.5, 1.0), {1, 0, 1}, &gradient, values.data(),
                        {first.data(), second.data()});
    CHECK(first[0] == gradient);
    CHECK(values[0] - before == Approx(-0.5).epsilon(1e-6));
  }
}

TEST_CASE("a learning rate that is none is refused") {
  for (const double rate : {-0.1, std::nan(""), HUGE_VAL}) {
    const std::string refused = text("a learning rate of ", rate);
    CHECK(message_of<ArgumentError>([&] { (void)optim::AdamW().step(1, rate, 1.0); }) == refused);
    CHECK(message_of<ArgumentError>([&] { (void)optim::Sgd().step(1, rate, 1.0); }) == refused);
  }
}

}  // namespace adam_tests
