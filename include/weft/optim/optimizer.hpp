// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The concept of an optimizer.
#pragma once

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <string_view>

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>

namespace weft::optim {

//! Blocks `begin` to `end` - 1 (see ops/blocks.hpp) of n parameters: the part that one device or
//! rank updates.
struct Part {
  index_t parameters;  //!< n
  index_t begin;       //!< the first block
  index_t end;         //!< one past the last block
};

//! A rule that turns gradients into new values.
//!
//! **Semantics.** An optimizer holds its settings; its state is `state_names.size()` buffers as
//! long as the parameters, zero at first, which the strategy keeps (and may shard). `step(t, rate,
//! scale)` works out what is the same for all parameters in update t = 1, 2, ...; gradients are to
//! be multiplied by `scale` first. A static `update(device, step, part, gradients, values, state)`
//! applies it to a part; parts may be updated on different devices at once. One that takes an
//! `AnyFloats<void>` behind `state` writes the new values there too, rounded, unless it is null: a
//! GPU's next pass then need not round them. Ranks compare what `to_text` says of its `settings()`,
//! if it has these; of a `weight_decay` among them parameters may have a share (see
//! nn/parameter_groups.hpp), by an optimizer made of the changed settings.
template <class O>
concept Optimizer = requires(const O& optimizer) {
  { optimizer.step(index_t{}, double{}, double{}) } -> std::same_as<typename O::Step>;
  { O::state_names.size() } -> std::convertible_to<std::size_t>;
};

//! Pointers to the buffers of an optimizer's state.
template <class O>
using StatePointers = std::array<float*, O::state_names.size()>;

//! Whether one of an optimizer's buffers is a moving average of the parameters, as
//! `optim::MovingAverage` has it: buffer `average_buffer`.
template <class O>
concept KeepsAverage = requires {
  { O::average_buffer } -> std::convertible_to<std::size_t>;
};

//! The same rule with its weight decay multiplied by a scale; one that wraps another says itself
//! how, by a member of this name.
//!
//! **Errors.** ArgumentError unless it has a `settings().weight_decay` and can be made of such
//! settings, or the scale is 1.
template <Optimizer O>
[[nodiscard]] O with_scaled_decay(const O& optimizer, double scale) {
  if (scale == 1.0) return optimizer;
  if constexpr (requires { O(optimizer.with_scaled_decay(scale)); }) {
    return optimizer.with_scaled_decay(scale);
  } else if constexpr (requires { O(optimizer.settings()).settings().weight_decay; }) {
    auto settings = optimizer.settings();
    settings.weight_decay *= scale;
    return O(settings);
  } else {
    throw ArgumentError(text("parameters scale the weight decay by ", scale,
                             ", and the optimizer has no settings() with a weight_decay, of which "
                             "another can be made"));
  }
}

namespace detail {

inline bool is_amount(double value) { return std::isfinite(value) && value >= 0.0; }

inline void expect_rate(double rate) {
  if (!is_amount(rate)) throw ArgumentError(text("a learning rate of ", rate));
}

}  // namespace detail

}  // namespace weft::optim
