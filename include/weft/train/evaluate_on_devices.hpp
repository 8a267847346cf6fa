// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The model that a strategy trains, on each of its devices, to be asked and not trained.
#pragma once

#include <cstddef>
#include <type_traits>
#include <vector>

#include <weft/nn/context.hpp>
#include <weft/ops/check_finite.hpp>
#include <weft/parallel/primitives.hpp>
#include <weft/parallel/rethrow_with_module.hpp>
#include <weft/tensor/tensor.hpp>

namespace weft::train {

//! Calls `f(ctx, index)` on every device of this rank, with a context for evaluation that has all
//! values, and returns when all have ended. All ranks call it.
//!
//! **Memory.** All values on every device; one that rounds factors holds them rounded beside that.
//! **Errors.** What `f` throws; on one rank it ends the communicator on all of them.
template <class Strategy, class F>
void evaluate_on_devices(Strategy& strategy, const F& f) {
  strategy.together([&] {
    [[maybe_unused]] const auto whole = strategy.whole_values();
    using Device = std::remove_reference_t<decltype(strategy.device(0))>;
    std::vector<Tensor<float, Device>> values;
    for (int index = 0; index < strategy.devices(); ++index) {
      values.push_back(
          parallel::readable_on(strategy.device(index), strategy.state().read_values()));
    }
    strategy.on_devices([&](Device& device, int index) {
      nn::Context<Device> ctx(device, values[static_cast<std::size_t>(index)].data());
      ctx.round_weights(strategy.objective().layout());
      try {
        f(ctx, index);
      } catch (const ops::NotFiniteError& error) {
        parallel::rethrow_with_module(strategy.objective(), error);
      }
    });
  });
}

}  // namespace weft::train
