// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/generate/largest_logit.hpp>

#include <weft/nn/generator.hpp>
#include <weft/testing/random.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <limits>
#include <vector>

namespace largest_logit_tests {

using namespace weft;
using namespace weft::testing;
using generate::LargestLogit;

namespace {

constexpr index_t C = 24, vocabulary = 300;

//! A generator with a bias and values for it.
struct Random {
  using Generator = nn::BasicGenerator<C, true>;

  Generator generator{vocabulary};
  std::vector<float> values = random_values(vocabulary * (C + 1), 7);

  Random() {
    generator.weight.value_offset = 0;
    generator.bias.value_offset = vocabulary * C;
  }
};

//! The same, of which nobody knows how it makes its logits.
struct Opaque {
  const Random::Generator& generator;

  [[nodiscard]] index_t vocabulary() const { return generator.vocabulary(); }
  [[nodiscard]] Tensor<float> logits(nn::Context<Cpu>& ctx, const Tensor<float>& x) const {
    return generator.logits(ctx, x);
  }
};

}  // namespace

TEST_CASE("the word of the largest logit is that of all logits") {
  const Random random;
  const Opaque opaque{random.generator};
  Cpu device(2);
  const auto precision = GENERATE(ProductPrecision::float32, ProductPrecision::bfloat16);
  device.set_product_precision(precision);
  nn::Context<Cpu> ctx(device, random.values.data());
  LargestLogit<Random::Generator, Cpu> largest(random.generator);
  LargestLogit<Opaque, Cpu> plain(opaque);
  for (const index_t N : {1, 5, 6, 70}) {
    CAPTURE(N);
    const auto x = random_tensor(device, {N, C}, 3);
    const auto logits = random.generator.logits(ctx, x);
    std::vector<token_t> excluded, expected;
    for (int round = 0; round < 2; ++round) {
      expected.clear();
      for (index_t n = 0; n < N; ++n) {
        token_t best = -1;
        for (token_t v = 0; v < vocabulary; ++v) {
          if (std::ranges::find(excluded, v) != excluded.end()) continue;
          const float* const row = logits.data() + n * vocabulary;
          if (best < 0 || row[v] > row[best]) best = v;
        }
        expected.push_back(best);
      }
      CHECK(largest.find(ctx, x, excluded) == expected);
      CHECK(plain.find(ctx, x, excluded) == expected);
      excluded = {expected.front(), expected.back(), 0};
    }
  }
}

TEST_CASE("logits that are not numbers have no largest one, however they are made") {
  Random random;
  random.values.back() =
      GENERATE(std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity());
  const Opaque opaque{random.generator};
  Cpu device;
  nn::Context<Cpu> ctx(device, random.values.data());
  const auto x = random_tensor(device, {2, C}, 3);
  const std::vector<token_t> none(2, -1);
  CHECK(LargestLogit<Random::Generator, Cpu>(random.generator).find(ctx, x, {}) == none);
  CHECK(LargestLogit<Opaque, Cpu>(opaque).find(ctx, x, {}) == none);
}

TEST_CASE("where all words are excluded none is found") {
  const Random random;
  Cpu device;
  nn::Context<Cpu> ctx(device, random.values.data());
  std::vector<token_t> all(vocabulary);
  for (token_t v = 0; v < vocabulary; ++v) all[static_cast<std::size_t>(v)] = v;
  const auto x = random_tensor(device, {1, C}, 3);
  CHECK(LargestLogit<Random::Generator, Cpu>(random.generator).find(ctx, x, all) ==
        std::vector<token_t>{-1});
}

}  // namespace largest_logit_tests
