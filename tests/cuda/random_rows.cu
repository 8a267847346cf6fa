// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Operations of rows on a GPU beside a processor's, with random widths, types of numbers and
//! places in memory: each choice has code of its own in a kernel.
#include <weft/cuda.cuh>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <weft/ops/activation.hpp>
#include <weft/ops/column_sums.hpp>
#include <weft/ops/cross_entropy.hpp>
#include <weft/ops/dropout.hpp>
#include <weft/ops/embedding.hpp>
#include <weft/ops/gated_activation.hpp>
#include <weft/ops/layer_norm.hpp>
#include <weft/ops/residual.hpp>
#include <weft/ops/rotary.hpp>
#include <weft/testing/random.hpp>

#include "device_difference.hpp"
#include "random_cases.hpp"

namespace random_rows_tests {

using namespace weft;
using namespace weft::testing;

namespace {

//! One operation with what it reads, and what it wrote.
template <class D>
struct Run {
  D& device;
  Choices choices;
  index_t N = choices.below(9) == 0 ? 4096 + choices.below(40) : 1 + choices.below(12);
  index_t C = N < 100 ? choices.columns() : 1 + choices.below(70);
  ops::DropoutMask mask = choices.maybe() ? some_dropped : nothing_dropped;
  LayoutPointer<D> layout = layout_of(device, {N});
  View<const RowKey> keys = layout->keys;
  std::uint32_t seed = 0;  // of the next random numbers
  struct Result {
    std::string name;
    std::vector<float> numbers;
    bool rounded;
  };
  std::vector<Result> results{};

  static constexpr FloatType float32 = FloatType::float32;

  PlacedRows<D> read(Shape shape, FloatType type, index_t gap = 0, float least = -1.0f,
                     float most = 1.0f) {
    const index_t all = shape.rows() * (shape.columns() + gap) + PlacedRows<D>::room;
    return {device, choices, shape, type, random_tensor(device, {1, all}, ++seed, least, most)};
  }
  PlacedRows<D> written(Shape shape, FloatType type, index_t gap = 0) {
    const index_t all = shape.rows() * (shape.columns() + gap) + PlacedRows<D>::room;
    return {device, choices, shape, type, nan_tensor(device, {1, all})};
  }
  //! A vector of C numbers, or none.
  View<const float> or_none(const PlacedRows<D>& vector) {
    return choices.maybe() ? vector.vector() : View<const float>();
  }
  void result(const char* name, const PlacedRows<D>& rows) {
    results.push_back({name, to_host(rows.all()), rows.rounded()});
  }

  void dropout() {
    const auto x = read({N, C}, float32), y = written({N, C}, choices.type());
    ops::dropout(device, mask, keys, x.floats(), y.target());
    result("y", y);
  }

  void residual() {
    const auto x = read({N, C}, float32), branch = read({N, C}, choices.type()),
               bias = read({1, C}, float32), sum = written({N, C}, float32);
    ops::residual(device, mask, keys, x.floats(), branch.view(), or_none(bias), sum.floats());
    result("sum", sum);
  }

  template <ops::Centring Centre>
  void normalise() {
    const auto x = read({N, C}, float32), branch = read({N, C}, choices.type()),
               branch_bias = read({1, C}, float32), gain = read({1, C}, float32),
               bias = read({1, C}, float32), sum = written({N, C}, float32),
               y = written({N, C}, choices.type()), factor = written({N, C}, choices.type());
    const Tensor<ops::RowMoments, D> moments(device, {N});
    View<const float> normalised = x.floats();
    if (choices.maybe()) {
      ops::residual_layer_norm<Centre>(device, mask, keys, x.floats(), branch.view(),
                                       or_none(branch_bias), sum.floats(), gain.vector(),
                                       bias.vector(), y.target(), moments,
                                       choices.maybe() ? factor.target() : ops::FactorTarget());
      normalised = sum.floats();
    } else {
      ops::layer_norm<Centre>(device, x.floats(), gain.vector(), bias.vector(), y.target(),
                              moments);
    }
    result("sum", sum);
    result("y", y);
    result("factor", factor);

    const auto dy = read({N, C}, float32), past = read({N, C}, float32),
               dx = written({N, C}, float32), dbranch = written({N, C}, choices.type());
    const auto sums = ops::residual_layer_norm_backward<Centre>(
        device, mask, keys, normalised, gain.vector(), View<const ops::RowMoments>(moments),
        dy.floats(), choices.maybe() ? View<const float>(past.floats()) : View<const float>(),
        dx.floats(), choices.maybe() ? dbranch.target() : ops::FactorTarget());
    result("dx", dx);
    result("dbranch", dbranch);
    results.push_back({"sums", to_host(sums), false});
  }

  template <ops::Activation A>
  void activation() {
    const auto x = read({N, C}, choices.type()), bias = read({1, C}, float32),
               y = written({N, C}, choices.type()), dy = read({N, C}, choices.type()),
               dx = written({N, C}, choices.type());
    const View<const float> added = or_none(bias);
    ops::bias_activation_dropout<A>(device, mask, keys, x.view(), added, y.target());
    if constexpr (A == ops::Activation::relu) {
      ops::relu_dropout_backward(device, mask, x.view(), dy.view(), dx.target());
    } else {
      ops::activation_dropout_backward<A>(device, mask, keys, x.view(), added, dy.view(),
                                          dx.target());
    }
    result("y", y);
    result("dx", dx);
  }

