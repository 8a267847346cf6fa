// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/gradients.hpp>

#include "../placed.hpp"
#include "three_vectors.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <limits>
#include <vector>

#include <weft/nn/context.hpp>

namespace gradients_tests {

using namespace weft;
using namespace weft::nn;
using namespace weft::testing;

namespace {

//! Hands a gradient of equal numbers to the context, as a module does.
void contribute(Context<Cpu>& ctx, const Parameter& p, float value) {
  ctx.gradient(p, [value](View<float> gradient, ops::Write write) {
    for (index_t i = 0; i < gradient.size(); ++i) {
      gradient.data[i] = write == ops::Write::accumulate ? gradient.data[i] + value : value;
    }
  });
}

}  // namespace

TEST_CASE("the first gradient of an update replaces what is there, later ones add to it") {
  Cpu device;
  Placed three(device, Three());
  std::fill_n(three.gradients.data(), 7, std::numeric_limits<float>::quiet_NaN());
  auto ctx = three.training(device);
  contribute(ctx, three.module.b, 2.0f);
  contribute(ctx, three.module.b, 3.0f);
  contribute(ctx, three.module.a, 1.0f);
  CHECK(three.total_gradients() == std::vector<float>{1, 1, 5, 5, 0, 0, 0});

  three.gradients.begin();
  contribute(ctx, three.module.b, 7.0f);
  CHECK(three.total_gradients() == std::vector<float>{0, 0, 7, 7, 0, 0, 0});
}

TEST_CASE("the gradient of joined parameters is that of each") {
  Cpu device;
  Placed three(device, Three());
  auto ctx = three.training(device);
  contribute(ctx, joined(three.module.a, three.module.b), 1.0f);
  contribute(ctx, joined(three.module.a, three.module.b), 2.0f);
  contribute(ctx, three.module.c, 4.0f);
  CHECK(three.total_gradients() == std::vector<float>{3, 3, 3, 3, 4, 4, 4});
}

TEST_CASE("a gradient without a place is refused") {
  Cpu device;
  Three frozen;
  if (GENERATE(false, true)) frozen = Placed(device, Three()).module;  // has places of its own
  frozen.a.trained = false;
  Placed three(device, frozen);
  auto ctx = three.training(device);
  const auto nothing = [](View<float>, ops::Write, View<float>, ops::Write) {};
  CHECK_THROWS_WITH(
      ctx.gradients(three.module.a, three.module.b, nothing),
      Catch::Contains("the gradient of a parameter of shape (2) has no place in the buffers"));
  CHECK_THROWS_WITH(contribute(ctx, Parameter{.shape = {4}}, 1.0f), Catch::Contains("shape (4)"));
}

TEST_CASE("of each place of a gradient is heard once, when nothing more is added to it") {
  Cpu device;
  Placed three(device, Three());
  auto ctx = three.training(device);
  const auto& [a, b, c, site] = three.module;
  std::vector<int> ready;
  contribute(ctx, b, 1.0f);  // in a pass before the last
  three.gradients.watch([&](int slot) { ready.push_back(slot); });
  ctx.hold_gradients();
  contribute(ctx, c, 1.0f);
  contribute(ctx, c, 1.0f);
  CHECK(ready.empty());
  ctx.release_gradients();
  CHECK(ready == std::vector<int>{2});
  contribute(ctx, b, 1.0f);
  CHECK(ready == std::vector<int>{2, 1});
  CHECK_THROWS_WITH(
      contribute(ctx, b, 1.0f),
      Catch::Contains("the gradient of a parameter of shape (2) is added to twice in a pass"));
  CHECK(three.total_gradients() == std::vector<float>{0, 0, 2, 2, 2, 2, 2});
  CHECK(ready == std::vector<int>{2, 1, 0});
}

}  // namespace gradients_tests
