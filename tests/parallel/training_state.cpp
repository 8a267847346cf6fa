// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/parallel/training_state.hpp>

#include <weft/core/sum_count.hpp>
#include <weft/device/cpu.hpp>
#include <weft/optim/sgd.hpp>
#include <weft/parallel/loss_sum.hpp>
#include <weft/parallel/recipe.hpp>
#include <weft/testing/small_translation.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "../message_of.hpp"

namespace training_state_tests {

using namespace weft;
using namespace weft::testing;

TEST_CASE("a loss that counts fewer than no labels is refused, and nothing has changed") {
  Cpu device;
  const auto objective = small_objective();
  const auto& layout = objective.layout();
  const std::vector<float> values(static_cast<std::size_t>(layout.values), 0.5f);
  std::vector<float> gradients(static_cast<std::size_t>(layout.gradients), 1.0f);
  parallel::TrainingState<optim::Sgd, Cpu> state(device, layout, values, optim::Sgd());
  const auto on_all = [&](const auto& f) { f(device, 0, 1); };
  const auto message = [&](index_t labels) {
    const parallel::LossSum loss{Sum<of::Loss>(1.0), Count<of::Tokens>(labels)};
    return message_of<ArgumentError>(
        [&] { return state.update(on_all, {}, {gradients.data()}, loss, 0.1).skipped; });
  };
  CHECK(message(-3) == "step: the loss says that -3 labels count");
  CHECK(state.updates() == 0);
  CHECK(std::equal(values.begin(), values.end(), state.values().data()));
  CHECK(std::ranges::count(gradients, 1.0f) == std::ssize(gradients));
  CHECK(message(3) == "(no error)");
  CHECK(state.updates() == 1);
}

}  // namespace training_state_tests
