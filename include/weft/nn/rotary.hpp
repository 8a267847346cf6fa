// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file By how much rotary positions turn each pair of a head's channels.
#pragma once

#include <cmath>
#include <numbers>

#include <weft/core/index.hpp>

namespace weft::nn {

//! The frequencies of rotary positions: pair i of P turns by base^(-i / P) from one position to the
//! next.
//!
//! With a `factor` above 1 slow pairs turn so much slower, for texts that are longer than those of
//! the first training: pairs that turn less than `slow_turns` times in `first_length` positions;
//! those that turn more than `fast_turns` times stay as they are, and between the two it is a share
//! of both.
//!
//! **Source.** Su et al. 2021, section 3.2.2. The factor: Llama 3.1, `rope_type` "llama3" of
//! transformers.
struct Rotary {
  index_t base = 10'000;         //!< above 1; 0: nothing is turned
  index_t factor = 1;            //!< at least 1
  index_t slow_turns = 1;        //!< `low_freq_factor` of transformers
  index_t fast_turns = 4;        //!< `high_freq_factor`; above `slow_turns`
  index_t first_length = 8'192;  //!< positions; `original_max_position_embeddings`

  //! Whether anything is turned.
  [[nodiscard]] constexpr bool turns() const { return base > 0; }
  //! Whether the numbers make sense.
  [[nodiscard]] constexpr bool is_valid() const {
    return base == 0 || (base > 1 && factor >= 1 && slow_turns > 0 && fast_turns > slow_turns &&
                         first_length > 0);
  }

  //! In radians a position, rounded where Llama and transformers round: at position 8,192 the last
  //! bit of a fast pair's is an angle of 5e-4. (PyTorch's power is another float for one in a
  //! hundred.)
  //!
  //! **Shapes.** 0 <= pair < pairs.
  [[nodiscard]] float frequency(index_t pair, index_t pairs) const {
    const float exponent = static_cast<float>(pair) / static_cast<float>(pairs);
    const float plain = 1.0f / static_cast<float>(std::pow(static_cast<double>(base),
                                                           static_cast<double>(exponent)));
    if (factor == 1) return plain;
    const auto slow = static_cast<float>(slow_turns), fast = static_cast<float>(fast_turns);
    const auto length = static_cast<float>(first_length), times = static_cast<float>(factor);
    // Positions of a turn.
    const float wave = product(1.0f / plain, 2.0f * std::numbers::pi_v<float>);
    if (wave > length / slow) return plain / times;
    if (wave < length / fast) return plain;
    const float kept = (product(1.0f / wave, length) - slow) / (fast - slow);
    return product(1.0f - kept, plain) / times + product(kept, plain);
  }

 private:
  //! Rounded by itself, where a compiler would make one instruction of it and a sum.
  static float product(float a, float b) {
    const volatile float rounded = a * b;
    return rounded;
  }
};

//! What turns nothing.
inline constexpr Rotary no_rotary{.base = 0};

}  // namespace weft::nn