  void gates() {
    constexpr auto silu = ops::Activation::silu;
    const auto x = read({N, 2 * C}, choices.type()), y = written({N, C}, choices.type()),
               dy = read({N, C}, choices.type()), dx = written({N, 2 * C}, choices.type());
    ops::gated_activation_dropout<silu>(device, mask, keys, x.view(), y.target());
    ops::gated_activation_dropout_backward<silu>(device, mask, keys, x.view(), dy.view(),
                                                 dx.target());
    result("y", y);
    result("dx", dx);
  }

  Tensor<token_t, D> words(index_t vocabulary) {
    std::vector<token_t> ids;
    for (index_t n = 0; n < N; ++n) ids.push_back(static_cast<token_t>(choices.below(vocabulary)));
    return to_device<token_t>(device, ids, {N});
  }

  void embedding() {
    const auto ids = words(7);
    const auto table = read({7, C}, float32), positions = read({N, C}, float32),
               y = written({N, C}, float32), dy = read({N, C}, float32),
               dtable = read({7, C}, float32), dpositions = read({N + 2, C}, float32);
    const auto write = choices.maybe() ? ops::Write::replace : ops::Write::accumulate;
    ops::embedding(device, mask, *layout, ids, table.floats(), 1.5f,
                   choices.maybe() ? View<const float>(positions.floats()) : View<const float>(),
                   y.floats());
    ops::embedding_backward(device, View<const token_t>(ids), dy.floats(), 1.5f, dtable.floats(),
                            write);
    ops::position_backward(device, *layout, dy.floats(), dpositions.floats(), write);
    result("y", y);
    result("dtable", dtable);
    result("dpositions", dpositions);
  }

  void cross_entropy() {
    const index_t V = N < 100 && choices.below(3) == 0 ? 28'000 + choices.below(14'000) : C;
    const auto labels = words(V);
    const index_t gap = choices.maybe() ? choices.below(9) : 0;
    const auto logits = read({N, V}, float32, gap, -5.0f, 5.0f), bias = read({1, V}, float32),
               dlogits = written({N, V}, choices.type(), gap);
    const auto losses = nan_tensor(device, {N});
    const token_t ignored = choices.maybe() ? to_host(labels)[0] : ops::ignore_nothing;
    ops::cross_entropy(device, logits.view(), or_none(bias), View<const token_t>(labels), ignored,
                       choices.maybe() ? 0.1f : 0.0f,
                       choices.below(4) > 0 ? dlogits.target() : ops::FactorTarget(), losses, 0.5f);
    result("dlogits", dlogits);
    results.push_back({"losses", to_host(losses), false});
  }

  void column_sums() {
    const auto x = read({N, C}, choices.type()), sums = read({1, C}, float32);
    ops::column_sums(device, x.view(), View<float>(sums.floats().data, {C}),
                     choices.maybe() ? ops::Write::replace : ops::Write::accumulate);
    result("sums", sums);
  }

  void rotary() {
    const index_t pairs = 1 + choices.below(70), heads = 1 + choices.below(9);
    const auto x = read({N, 2 * heads * pairs}, choices.type(), choices.below(9)),
               frequencies = read({1, pairs}, float32, 0, 0.0f, 0.1f);
    ops::rotary(device, keys, frequencies.vector(),
                ops::AnyHeadRows<void>(x.target().numbers, x.target().stride), heads,
                choices.maybe() ? ops::Turn::forth : ops::Turn::back);
    result("x", x);
  }
};

constexpr std::size_t operations = 12;

//! What one of them wrote.
template <class D>
std::vector<typename Run<D>::Result> results_of(std::size_t operation, std::uint32_t seed) {
  D device;
  Run<D> run{device, Choices(seed)};
  using R = Run<D>;
  using enum ops::Activation;
  constexpr void (R::*all[operations])() = {
      &R::dropout,
      &R::residual,
      &R::template normalise<ops::Centring::mean>,
      &R::template normalise<ops::Centring::none>,
      &R::template activation<relu>,
      &R::template activation<gelu>,
      &R::template activation<silu>,
      &R::gates,
      &R::embedding,
      &R::cross_entropy,
      &R::column_sums,
      &R::rotary,
  };
  (run.*all[operation])();
  return run.results;
}

//! Empty if two arrays have their NaN in the same places and their numbers differ by no more than
//! `bound` of the largest.
std::string difference_of(const std::vector<float>& found, const std::vector<float>& expected,
                          double bound) {
  double largest = 0.0;
  for (const float number : expected) {
    if (!std::isnan(number)) largest = std::max(largest, std::abs(double{number}));
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(found[i]) && std::isnan(expected[i])) continue;
    if (!(std::abs(double{found[i]} - double{expected[i]}) <= bound * largest)) {
      return text("number ", i, " is ", found[i], ", should be ", expected[i]);
    }
  }
  return {};
}

}  // namespace

TEST_CASE("rows of any width, type and place are those of a processor") {
  for (std::uint32_t seed = 0; seed < 20 * operations; ++seed) {
    CAPTURE(seed);
    const std::size_t operation = seed % operations;
    const auto expected = results_of<Cpu>(operation, seed);
    const auto found = results_of<Cuda>(operation, seed);
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CAPTURE(expected[i].name, expected[i].rounded);
      // The order of sums decides which of two neighbours a number is rounded to.
      const double bound = expected[i].rounded ? 0x1p-7 : testing::close;
      CHECK(difference_of(found[i].numbers, expected[i].numbers, bound) == "");
    }
  }
}

}  // namespace random_rows_tests
