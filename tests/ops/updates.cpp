// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/ops/updates.hpp>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <weft/core/text.hpp>
#include <weft/device/cpu.hpp>
#include <weft/testing/random.hpp>

namespace updates_tests {

using namespace weft;
using namespace weft::testing;
using ops::AdamStep;
using ops::block_count;
using ops::block_size;
using ops::SgdStep;

namespace {

constexpr double u = 0x1p-24;
constexpr index_t n = 2 * block_size + 21;

//! Values, gradients and two buffers of an optimizer; the second is positive, and small enough for
//! the share of the gradient to be seen.
struct State {
  std::vector<float> values = random_values(n, 1), gradients = random_values(n, 2),
                     first = random_values(n, 3), second = random_values(n, 4, 1e-4f, 1e-3f);
};

//! An optimizer's hyper-parameters, as PyTorch names them.
struct Adam {
  double rate, beta1, beta2, epsilon, decay;
  bool decoupled;

  [[nodiscard]] AdamStep step(int t, double gradient_scale) const {
    return {.gradient_scale = static_cast<float>(gradient_scale),
            .beta2 = static_cast<float>(beta2),
            .share1 = static_cast<float>(1.0 - beta1),
            .share2 = static_cast<float>(1.0 - beta2),
            .step_size = static_cast<float>(rate / (1.0 - std::pow(beta1, t))),
            .inverse_sqrt_correction = static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(beta2, t))),
            .epsilon = static_cast<float>(epsilon),
            .coupled_decay = static_cast<float>(decoupled ? 0.0 : decay),
            .decoupled_factor = static_cast<float>(decoupled ? 1.0 - rate * decay : 1.0)};
  }
};

//! Empty if |is - should| <= bound, else both.
std::string off(const char* what, std::size_t i, float is, double should, double bound) {
  if (std::abs(static_cast<double>(is) - should) <= bound) return {};
  return text(what, " of ", i, " is ", is, ", should be ", should, " to within ", bound);
}

//! One step of torch.optim.Adam or AdamW on blocks 1 and 2, in double.
//!
//! The gradient is off by 3 roundings of its terms' magnitudes; the moments by 4 of theirs, and by
//! what they take of the gradient; the update by that and 6 of its own.
std::string adam_difference(const Adam& adam, int t, double scale) {
  Cpu device;
  const State before;
  State state;
  ops::adam_update(device, adam.step(t, scale), n, 1, block_count(n), state.gradients.data(),
                   state.values.data(), state.first.data(), state.second.data());
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
    const auto w = static_cast<double>(before.values[i]), m = static_cast<double>(before.first[i]),
               v = static_cast<double>(before.second[i]),
               raw = scale * static_cast<double>(before.gradients[i]);
    if (i < static_cast<std::size_t>(block_size)) {  // not this shard's
      for (const auto& [is, was] : {std::pair{state.values[i], before.values[i]},
                                    std::pair{state.first[i], before.first[i]},
                                    std::pair{state.second[i], before.second[i]}}) {
        if (is != was) return text("element ", i, " of another shard was changed");
      }
      continue;
    }
    const double coupled = adam.decoupled ? 0.0 : adam.decay * w;
    const double g = raw + coupled;
    const double m_next = adam.beta1 * m + (1.0 - adam.beta1) * g;
    const double v_next = adam.beta2 * v + (1.0 - adam.beta2) * g * g;
    const double m_hat = m_next / (1.0 - std::pow(adam.beta1, t));
    const double v_hat = v_next / (1.0 - std::pow(adam.beta2, t));
    const double decayed = adam.decoupled ? w - adam.rate * adam.decay * w : w;
    const double update = adam.rate * m_hat / (std::sqrt(v_hat) + adam.epsilon);

    const double g_size = std::abs(raw) + std::abs(coupled);
    const double m_error = u * (4 * (std::abs(m) + g_size) + 3 * (1.0 - adam.beta1) * g_size);
    const double v_error = u * (4 * v_next + 6 * (1.0 - adam.beta2) * g_size * g_size);
    const double w_error = 3 * u * std::abs(w) +
                           std::abs(update) * (0.5 * v_error / v_next + 6 * u) +
                           adam.rate / (1.0 - std::pow(adam.beta1, t)) / std::sqrt(v_hat) * m_error;
    for (const std::string& difference :
         {off("first moment", i, state.first[i], m_next, m_error),
          off("second moment", i, state.second[i], v_next, v_error),
          off("value", i, state.values[i], decayed - update, w_error)}) {
      if (!difference.empty()) return difference;
    }
  }
  return {};
}

