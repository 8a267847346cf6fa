// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What a module is given with its inputs.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <weft/core/error.hpp>
#include <weft/core/philox.hpp>
#include <weft/nn/gradients.hpp>
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

namespace detail {

[[noreturn, gnu::cold]] inline void throw_evaluating() {
  throw Error(
      "a gradient in a context for evaluation, which has no place for it: for a backward pass the "
      "context is nn::Context(device, values, gradients, key)");
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
        key_(key),
        loss_scale_(loss_scale) {}

  //! The same pass for a part of the model that is only evaluated in it: without gradients.
  [[nodiscard]] Context evaluating() const {
    Context context = *this;
    context.gradients_ = nullptr;
    context.put_off_ = nullptr;
    return context;
  }

  //! Where the pass is computed.
  [[nodiscard]] D& device() const { return *device_; }
  //! Whether a backward pass will follow, and elements are dropped.
  [[nodiscard]] bool training() const { return gradients_ != nullptr; }
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
    detail::expect_placed(p);
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
  //!
  //! **Errors.** Error if it has no number.
  [[nodiscard]] ops::DropoutMask mask(const DropoutSite& site) const {
    if (!training()) return {};
    detail::expect_placed(site);
    return ops::DropoutMask(site.probability, key_, site.operation);
  }

  //! Has a parameter's gradient computed, unless it is frozen: calls `f(View<float> gradient,
  //! ops::Write)`, now or later.
  //!
  //! `f` holds what it needs by value: a schedule may run it after the backward pass went on.
  //!
  //! **Errors.** Error in evaluation.
  template <class F>
  void gradient(const Parameter& p, F&& f) {
    static_assert(std::invocable<const std::decay_t<F>&, View<float>, ops::Write> &&
                      std::copy_constructible<std::decay_t<F>>,
                  "ctx.gradient takes a function of a gradient's place, which holds copies and is "
                  "not mutable: [x, dy](View<float> dw, ops::Write write) { ... }");
    if (!p.trained) return;
    if (gradients_ == nullptr) detail::throw_evaluating();
    if (put_off_ == nullptr) return compute_gradient(*gradients_, p, f);
    put_off_->add([gradients = gradients_, p, f = std::forward<F>(f)] {
      compute_gradient(*gradients, p, f);
    });
  }

  //! The same for two trained parameters, whose gradients one operation computes: calls
  //! `f(View<float> gradient of a, ops::Write, View<float> gradient of b, ops::Write)`.
  //!
  //! **Errors.** Error in evaluation, and if one of them is frozen.
  template <class F>
  void gradients(const Parameter& a, const Parameter& b, F&& f) {
    static_assert(
        std::invocable<const std::decay_t<F>&, View<float>, ops::Write, View<float>, ops::Write> &&
            std::copy_constructible<std::decay_t<F>>,
        "ctx.gradients takes a function of two gradients' places, which holds copies and is not "
        "mutable: [x, dy](View<float> da, ops::Write, View<float> db, ops::Write) { ... }");
    if (gradients_ == nullptr) detail::throw_evaluating();
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
  RandomKey key_;
  float loss_scale_ = 1.0f;
};

}  // namespace weft::nn
