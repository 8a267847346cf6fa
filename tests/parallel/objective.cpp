// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/parallel/objective.hpp>

#include <weft/nn/initialize.hpp>
#include <weft/testing/small_translation.hpp>
#include <weft/train/device_batch.hpp>

#include <catch2/catch.hpp>

namespace objective_tests {

using namespace weft;
using namespace weft::testing;

TEST_CASE("in evaluation an objective keeps nothing, in training what backward needs") {
  Cpu device;
  const auto objective = small_objective();
  const auto values = nn::initial_values(objective.layout(), 1, objective);
  nn::Gradients<Cpu> gradients(device, objective.layout());
  const auto batch = random_translations(10, 1);
  const auto part = train::DeviceBatch(batch).part(device, {0, 10});
  const auto live = [&] { return device.memory().statistics().live; };
  const index_t before = live();
  {
    nn::Context<Cpu> ctx(device, values.data());
    const auto result = objective.forward(ctx, part);
    CHECK(live() == before);
  }
  {
    nn::Context<Cpu> ctx(device, values.data(), gradients, RandomKey());
    const auto result = objective.forward(ctx, part);
    CHECK(live() > before);
  }
  CHECK(live() == before);
}

}  // namespace objective_tests