//! One step of torch.optim.SGD on blocks 1 and 2, in double: at most 8 roundings of all terms.
std::string sgd_difference(const SgdStep& step, bool with_momentum) {
  Cpu device;
  const State before;
  State state;
  ops::sgd_update(device, step, n, 1, block_count(n), state.gradients.data(), state.values.data(),
                  with_momentum ? state.first.data() : nullptr);
  const auto momentum = static_cast<double>(step.momentum), rate = static_cast<double>(step.rate);
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
    const auto w = static_cast<double>(before.values[i]);
    const double g = static_cast<double>(step.gradient_scale * before.gradients[i]) +
                     static_cast<double>(step.decay) * w;
    double velocity = static_cast<double>(before.first[i]);
    double change = g;
    const bool mine = i >= static_cast<std::size_t>(block_size);
    if (with_momentum && mine) {
      velocity = momentum * velocity + g;
      change = step.nesterov ? g + momentum * velocity : velocity;
    }
    const double bound = mine ? 8 * u * (std::abs(w) + 2.0) : 0.0;
    for (const std::string& difference :
         {off("value", i, state.values[i], mine ? w - rate * change : w, bound),
          off("velocity", i, state.first[i], velocity, bound)}) {
      if (!difference.empty()) return difference;
    }
  }
  return {};
}

constexpr Adam plain{0.1, 0.9, 0.98, 1e-9, 0.0, false};
constexpr Adam coupled{0.01, 0.9, 0.999, 1e-8, 0.1, false};
constexpr Adam decoupled{0.01, 0.9, 0.999, 1e-8, 0.1, true};

//! Three steps from 1, -2, 3, -4, 5 with the gradients sin(i + 10 t): see updates.py.
template <class Step>
std::string three_steps(const std::vector<double>& expected, Step step) {
  std::vector<float> values{1, -2, 3, -4, 5}, gradients(5), first(5, 0.0f), second(5, 0.0f);
  for (int t = 1; t <= 3; ++t) {
    for (std::size_t i = 0; i < 5; ++i) {
      gradients[i] = static_cast<float>(std::sin(static_cast<double>(i) + 10.0 * t));
    }
    step(t, gradients.data(), values.data(), first.data(), second.data());
  }
  for (std::size_t i = 0; i < 5; ++i) {
    // Three steps of at most 8 roundings of a value of 5 or less.
    const std::string difference = off("value", i, values[i], expected[i], 3 * 8 * 5 * u);
    if (!difference.empty()) return difference;
  }
  return {};
}

std::string adam_steps(const Adam& adam, const std::vector<double>& expected) {
  Cpu device;
  return three_steps(expected, [&](int t, float* g, float* w, float* m, float* v) {
    ops::adam_update(device, adam.step(t, 1.0), 5, 0, 1, g, w, m, v);
  });
}

std::string sgd_steps(float momentum, float decay, bool nesterov,
                      const std::vector<double>& expected) {
  Cpu device;
  return three_steps(expected, [&](int t, float* g, float* w, float* velocities, float*) {
    const SgdStep step{1.0f, 0.1f, momentum, decay, nesterov};
    ops::sgd_update(device, step, 5, 0, 1, g, w, momentum > 0.0f ? velocities : nullptr);
  });
}

}  // namespace

TEST_CASE("a step of Adam is PyTorch's formula, on its own shard only") {
  for (const int t : {1, 2, 1000}) {
    CHECK(adam_difference(plain, t, 1.0) == "");
    CHECK(adam_difference(coupled, t, 0.125) == "");
    CHECK(adam_difference(decoupled, t, 0.125) == "");
  }
}

