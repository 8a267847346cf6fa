// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What a module is given with its inputs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include <weft/core/error.hpp>
#include <weft/core/philox.hpp>
#include <weft/nn/parameter.hpp>
#include <weft/nn/parameter_layout.hpp>
#include <weft/nn/put_off.hpp>
#include <weft/nn/units.hpp>
#include <weft/ops/check_finite.hpp>
#include <weft/ops/dropout.hpp>
#include <weft/ops/factor.hpp>
#include <weft/ops/write.hpp>
#include <weft/tensor/tensor.hpp>

namespace weft::nn {

//! Whether a pass is to be learnt from, with dropout, or to be judged by.
enum class Mode { train, evaluate };

//! What a forward pass returns: the output, and what the backward pass needs of the inputs.
//!
//! `Saved` is a plain value. A module keeps nothing of a call, so that any number of micro-batches
//! can be under way at once.
template <class Output, class Saved>
struct Result {
  Output output;  //!< what the module computed
  Saved saved;    //!< for the backward pass
};

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
  [[nodiscard]] std::pair<View<float>, ops::Write> claim(const Parameter& p) {
    const auto first = static_cast<std::size_t>(p.slot);
    const bool written = slots_[first].written;
    for (std::size_t slot = first; slot < first + static_cast<std::size_t>(p.slots); ++slot) {
      if (slots_[slot].reported) {
        throw Error(text("the gradient at place ", slot,
                         " is added to twice in a pass, after it was"
                         " complete: give each use of a shared parameter its own place by a tie"));
      }
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

namespace detail {

[[noreturn, gnu::cold]] inline void throw_unplaced(Shape shape) {
  throw Error(text("a parameter of shape ", shape,
                   " has no place in the buffers: its module's members() must show it, and the "
                   "model must be placed, as Objective and nn::place_trained do"));
}

}  // namespace detail

//! The device, the values, where gradients go, the mode, and the random key of one pass.
//!
//! Modules are immutable and hold places; the context holds the buffers that the places lie in. So
//! one module serves every replica and micro-batch.
template <class D>
class Context {
 public:
  //! For evaluation: no gradients, nothing dropped.
  Context(D& device, const float* values, UnitObserver* observer = nullptr)
      : device_(&device), values_(values), observer_(observer) {}

  //! For training. `loss_scale`: what the loss multiplies its gradient by.
  Context(D& device, const float* values, Gradients<D>& gradients, RandomKey key,
          UnitObserver* observer = nullptr, float loss_scale = 1.0f)
      : device_(&device),
        values_(values),
        observer_(observer),
        gradients_(&gradients),
        mode_(Mode::train),
        key_(key),
        loss_scale_(loss_scale) {}

  //! Where the pass is computed.
  [[nodiscard]] D& device() const { return *device_; }
  //! Whether a backward pass will follow, and elements are dropped.
  [[nodiscard]] bool training() const { return mode_ == Mode::train; }
  //! What a loss multiplies its gradient by, where the backward pass begins: a power of two.
  [[nodiscard]] float loss_scale() const { return loss_scale_; }

  //! Around the work of a stack's layer: its parameters may be there only then.
  void enter_unit(int first, std::size_t layer) const {
    if (observer_ != nullptr && first != no_unit) {
      observer_->enter(first + static_cast<int>(layer));
    }
  }
  //! Behind that work.
  void leave_unit(int first, std::size_t layer) const {
    if (observer_ != nullptr && first != no_unit) {
      observer_->leave(first + static_cast<int>(layer));
    }
  }

  //! The values of a parameter.
  //!
  //! **Errors.** Error if it has no place in the buffers.
  [[nodiscard]] View<const float> value(const Parameter& p) const {
    if (p.value_offset < 0) detail::throw_unplaced(p.shape);
    at_work(p);
    return {values_ + p.value_offset, p.shape};
  }

  //! The values of a weight, as products read them.
  //!
  //! **Errors.** As `value`'s.
  [[nodiscard]] ops::FactorView factor(const Parameter& p) const {
    const View<const float> floats = value(p);
    // What begins elsewhere than at 16 bytes a GPU would read two numbers at a time: its products
    // round it anew, to where they read fast, and with the bits of a strategy that always does so.
    constexpr index_t together = ops::rounds_results<D> ? 8 : 1;
    if (all_weights_.empty() || p.value_offset % together != 0) return floats;
    return ops::FactorView(all_weights_).part(p.value_offset, p.shape);
  }

  //! Rounds all weights now, and not for each product, if the device rounds factors: for many
  //! passes with the same values, as those of a search.
  //!
  //! **Memory.** Half that of the parameters, until the context ends.
  void round_weights(const ParameterLayout& layout) {
    all_weights_ = ops::Factor<D>(*device_, View<const float>(values_, {layout.values}));
  }

  //! Has products read weights that somebody rounded: a factor with the places of all values, or
  //! nothing, and the values are read.
  void read_weights(const ops::Factor<D>& rounded) { all_weights_ = rounded; }

  //! A tensor on the context's device with undefined elements.
  template <class T = float>
  [[nodiscard]] Tensor<T, D> empty(Shape shape) const {
    return Tensor<T, D>(*device_, shape);
  }

  //! The mask of a place of dropout; it drops nothing in evaluation.
  [[nodiscard]] ops::DropoutMask mask(const DropoutSite& site) const {
    if (!training()) return {};
    return ops::DropoutMask(site.probability, key_, site.operation);
  }

  //! Has a parameter's gradient computed, unless it is frozen: calls `f(View<float> gradient,
  //! ops::Write)`, now or later.
  //!
  //! `f` holds what it needs by value: a schedule may run it after the backward pass went on.
  template <class F>
  void gradient(const Parameter& p, F&& f) {
    if (!p.trained) return;
    if (put_off_ == nullptr) return compute_gradient(*gradients_, p, f);
    put_off_->add([gradients = gradients_, p, f = std::forward<F>(f)] {
      compute_gradient(*gradients, p, f);
    });
  }

  //! The same for two trained parameters, whose gradients one operation computes: calls
  //! `f(View<float> gradient of a, ops::Write, View<float> gradient of b, ops::Write)`.
  template <class F>
  void gradients(const Parameter& a, const Parameter& b, F&& f) {
    if (put_off_ == nullptr) return compute_gradients(*gradients_, a, b, f);
    put_off_->add([gradients = gradients_, a, b, f = std::forward<F>(f)] {
      compute_gradients(*gradients, a, b, f);
    });
  }

  //! From now on the gradients of parameters wait until `later.run()`.
  void put_off_gradients(PutOff& later) { put_off_ = &later; }

  //! Until `release_gradients`, a parameter's gradient may be computed in several pieces.
  void hold_gradients() {
    if (gradients_ != nullptr) gradients_->hold();
  }
  //! The pieces are all there.
  void release_gradients() {
    if (gradients_ != nullptr) gradients_->release();
  }

 private:
  //! Where a module is found by, if an operation makes a number that is not finite.
  static void at_work(const Parameter& p) {
    if (ops::CheckFinite::on()) ops::CheckFinite::at(p.value_offset);
  }

  template <class F>
  static void compute_gradient(Gradients<D>& gradients, const Parameter& p, const F& f) {
    at_work(p);
    const auto [view, write] = gradients.claim(p);
    f(view, write);
    gradients.complete(p);
  }

  template <class F>
  static void compute_gradients(Gradients<D>& gradients, const Parameter& a, const Parameter& b,
                                const F& f) {
    at_work(a);
    const auto [of_a, write_a] = gradients.claim(a);
    const auto [of_b, write_b] = gradients.claim(b);
    f(of_a, write_a, of_b, write_b);
    gradients.complete(a);
    gradients.complete(b);
  }

  D* device_;
  const float* values_;
  UnitObserver* observer_;
  Gradients<D>* gradients_ = nullptr;
  ops::Factor<D> all_weights_;
  PutOff* put_off_ = nullptr;
  Mode mode_ = Mode::evaluate;
  RandomKey key_;
  float loss_scale_ = 1.0f;
};

}  // namespace weft::nn
