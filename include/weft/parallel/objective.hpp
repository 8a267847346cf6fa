// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What is minimised: a loss of a model's output, over one contiguous buffer of parameters.
#pragma once

#include <concepts>
#include <utility>

#include <weft/nn/context.hpp>
#include <weft/nn/parameter.hpp>
#include <weft/nn/parameter_layout.hpp>
#include <weft/parallel/loss_sum.hpp>
#include <weft/tensor/sequences.hpp>

namespace weft::parallel {

//! A part of a batch, on a device: what the model reads and what it should have said.
template <class Input, class D, class Labels = Tensor<token_t, D>>
struct MicroBatch {
  Input input;    //!< what the model reads
  Labels labels;  //!< one for each row of the model's output, or whatever the loss reads
};

//! A model and a loss whose parameters have their places in the buffers.
template <class Model, class Loss>
class Objective {
 public:
  //! The loss is made from the model and further arguments, so that it can share the model's
  //! weights.
  //!
  //! **Errors.** ArgumentError as nn::place_trained, nn::place_others and nn::check_members.
  template <class... LossArguments>
  explicit Objective(Model model, LossArguments&&... arguments)
      : model_(placed(std::move(model), layout_)),
        loss_(placed(loss_of(model_, std::forward<LossArguments>(arguments)...), layout_)) {
    nn::place_others(model_, layout_);
    nn::place_others(loss_, layout_);
    nn::check_members(*this);
    place_groups();
  }

  //! Lists the groups of parameters; the functions of nn/parameter_groups.hpp call it.
  void place_groups() { nn::place_groups(*this, layout_); }

  //! Shows the model, then the loss; see `nn::Module`.
  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("", self.model_);
    visit("", self.loss_);
  }

  //! The model.
  [[nodiscard]] const Model& model() const { return model_; }
  //! The loss.
  [[nodiscard]] const Loss& loss() const { return loss_; }
  //! Where all parameters lie.
  [[nodiscard]] const nn::ParameterLayout& layout() const { return layout_; }

  //! What the backward pass needs.
  template <class D>
  struct Saved {
    typename Model::template Saved<D> model;  //!< of the model
    typename Loss::template Saved<D> loss;    //!< of the loss
    LayoutPointer<D> output_layout;           //!< of the model's output
  };

  //! The sum of the losses of a micro-batch, and how many labels count.
  template <class Input, class D, class Labels>
  [[nodiscard]] nn::Result<LossSum, Saved<D>> forward(
      nn::Context<D>& ctx, const MicroBatch<Input, D, Labels>& batch) const {
    auto [later, saved] = forward_later(ctx, batch);
    return {later, std::move(saved)};
  }

  //! The same, as what becomes a LossSum: a loss with a `forward_later` may still be computing it.
  template <class Input, class D, class Labels>
  [[nodiscard]] auto forward_later(nn::Context<D>& ctx,
                                   const MicroBatch<Input, D, Labels>& batch) const {
    auto [output, saved_model] = model_.forward(ctx, batch.input);
    if (!ctx.training()) saved_model = {};  // no backward pass comes for it
    ctx.hold_gradients();                   // the loss may come in chunks
    auto [sum, saved_loss] = loss_later(ctx, output, batch.labels);
    using Sum = decltype(sum);
    return nn::Result<Sum, Saved<D>>{
        std::move(sum), {std::move(saved_model), std::move(saved_loss), output.layout}};
  }

  //! The gradient of the *sum* of losses, times the context's `loss_scale()`, goes to the context.
  template <class D>
  void backward(nn::Context<D>& ctx, Saved<D>&& saved) const {
    const auto doutput = loss_.backward(ctx, std::move(saved.loss), saved.output_layout);
    ctx.release_gradients();
    static_cast<void>(model_.backward(ctx, std::move(saved.model), doutput));
  }

 private:
  template <class D, class Output, class Labels>
  [[nodiscard]] auto loss_later(nn::Context<D>& ctx, const Output& output,
                                const Labels& labels) const {
    if constexpr (requires { loss_.forward_later(ctx, output, labels); }) {
      return loss_.forward_later(ctx, output, labels);
    } else {
      return loss_.forward(ctx, output, labels);
    }
  }

  template <class... LossArguments>
  static Loss loss_of(const Model& model, LossArguments&&... arguments) {
    constexpr bool fit = std::constructible_from<Loss, const Model&, LossArguments...>;
    static_assert(fit,
                  "an objective is made of the model and of what its loss is made of behind it: a "
                  "criterion, Objective(model, nn::CrossEntropy()), and before it the generator "
                  "where the model has no words to say, nor an output_embedding(): "
                  "Objective(model, nn::BasicGenerator<C>(words), nn::CrossEntropy()); a loss of "
                  "your own has a constructor that takes the model first");
    if constexpr (fit) return Loss(model, std::forward<LossArguments>(arguments)...);
  }

  template <class Module>
  static Module placed(Module module, nn::ParameterLayout& layout) {
    nn::place_trained(module, layout);
    return module;
  }

  nn::ParameterLayout layout_;  // before the modules: their constructors fill it
  Model model_;
  Loss loss_;
};

}  // namespace weft::parallel