TEST_CASE("three steps of Adam and AdamW give PyTorch's values") {
  CHECK(adam_steps(plain, {1.0970727283050441, -1.8746951614006244, 3.1595170445513148,
                           -4.090003422227225, 4.8778201283137879}) == "");
  CHECK(adam_steps(coupled, {1.0073766694637276, -1.9832725603865951, 3.0020966957046045,
                             -4.0003290388501567, 4.9790559445305238}) == "");
  CHECK(adam_steps(decoupled, {1.0066947316344972, -1.9815055559875443, 3.0069006345498064,
                               -3.9969965253417841, 4.972824343024584}) == "");
}

TEST_CASE("a step of SGD is PyTorch's formula, on its own shard only") {
  CHECK(sgd_difference({0.5f, 0.1f, 0.0f, 0.01f, false}, false) == "");
  for (const bool nesterov : {false, true}) {
    CHECK(sgd_difference({0.5f, 0.1f, 0.9f, 0.01f, nesterov}, true) == "");
  }
}

TEST_CASE("three steps of SGD give PyTorch's values") {
  CHECK(sgd_steps(0.0f, 0.0f, false, {1.0619107484254604, -1.9432627786662289, 2.9993997546049149,
                                      -4.0573858492758745, 4.9385888320191729}) == "");
  CHECK(sgd_steps(0.0f, 0.01f, false, {1.0588962921304663, -1.9373850091446647, 2.9903006055476773,
                                       -4.0453984759256292, 4.9237112915933761}) == "");
  CHECK(sgd_steps(0.9f, 0.0f, false, {1.0727732858220562, -1.8475634608143034, 3.0919503414191256,
                                      -4.0530745761974645, 4.8506970267759471}) == "");
  CHECK(sgd_steps(0.9f, 0.01f, true, {1.1191413202459095, -1.7907267670170137, 3.0574943752268822,
                                      -4.0728856581615451, 4.7647331960311492}) == "");
}

TEST_CASE("updates have the same bits on any team and in any shards") {
  Cpu alone(1), three(3);
  State whole, parts;
  const AdamStep step = coupled.step(3, 0.5);
  ops::adam_update(alone, step, n, 0, 3, whole.gradients.data(), whole.values.data(),
                   whole.first.data(), whole.second.data());
  for (const auto& [begin, end] : {std::pair{2, 3}, std::pair{0, 2}}) {
    ops::adam_update(three, step, n, begin, end, parts.gradients.data(), parts.values.data(),
                     parts.first.data(), parts.second.data());
  }
  CHECK((parts.values == whole.values && parts.first == whole.first &&
         parts.second == whole.second));
}

TEST_CASE("a scale that lies on the device takes the step's place, and 0 leaves all as it is") {
  Cpu device;
  const auto updated = [&](AdamStep adam, SgdStep sgd, const float* scale) {
    adam.device_scale = sgd.device_scale = scale;
    std::vector<float> values{1.0f, -2.0f, 3.0f}, m{0.1f, 0.2f, 0.3f}, v{0.4f, 0.5f, 0.6f};
    const std::vector<float> gradients{5.0f, 7.0f, -9.0f};
    ops::adam_update(device, adam, 3, 0, 1, gradients.data(), values.data(), m.data(), v.data());
    ops::sgd_update(device, sgd, 3, 0, 1, gradients.data(), m.data(), nullptr);
    return std::vector{values, m, v};
  };
  const AdamStep adam{0.5f, 0.99f, 0.1f, 0.01f, 0.01f, 3.0f, 1e-8f, 0.01f, 1.0f};
  AdamStep other_adam = adam;
  const SgdStep sgd{0.5f, 0.1f, 0.0f, 0.01f, false};
  SgdStep other_sgd = sgd;
  other_adam.gradient_scale = other_sgd.gradient_scale = 77.0f;
  const float half = 0.5f, nothing = 0.0f;
  CHECK(updated(other_adam, other_sgd, &half) == updated(adam, sgd, nullptr));
  CHECK(updated(adam, sgd, &nothing) ==
        std::vector<std::vector<float>>{{1.0f, -2.0f, 3.0f}, {0.1f, 0.2f, 0.3f}, {0.4f, 0.5f, 0.6f}});
}

}  // namespace updates_tests
