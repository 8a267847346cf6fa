// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/parallel/lanes.hpp>

#include <weft/nn/initialize.hpp>
#include <weft/testing/small_translation.hpp>
#include <weft/train/device_batch.hpp>

#include <catch2/catch.hpp>

#include <vector>

namespace lanes_tests {

using namespace weft;
using namespace weft::parallel;
using namespace weft::testing;

TEST_CASE("a device keeps one sum for neighbouring lanes that the tree joins") {
  Cpu device;
  const auto objective = small_objective();
  LaneRunner<SmallObjective, Cpu> runner(device, objective);
  const auto values = nn::initial_values(objective.layout(), 1, objective);
  const auto batch = random_translations(8, 1);
  const Recipe recipe{.lanes = 8, .micro_batches = 8};
  std::vector<LossSum> losses(8);

  const auto held = [&](Range lanes) {
    runner.run(recipe, lanes, train::DeviceBatch(batch), true, values.data(), RandomKey(1, 1),
               losses);
    std::vector<index_t> present;
    for (index_t lane = 0; lane < 8; ++lane) {
      if (runner.gradients(lane) != nullptr) present.push_back(lane);
    }
    CHECK(present == held_lanes(lanes));
    return present;
  };
  CHECK(held({0, 8}) == std::vector<index_t>{0});
  CHECK(held({4, 8}) == std::vector<index_t>{4});
  CHECK(held({2, 5}) == std::vector<index_t>{2, 4});
  CHECK(held({1, 4}) == std::vector<index_t>{1, 2});
  CHECK(held({3, 3}).empty());
}

}  // namespace lanes_tests
