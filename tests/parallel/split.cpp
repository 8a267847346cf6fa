// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/parallel/split.hpp>

#include <weft/nn/embedding.hpp>
#include <weft/nn/encoder.hpp>
#include <weft/nn/frozen.hpp>
#include <weft/nn/layer_norm.hpp>
#include <weft/nn/linear.hpp>
#include <weft/nn/parameter_layout.hpp>
#include <weft/parallel/schedule/gpipe.hpp>

#include <catch2/catch.hpp>

#include <array>
#include <concepts>
#include <string>
#include <type_traits>
#include <vector>

namespace split_tests {

using namespace weft;
using parallel::balanced_cuts;

TEST_CASE("the dearest stage is as cheap as it can be, and no stage is empty") {
  STATIC_REQUIRE(balanced_cuts<2>(std::array<index_t, 4>{1, 1, 1, 1}) == std::array{0, 2, 4});
  STATIC_REQUIRE(balanced_cuts<3>(std::array<index_t, 3>{5, 0, 0}) == std::array{0, 1, 2, 3});
  STATIC_REQUIRE(balanced_cuts<1>(std::array<index_t, 2>{1, 2}) == std::array{0, 2});
  // What lies behind weighs on the last stage.
  STATIC_REQUIRE(balanced_cuts<2>(std::array<index_t, 5>{0, 4, 4, 4, 4}, 8) == std::array{0, 4, 5});
}

TEST_CASE("no other cut of small costs is better") {
  // All costs of 0 to 2 for five modules in three stages, and all ways to cut them.
  for (int code = 0; code < 243; ++code) {
    std::array<index_t, 5> costs{};
    for (int i = 0, rest = code; i < 5; ++i, rest /= 3) {
      costs[static_cast<std::size_t>(i)] = rest % 3;
    }
    const auto dearest = [&](int a, int b) {
      index_t stage[3] = {0, 0, 1};
      for (int i = 0; i < 5; ++i)
        stage[i < a ? 0 : i < b ? 1 : 2] += costs[static_cast<std::size_t>(i)];
      return std::max({stage[0], stage[1], stage[2]});
    };
    const auto cuts = balanced_cuts<3>(costs, 1);
    CAPTURE(code);
    REQUIRE((cuts[0] == 0 && cuts[1] > 0 && cuts[2] > cuts[1] && cuts[2] < 5 && cuts[3] == 5));
    for (int a = 1; a < 4; ++a) {
      for (int b = a + 1; b < 5; ++b) REQUIRE(dearest(cuts[1], cuts[2]) <= dearest(a, b));
    }
  }
}

TEST_CASE("a model is split into slices of it") {
  using Layer = nn::EncoderLayer<24, 3, 40>;
  using Embedding = nn::Embedding<24>;
  using Norm = nn::LayerNorm<24>;
  const nn::Sequential model(Embedding(37, 24, 0.1f), Layer(), Layer(), Layer(), Layer(), Norm());
  const auto halves = split<GPipe<2>, 2>(model);
  STATIC_REQUIRE(
      std::same_as<decltype(halves), const Pipe<GPipe<2>, nn::Sequential<Embedding, Layer, Layer>,
                                                nn::Sequential<Layer, Layer, Norm>>>);
  CHECK(halves.stage<0>().output_embedding().shape == Shape{37, 24});
  // A generator of 24 x 1,000 is as much as five layers.
  const auto weighed = split<GPipe<2>, 2, 24 * 1000>(model);
  STATIC_REQUIRE(
      std::same_as<std::remove_cvref_t<decltype(weighed.stage<1>())>, nn::Sequential<Norm>>);
}

namespace {

//! With a member that nobody gives a value.
struct Scaled {
  index_t rows;
  nn::Linear<24, 24> linear;

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("linear", self.linear);
  }
};

static_assert(parallel::detail::cost_of<Scaled> == 3 * (24 * 24 + 24));

}  // namespace

TEST_CASE("what is frozen costs its forward pass alone") {
  using Layer = nn::EncoderLayer<24, 3, 40>;
  using Begin = nn::Frozen<nn::Sequential<nn::Embedding<24>, Layer, Layer, Layer, Layer, Layer>>;
  const nn::Sequential model{Begin(), Layer(), Layer(), Layer()};
  // Five products with a layer's parameters, and three for each of the others.
  const auto halves = split<GPipe<2>, 2>(model);
  STATIC_REQUIRE(
      std::same_as<std::remove_cvref_t<decltype(halves.stage<1>())>, nn::Sequential<Layer, Layer>>);
  using Longer = nn::Frozen<
      nn::Sequential<nn::Embedding<24>, Layer, Layer, Layer, Layer, Layer, Layer, Layer>>;
  const auto after_longer = split<GPipe<2>, 2>(nn::Sequential{Longer(), Layer(), Layer(), Layer()});
  STATIC_REQUIRE(std::same_as<std::remove_cvref_t<decltype(after_longer.stage<1>())>,
                              nn::Sequential<Layer, Layer, Layer>>);
}

namespace {

std::vector<std::string> names(const auto& module) {
  std::vector<std::string> all;
  for (const auto& [name, parameter] : nn::named_parameters(module)) all.push_back(name);
  return all;
}

}  // namespace

TEST_CASE("the parameters of a pipe are named as those of the model, wherever it was cut") {
  using Layer = nn::EncoderLayer<24, 3, 40>;
  const nn::Sequential model(nn::Embedding<24>(37, 24, 0.1f), Layer(), Layer(), Layer());
  const auto expected = names(model);
  REQUIRE(expected.size() > 20);
  CHECK(expected.back().starts_with("3."));
  CHECK(names(split<GPipe<2>, 1>(model)) == expected);
  CHECK(names(split<GPipe<2>, 2>(model)) == expected);
  CHECK(names(split<GPipe<2>, 4>(model)) == expected);
}

TEST_CASE("so are those of a Sequential that is a stage alone") {
  using Block = nn::Sequential<nn::Linear<24, 40>, nn::Linear<40, 24>>;
  const nn::Sequential model(nn::Embedding<24>(37, 24, 0.1f), Block(), Block());
  const auto expected = names(model);
  CHECK(expected.back() == "2.1.bias");
  CHECK(names(split<GPipe<2>, 2>(model)) == expected);
  CHECK(names(split<GPipe<2>, 3>(model)) == expected);
}

}  // namespace split_tests
