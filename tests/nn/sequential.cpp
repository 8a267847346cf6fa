// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/sequential.hpp>

#include <weft/nn/activations.hpp>
#include <weft/nn/dropout.hpp>
#include <weft/nn/embedding.hpp>
#include <weft/nn/layer_norm.hpp>
#include <weft/nn/linear.hpp>
#include <weft/nn/residual.hpp>
#include <weft/testing/difference.hpp>

#include "../message_of.hpp"
#include "../placed.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace sequential_tests {

using namespace weft;
using namespace weft::nn;
using namespace weft::testing;

namespace {

using Small = Sequential<Linear<5, 7>, Gelu<7>, Linear<7, 3>>;

static_assert(UnaryModule<Small>);
static_assert(UnaryModule<Sequential<Small, Linear<3, 2>>>);
static_assert(!UnaryModule<int>);
static_assert(modules_meet<Small, Linear<3, 4>>);
static_assert(!modules_meet<Small, Linear<4, 3>>);
static_assert(parameter_count(Small()) == 5 * 7 + 7 + 7 * 3 + 3);

}  // namespace

TEST_CASE("a Sequential is its modules one after the other") {
  Cpu device;
  Placed placed(device, Small());
  const auto x = random_rows<5>(device, {3, 1, 2}, 1);
  auto ctx = placed.evaluation(device);
  const auto& [first, second, third] = placed.module.modules;
  const auto expected =
      third.forward(ctx, second.forward(ctx, first.forward(ctx, x).output).output).output;
  CHECK(bit_difference(placed.module.forward(ctx, x).output.values, expected.values) == "");
}

TEST_CASE("a Sequential's gradients are those of central differences, with dropout inside") {
  Cpu device;
  const Sequential model{Linear<5, 7>(), Gelu<7>(), Dropout<7>(0.4f),
                         Residual{Sequential{LayerNorm<7>(), Linear<7, 7, false>()}},
                         Linear<7, 3>()};
  CHECK(gradient_fault(device, model, random_rows<5>(device, {3, 1, 2}, 2)) == "");
}

namespace {

//! Hands on what it reads, but not to whom it belongs: in one pass.
struct WithoutLayout {
  bool forth = true;

  template <class Self, class Visit>
  static constexpr void members(Self&, Visit&&) {}
  template <class D>
  struct Saved {};
  template <class D>
  [[nodiscard]] Result<Rows<3, D>, Saved<D>> forward(Context<D>&, const Rows<3, D>& x) const {
    return {forth ? Rows<3, D>{x.values, {}} : x, {}};
  }
  template <class D>
  [[nodiscard]] Rows<3, D> backward(Context<D>&, Saved<D>&&, const Rows<3, D>& dy) const {
    return {dy.values, {}};
  }
};

}  // namespace

TEST_CASE("a module that loses the layout of its rows is named") {
  Cpu device;
  const auto x = random_rows<3>(device, {3, 1, 2}, 1);
  const auto said = [&](bool forth) {
    Placed placed(device, Sequential{Linear<3, 3>(), WithoutLayout{forth}, LayerNorm<3>()});
    auto ctx = placed.training(device);
    return message_of([&] {
      auto [y, saved] = placed.module.forward(ctx, x);
      return placed.module.backward(ctx, std::move(saved), y);
    });
  };
  const std::string given = "Sequential: module 1 was given rows with a layout, and its ";
  const std::string returns = " returns some without: return {values, layout} with the same layout";
  CHECK(said(true) == given + "forward" + returns);
  CHECK(said(false) == given + "backward" + returns);
}

TEST_CASE("the parameters of a Sequential are numbered") {
  const Sequential model{Linear<2, 2>(), Relu<2>(),
                         Residual{Sequential{Linear<2, 2, false>(), LayerNorm<2>()}}};
  std::vector<std::string> names;
  for (const auto& [name, parameter] : named_parameters(model)) names.push_back(name);
  CHECK(names == std::vector<std::string>{"0.weight", "0.bias", "2.branch.0.weight",
                                          "2.branch.1.weight", "2.branch.1.bias"});
}

TEST_CASE("a Sequential that begins with an embedding reads tokens and gives no gradient back") {
  Cpu device;
  using Model = Sequential<Embedding<4>, Linear<4, 2>>;
  Placed placed(device, Model(Embedding<4>(9, 8, 0.0f), Linear<4, 2>()));
  const std::vector<token_t> ids{3, 8, 3};
  const std::vector<index_t> lengths{2, 1};
  auto ctx = placed.training(device);
  auto [y, saved] =
      placed.module.forward(ctx, {to_device<token_t>(device, ids, {3}),
                                  make_layout(device, std::span<const index_t>(lengths))});
  static_assert(std::is_void_v<decltype(placed.module.backward(ctx, std::move(saved), y))>);
  placed.module.backward(ctx, std::move(saved), y);

  const auto gradients = placed.total_gradients();
  for (token_t word = 0; word < 9; ++word) {
    const auto row = std::span(gradients).subspan(static_cast<std::size_t>(word) * 4, 4);
    const bool read = word == 3 || word == 8;
    CHECK(std::ranges::any_of(row, [](float g) { return g != 0.0f; }) == read);
  }
}

TEST_CASE("an embedding that was made for no words has no parameters, and says so when it is used") {
  Cpu device;
  const Sequential<Embedding<4>, Linear<4, 2>> model;
  CHECK(parameter_count(model) == 4 * 2 + 2);
  const Placed placed(device, model);
  auto ctx = placed.evaluation(device);
  CHECK(message_of<ShapeError>([&] {
          const std::vector<token_t> ids{3, 8};
          const std::vector<index_t> lengths{2};
          return placed.module.forward(ctx,
                                       {to_device<token_t>(device, ids, {2}),
                                        make_layout(device, std::span<const index_t>(lengths))});
        }) == "embedding: a sequence of 2 tokens is longer than the 0 positions");
}

TEST_CASE("in evaluation a Sequential keeps no more of many modules than of two") {
  Cpu device;
  const auto x = random_rows<64>(device, {50}, 3);
  const auto peak = [&](const auto& unplaced) {
    const Placed placed(device, unplaced);
    auto ctx = placed.evaluation(device);
    device.memory().reset_peak();
    const auto before = device.memory().statistics().live;
    const auto y = placed.module.forward(ctx, x).output;
    return device.memory().statistics().peak - before;
  };
  using L = Linear<64, 64>;
  CHECK(peak(Sequential(L(), L(), L(), L(), L(), L())) == peak(Sequential(L(), L())));
}

TEST_CASE("the backward pass of a Sequential lets go of what each module saved") {
  Cpu device;
  const auto x = random_rows<64>(device, {50}, 3);
  const auto extra = [&](const auto& unplaced) {
    Placed placed(device, unplaced);
    auto ctx = placed.training(device);
    auto [y, saved] = placed.module.forward(ctx, x);
    y.values = {};
    const auto dy = random_rows<64>(device, {50}, 4);
    device.memory().reset_peak();
    const auto before = device.memory().statistics().live;
    const auto dx = placed.module.backward(ctx, std::move(saved), dy);
    return device.memory().statistics().peak - before;
  };
  using L = Linear<64, 64>;
  CHECK(extra(Sequential(L(), L(), L(), L(), L(), L())) == extra(Sequential(L(), L())));
}

}  // namespace sequential_tests
