// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What a rank of a pipeline does at a time.
#pragma once

#include <cstdint>
#include <string>

#include <weft/core/text.hpp>

namespace weft::parallel {

//! A part of a pass through a stage.
enum class Work : std::uint8_t {
  forward,
  backward,  //!< the gradient of the input, and of the weights unless they have a turn apart
  weight_gradients,  //!< of a stage and micro-batch whose backward is done
};

//! One stage's work on one micro-batch. Stages count from the model's first, over all ranks.
class Action {
 public:
  constexpr Action() = default;
  //! One word: a kind of work, a stage, and a micro-batch, both from 0 to `largest`.
  constexpr Action(Work work, int stage, int micro_batch)
      : bits_(static_cast<std::uint32_t>(work) << 30 | static_cast<std::uint32_t>(stage) << 15 |
              static_cast<std::uint32_t>(micro_batch)) {}

  //! The largest stage, and the largest micro-batch.
  static constexpr int largest = (1 << 15) - 1;

  //! What is done.
  [[nodiscard]] constexpr Work work() const { return static_cast<Work>(bits_ >> 30); }
  //! In which stage.
  [[nodiscard]] constexpr int stage() const { return static_cast<int>(bits_ >> 15) & largest; }
  //! On which micro-batch.
  [[nodiscard]] constexpr int micro_batch() const { return static_cast<int>(bits_) & largest; }

  friend constexpr bool operator==(Action, Action) = default;

 private:
  std::uint32_t bits_ = 0;  // one word: tables are worked out by the compiler
};

//! "forward", "backward" or "weight gradients".
[[nodiscard]] constexpr const char* name_of(Work work) {
  // The last is what an action of a negative stage has in its two bits.
  constexpr const char* names[] = {"forward", "backward", "weight gradients", "no work"};
  return names[static_cast<int>(work)];
}

//! "forward of micro-batch 3 in stage 1"
[[nodiscard]] inline std::string to_text(Action action) {
  return text(name_of(action.work()), " of micro-batch ", action.micro_batch(), " in stage ",
              action.stage());
}

}  // namespace weft::parallel
