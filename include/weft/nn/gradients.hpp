// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Where the gradients of parameters go.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/shape.hpp>
#include <weft/nn/parameter.hpp>
#include <weft/nn/parameter_layout.hpp>
#include <weft/ops/write.hpp>
#include <weft/tensor/tensor.hpp>

namespace weft::nn {

namespace detail {

[[noreturn, gnu::cold]] inline void throw_placeless(Shape shape) {
  throw Error(text("the gradient of a parameter of shape ", shape,
                   " has no place in the buffers: its module's members() must show it; if it is "
                   "frozen, ctx.gradient leaves it out, but ctx.gradients is for two that are "
                   "trained"));
}

[[noreturn, gnu::cold]] inline void throw_added_twice(Shape shape) {
  throw Error(text("the gradient of a parameter of shape ", shape,
                   " is added to twice in a pass, after it was complete: each use of a shared "
                   "parameter has a place of its own, by visit.tie(use, parameter) in members(); a "
                   "module runs once, on all that it reads laid end to end"));
}

}  // namespace detail

//! The gradients of one lane: one buffer, and which parts of it were written in this update.
template <class D>
class Gradients {
 public:
  //! Called with the number of a place that nothing more is added to in this update.
  using Ready = std::function<void(int slot)>;

  Gradients() = default;
  //! A buffer for all parameters of a layout that have gradients.
  Gradients(D& device, const ParameterLayout& layout)
      : Gradients(layout, Tensor<float, D>(device, {layout.gradients})) {}
  //! The same in a buffer that was made for it. Parts of it need no memory until they are claimed.
  Gradients(const ParameterLayout& layout, Tensor<float, D> buffer)
      : buffer_(std::move(buffer)), slots_(layout.slots.size()) {
    buffer_.mark(MemoryKind::gradients);
  }

  //! The buffer, of `ParameterLayout::gradients` elements.
  [[nodiscard]] float* data() const { return buffer_.data(); }

  //! Begins an update: the next write to each part replaces it.
  void begin() {
    std::fill(slots_.begin(), slots_.end(), Slot{});
    ready_ = nullptr;
    held_ = false;  // an update that failed may have left it
  }

  //! Begins the last backward pass of the update: `ready` hears of each place, once, when its
  //! gradient is complete, at the latest in `end`.
  //!
  //! A pass computes the gradient of a parameter once, except between `hold` and `release`.
  void watch(Ready ready) { ready_ = std::move(ready); }

  //! Until `release`, gradients may be added to in several pieces, as in chunks of a loss.
  void hold() { held_ = true; }
  //! The gradients that came in pieces are complete.
  void release() {
    held_ = false;
    for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
      if (slots_[slot].held) report(slot);
    }
  }

  //! The place of a parameter's gradient, and whether this use is the update's first.
  //!
  //! **Errors.** Error if it has none, or if the pass had it complete before: a module that runs
  //! twice.
  [[nodiscard]] std::pair<View<float>, ops::Write> claim(const Parameter& p) {
    if (p.slot < 0) detail::throw_placeless(p.shape);
    const auto first = static_cast<std::size_t>(p.slot);
    const bool written = slots_[first].written;
    for (std::size_t slot = first; slot < first + static_cast<std::size_t>(p.slots); ++slot) {
      if (slots_[slot].reported) detail::throw_added_twice(p.shape);
      slots_[slot].written = true;
    }
    float* const place = buffer_.data() + p.gradient_offset;
    if (!written) buffer_.device().commit(place, p.size() * index_t{sizeof(float)});
    return {View<float>(place, p.shape), written ? ops::Write::accumulate : ops::Write::replace};
  }

  //! A parameter's gradient of this pass is there.
  void complete(const Parameter& p) {
    if (!ready_) return;
    for (int slot = p.slot; slot < p.slot + p.slots; ++slot) {
      const auto at = static_cast<std::size_t>(slot);
      slots_[at].held = held_;
      if (!held_) report(at);
    }
  }

  //! The number of the first place with a size that nobody claimed in this update, or of places if
  //! all were.
  [[nodiscard]] int first_unclaimed(const ParameterLayout& layout) const {
    std::size_t slot = 0;
    while (slot < slots_.size() && (slots_[slot].written || layout.slots[slot].second == 0)) ++slot;
    return static_cast<int>(slot);
  }

  //! Ends an update: what no micro-batch wrote is 0.
  void end(const ParameterLayout& layout) {
    for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
      const auto [offset, size] = layout.slots[slot];
      if (!slots_[slot].written) {
        buffer_.device().commit(buffer_.data() + offset, size * index_t{sizeof(float)});
        buffer_.device().clear(buffer_.data() + offset, size * index_t{sizeof(float)});
      }
      if (ready_ && !slots_[slot].reported) report(slot);
    }
  }

 private:
  struct Slot {
    bool written = false;
    bool held = false;
    bool reported = false;
  };

  void report(std::size_t slot) {
    slots_[slot].held = false;
    slots_[slot].reported = true;
    ready_(static_cast<int>(slot));
  }

  Tensor<float, D> buffer_;
  std::vector<Slot> slots_;
  Ready ready_;
  bool held_ = false;
};

}  // namespace weft::nn
