// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/ops/cross_entropy.hpp>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include <weft/tensor/tensor.hpp>
#include <weft/testing/difference.hpp>
#include <weft/testing/gradient_check.hpp>
#include <weft/testing/matrix.hpp>
#include <weft/testing/random.hpp>
#include <weft/testing/reference.hpp>
#include <weft/testing/teams.hpp>

#include "../message_of.hpp"

namespace cross_entropy_tests {

using namespace weft;
using namespace weft::testing;

namespace {

constexpr token_t ignored = 1;

//! Labels all over the vocabulary, every third one ignored.
Tensor<token_t> labels_for(Cpu& device, index_t N, index_t V) {
  std::vector<token_t> labels;
  for (index_t n = 0; n < N; ++n) {
    labels.push_back(n % 3 == 1 ? ignored : static_cast<token_t>((n * 7 + V - 1) % V));
  }
  return to_device<token_t>(device, labels, {N});
}

//! Logits in [-4, 4] and biases in [-1, 1] give differences below 10, off by two roundings of 10.
//! The sum of exponentials is off by those, by 5 roundings of exp and by V / 16 + 5 of additions,
//! relatively; its logarithm absolutely.
double sum_error(index_t V) {
  return (2 * 10 + 5 + static_cast<double>(V) / 16 + 5) * unit_roundoff;
}

void check(index_t N, index_t V, bool with_bias, float smoothing) {
  CAPTURE(N, V, with_bias, smoothing);
  Cpu device;
  const auto logits = random_tensor(device, {N, V}, 1, -4.0f, 4.0f),
             b = random_tensor(device, {V}, 2);
  const auto labels = labels_for(device, N, V);
  const View<const float> bias = with_bias ? View<const float>(b) : View<const float>();
  const Matrix in = matrix(logits), shift = matrix(b);
  const auto row_loss = [&](const Matrix& x, index_t n) {
    const token_t label = labels.data()[n];
    if (label == ignored) return 0.0;
    return cross_entropy(
        matrix(1, V, [&](index_t, index_t v) { return x(n, v) + (with_bias ? shift(0, v) : 0.0); }),
        label, static_cast<double>(smoothing));
  };

  const auto copy = to_device<float>(device, to_host(logits), {N, V});
  const auto losses = nan_tensor(device, {N}), alone = nan_tensor(device, {N});
  ops::cross_entropy(device, logits, bias, labels, ignored, smoothing, logits, losses);
  ops::cross_entropy(device, copy, bias, labels, ignored, smoothing, {}, alone);
  // Besides the logarithm: the label's difference and the mean of V of them, of numbers below 10,
  // and two last additions.
  const double bound = sum_error(V) + (static_cast<double>(V) / 16 + 10) * 10 * unit_roundoff;
  CHECK(difference(losses.reshaped({N, 1}),
                   matrix(N, 1, [&](index_t n, index_t) { return row_loss(in, n); }), bound) == "");
  CHECK(bit_difference(alone, losses) == "");

  const Matrix should = central_differences(
      [&](const Matrix& x) {
        double sum = 0.0;
        for (index_t n = 0; n < N; ++n) sum += row_loss(x, n);
        return sum;
      },
      in);
  // A probability is off by its own errors and the sum's; the target is subtracted in two steps.
  CHECK(difference(logits, should, 1e-8 + 2 * sum_error(V) + 4 * unit_roundoff) == "");
}

}  // namespace

TEST_CASE("losses and gradients agree with the formula in double and with central differences") {
  for (const index_t N : {0, 1, 4}) {
    for (const index_t V : {2, 15, 16, 17, 50}) {
      check(N, V, true, 0.1f);
    }
  }
  for (const bool with_bias : {false, true}) {
    for (const float smoothing : {0.0f, 0.3f}) check(5, 33, with_bias, smoothing);
  }
}

TEST_CASE("a gradient that is scaled by a power of two has the same digits, and losses the bits") {
  Cpu device;
  const auto smoothing = GENERATE(0.0f, 0.1f);
  constexpr index_t N = 5, V = 50;
  constexpr float scale = 0x1p16f;
  const auto labels = labels_for(device, N, V);
  const auto plain = random_tensor(device, {N, V}, 1, -4.0f, 4.0f),
             scaled = random_tensor(device, {N, V}, 1, -4.0f, 4.0f);
  const auto losses = nan_tensor(device, {N}), same = nan_tensor(device, {N});
  ops::cross_entropy(device, plain, {}, labels, ignored, smoothing, plain, losses);
  ops::cross_entropy(device, scaled, {}, labels, ignored, smoothing, scaled, same, scale);
  for (index_t i = 0; i < N * V; ++i) plain.data()[i] *= scale;
  CHECK(bit_difference(scaled, plain) == "");
  CHECK(bit_difference(same, losses) == "");
}

TEST_CASE("a real vocabulary keeps the error of its sums") {
  Cpu device;
  constexpr index_t V = 32000;
  const auto logits = random_tensor(device, {2, V}, 1, -4.0f, 4.0f),
             losses = nan_tensor(device, {2});
  const Matrix in = matrix(logits);
  const auto labels = to_device<token_t>(device, std::vector<token_t>{0, V - 1}, {2});
  ops::cross_entropy(device, logits, {}, labels, ops::ignore_nothing, 0.1f, logits, losses);
  const Matrix p = softmax(in);
  const double smoothing = static_cast<double>(0.1f);
  CHECK(difference(logits,
                   matrix(2, V,
                          [&](index_t n, index_t v) {
                            const bool is_label = v == (n == 0 ? 0 : V - 1);
                            return p(n, v) - smoothing / V - (is_label ? 1.0 - smoothing : 0.0);
                          }),
                   matrix(2, V, [&](index_t n, index_t v) {
                     const bool is_label = v == (n == 0 ? 0 : V - 1);
                     return p(n, v) * 2 * sum_error(V) + unit_roundoff * (is_label ? 3.0 : 3.0 / V);
                   })) == "");
  CHECK(difference(losses.reshaped({2, 1}),
                   matrix(2, 1,
                          [&](index_t n, index_t) {
                            return cross_entropy(block(in, n, 1, 0, V), n == 0 ? 0 : V - 1,
                                                 smoothing);
                          }),
                   sum_error(V) + 2010 * 10 * unit_roundoff) == "");
}

TEST_CASE("a vocabulary of one word has no loss") {
  Cpu device;
  const auto logits = random_tensor(device, {3, 1}, 1), losses = nan_tensor(device, {3});
  const auto labels = to_device<token_t>(device, std::vector<token_t>{0, 0, 0}, {3});
  ops::cross_entropy(device, logits, {}, labels, ops::ignore_nothing, 0.1f, logits, losses);
  CHECK(difference(losses.reshaped({3, 1}), Matrix(3, 1), 0.0) == "");
  CHECK(difference(logits, Matrix(3, 1), 2 * unit_roundoff) == "");
}

TEST_CASE("an ignored row has neither loss nor gradient, whatever its logits are") {
  Cpu device;
  for (const index_t V : {16, 21}) {
    auto values = random_values(2 * V, 1);
    values[3] = std::numeric_limits<float>::quiet_NaN();
    values[static_cast<std::size_t>(V - 1)] = std::numeric_limits<float>::infinity();
    const auto logits = to_device<float>(device, values, {2, V}), losses = nan_tensor(device, {2});
    const auto labels = to_device<token_t>(device, std::vector<token_t>{5, 4}, {2});
    ops::cross_entropy(device, logits, {}, labels, 5, 0.1f, logits, losses);
    CHECK(losses.data()[0] == 0.0f);
    CHECK(std::isfinite(losses.data()[1]));
    CHECK(difference(logits.slice(0, 1), Matrix(1, V), 0.0) == "");
  }
}

TEST_CASE("a NaN logit makes its loss and its gradient NaN") {
  Cpu device;
  for (const float smoothing : {0.0f, 0.1f}) {
    auto values = random_values(40, 1);
    values[25] = std::numeric_limits<float>::quiet_NaN();
    const auto logits = to_device<float>(device, values, {2, 20}), losses = nan_tensor(device, {2});
    const auto labels = to_device<token_t>(device, std::vector<token_t>{0, 0}, {2});
    ops::cross_entropy(device, logits, {}, labels, ops::ignore_nothing, smoothing, logits, losses);
    CHECK(std::isfinite(losses.data()[0]));
    CHECK(std::isnan(losses.data()[1]));
    const auto gradient = to_host(logits);
    CHECK(std::none_of(gradient.begin(), gradient.begin() + 20, [](float g) { return g != g; }));
    CHECK(std::all_of(gradient.begin() + 20, gradient.end(), [](float g) { return g != g; }));
  }
}

TEST_CASE("logits far apart give a large loss, not an infinite one") {
  Cpu device;
  const auto logits = to_device<float>(device, std::vector<float>{1e30f, 0.0f, -1e30f}, {1, 3});
  const auto losses = nan_tensor(device, {1});
  const auto labels = to_device<token_t>(device, std::vector<token_t>{1}, {1});
  ops::cross_entropy(device, logits, {}, labels, ops::ignore_nothing, 0.0f, logits, losses);
  CHECK(losses.data()[0] == 1e30f);
  CHECK(to_host(logits) == std::vector<float>{1.0f, -1.0f, 0.0f});
}

TEST_CASE("losses and gradients have the same bits on any team") {
  CHECK(team_difference([](Cpu& device) {
          const auto logits = random_tensor(device, {100, 300}, 1),
                     losses = nan_tensor(device, {100});
          ops::cross_entropy(device, logits, random_tensor(device, {300}, 2),
                             labels_for(device, 100, 300), ignored, 0.1f, logits, losses);
          return std::vector{logits, losses};
        }) == "");
}

TEST_CASE("labels, losses and biases that do not fit are refused") {
  Cpu device;
  const auto logits = nan_tensor(device, {3, 5}), two = nan_tensor(device, {2}),
             three = nan_tensor(device, {3});
  const auto labels = labels_for(device, 3, 5), few = labels_for(device, 2, 5);
  const auto run = [&](View<const float> bias, const auto& to, const auto& losses) {
    return message_of<ShapeError>(
        [&] { ops::cross_entropy(device, logits, bias, to, ignored, 0.0f, logits, losses); });
  };
  CHECK(run({}, few, three) == "cross_entropy: labels is (2), should be (3)");
  CHECK(run({}, labels, two) == "cross_entropy: losses is (2), should be (3)");
  CHECK(run(three, labels, three) == "cross_entropy: bias is (3), should be (5)");
  const ops::Factor<Cpu> rounded(device, {3, 5}, FloatType::bfloat16);
  CHECK(message_of<Error>([&] {
          ops::cross_entropy(device, rounded, {}, labels, ignored, 0.0f, {}, three);
        }) == "cross_entropy: logits are bfloat16, should be float32");
}

TEST_CASE("a label that no word has is refused") {
  Cpu device;
  const auto logits = nan_tensor(device, {3, 5}), losses = nan_tensor(device, {3});
  for (const token_t label : {-1, 5, 1'000'000'000}) {
    const std::vector<token_t> labels{4, label, ignored};
    CHECK(message_of<ArgumentError>([&] {
            ops::cross_entropy(device, logits, {}, View<const token_t>(labels.data(), {3}), ignored,
                               0.0f, {}, losses);
          }) == text("cross_entropy: label ", label, ", of row 1, is none of 0 to 4"));
  }
}

TEST_CASE("logits with gaps between their rows have the losses and gradients of those without") {
  Cpu device;
  constexpr index_t N = 5, V = 37, stride = 48;
  const auto close = random_tensor(device, {N, V}, 1), bias = random_tensor(device, {V}, 2);
  const ops::Factor<Cpu> apart(device, {N, V}, FloatType::float32, stride);
  float* const rows = static_cast<float*>(apart.target().numbers.data);
  for (index_t n = 0; n < N; ++n) {
    for (index_t v = 0; v < stride; ++v) {
      rows[n * stride + v] =
          v < V ? close.data()[n * V + v] : std::numeric_limits<float>::infinity();
    }
  }
  const auto labels = to_device<token_t>(device, std::vector<token_t>{3, 0, 36, 7, 7}, {N});
  const auto losses = nan_tensor(device, {N}), same = nan_tensor(device, {N});
  ops::cross_entropy(device, close, bias, labels, 0, 0.1f, close, losses);
  ops::cross_entropy(device, apart, bias, labels, 0, 0.1f, apart.target(), same);
  CHECK(bit_difference(same, losses) == "");
  for (index_t n = 0; n < N; ++n) {
    for (index_t v = 0; v < stride; ++v) {
      const float should = v < V ? close.data()[n * V + v] : std::numeric_limits<float>::infinity();
      CHECK(rows[n * stride + v] == should);
    }
  }
}

}  // namespace cross_entropy_tests
