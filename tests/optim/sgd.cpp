// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/optim/sgd.hpp>

#include <weft/device/cpu.hpp>

#include <catch2/catch.hpp>

#include <cmath>
#include <vector>

#include "../message_of.hpp"
#include "random_gradients.hpp"

namespace sgd_tests {

using namespace weft;
using namespace weft::testing;
using optim::SgdSettings;

namespace {

//! Updates of 50 values by weft and by the formulas of torch.optim.SGD in double, the rate falling.
template <class Sgd>
void check_against_formulas(const SgdSettings& s) {
  constexpr index_t n = 50, updates = 40;
  constexpr double scale = 0.25, u = 0x1p-24;
  Cpu device;
  const Sgd sgd(s);
  auto values = random_gradients(n, 0);
  std::vector<float> velocities(n);
  std::vector<double> w(values.begin(), values.end()), v(n);
  double bound = 0.0;
  for (index_t t = 1; t <= updates; ++t) {
    const double rate = 0.1 / static_cast<double>(t);
    const auto gradients = random_gradients(n, t);
    optim::StatePointers<Sgd> state{};
    if constexpr (!state.empty()) state[0] = velocities.data();
    Sgd::update(device, sgd.step(t, rate, scale), {n, 0, 1}, gradients.data(), values.data(),
                state);
    // A velocity is below 0.25 / (1 - momentum) and gathers as many errors of a few roundings.
    const double velocity_bound = 0.5 / (1.0 - s.momentum);
    bound += rate * 8 * u * velocity_bound / (1.0 - s.momentum) + 2 * u * 2.0;
    for (std::size_t i = 0; i < w.size(); ++i) {
      double g = scale * static_cast<double>(gradients[i]) + s.weight_decay * w[i];
      v[i] = s.momentum * v[i] + g;
      g = s.nesterov ? g + s.momentum * v[i] : v[i];
      w[i] -= rate * g;
      CAPTURE(t, i);
      REQUIRE(static_cast<double>(values[i]) == Approx(w[i]).margin(bound).epsilon(0));
    }
  }
}

}  // namespace

TEST_CASE("plain descent follows the gradient and the decay") {
  check_against_formulas<optim::Sgd>({});
  check_against_formulas<optim::Sgd>({.weight_decay = 0.1});
}

TEST_CASE("momentum adds up what earlier gradients left") {
  check_against_formulas<optim::SgdMomentum>({.momentum = 0.9});
  check_against_formulas<optim::SgdMomentum>({.momentum = 0.5, .weight_decay = 0.1});
}

TEST_CASE("Nesterov's step looks ahead by the momentum") {
  check_against_formulas<optim::SgdMomentum>({.momentum = 0.9, .nesterov = true});
  check_against_formulas<optim::SgdMomentum>(
      {.momentum = 0.7, .weight_decay = 0.05, .nesterov = true});
}

TEST_CASE("a buffer for momentum without momentum is plain descent") {
  check_against_formulas<optim::SgdMomentum>({});
}

TEST_CASE("only SGD with momentum keeps a buffer") {
  CHECK(optim::Sgd::state_names.empty());
  REQUIRE(optim::SgdMomentum::state_names.size() == 1);
  CHECK(optim::SgdMomentum::state_names[0] == "velocity");
}

TEST_CASE("SGD refuses settings that cannot be, and says which") {
  const auto refusal = [](const SgdSettings& settings) {
    return message_of<ArgumentError>([&] { return optim::SgdMomentum(settings); });
  };
  const std::string needs = "; needs 0 <= momentum < 1 and a weight_decay of 0 or more";
  CHECK(refusal({.momentum = 1.0}) == "SGD: momentum 1, weight_decay 0, nesterov false" + needs);
  CHECK(refusal({.momentum = -0.5}) ==
        "SGD: momentum -0.5, weight_decay 0, nesterov false" + needs);
  CHECK(refusal({.weight_decay = -0.1}) ==
        "SGD: momentum 0, weight_decay -0.1, nesterov false" + needs);
  CHECK(refusal({.momentum = std::nan("")}) ==
        "SGD: momentum nan, weight_decay 0, nesterov false" + needs);
  CHECK(refusal({.nesterov = true}) ==
        "SGD: momentum 0, weight_decay 0, nesterov true; use SgdMomentum with a momentum above 0");
  CHECK(
      message_of<ArgumentError>([] { return optim::Sgd({.momentum = 0.9}); }) ==
      "SGD: momentum 0.9, weight_decay 0, nesterov false; use SgdMomentum with a momentum above 0");
}

}  // namespace sgd_tests
