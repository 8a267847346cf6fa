// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Equal layers, one after the other: an encoder, or a decoder.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <utility>

#include <weft/nn/context.hpp>
#include <weft/nn/layer_norm.hpp>
#include <weft/nn/module.hpp>
#include <weft/nn/parameter_layout.hpp>
#include <weft/tensor/sequences.hpp>

namespace weft::nn {

namespace detail {

template <class Layer, class D, class... Inputs>
concept ReadsThese = requires(const Layer& layer, Context<D>& ctx, const Inputs&... inputs) {
  layer.forward(ctx, inputs...);
};

template <class Layer, class D, class X, class... Others>
concept WritesWhatItReads = requires(const Layer& layer, Context<D>& ctx, const X& x,
                                     const Others&... others) {
  { layer.forward(ctx, x, others...).output } -> std::convertible_to<X>;
};

template <class Layer, class D, class X, class... Others>
concept GivesGradientBack = requires(const Layer& layer, Context<D>& ctx,
                                     typename Layer::template Saved<D>&& saved, const X& dy,
                                     Others&... others) {
  { layer.backward(ctx, std::move(saved), dy, others...) } -> std::convertible_to<X>;
};

}  // namespace detail

//! A stack of equal layers, with a normalisation behind the last one if `FinalNorm`.
//!
//! What else the layers read (a decoder's memory) is passed on to each of them.
template <class Layer, index_t Layers, index_t C, bool FinalNorm,
          class Normalisation = LayerNorm<C>>
struct LayerStack {
  static_assert(Layers > 0, "a stack needs at least one layer");

  //! in order
  std::array<Layer, static_cast<std::size_t>(Layers)> layers;
  Normalisation norm;        //!< behind the last, if FinalNorm
  int first_unit = no_unit;  //!< of the layers, among the layout's units

  constexpr LayerStack() = default;
  //! Layers that are all like this one.
  constexpr explicit LayerStack(const Layer& layer) { layers.fill(layer); }

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit.units("layers", self.layers, self.first_unit);
    if constexpr (FinalNorm) visit("norm", self.norm);
  }

  template <class D>
  struct Saved {
    std::array<typename Layer::template Saved<D>, static_cast<std::size_t>(Layers)> layers;
    typename Normalisation::template Saved<D> norm;
  };

  template <class D, class... Others>
  [[nodiscard]] Result<Rows<C, D>, Saved<D>> forward(Context<D>& ctx, Rows<C, D> x,
                                                     const Others&... others) const {
    static_assert(detail::ReadsThese<Layer, D, Rows<C, D>, Others...>,
                  "a stack's layers read something else than the stack was given: a decoder's read "
                  "the encoder's output too, decoder.forward(ctx, x, memory)");
    static_assert(detail::WritesWhatItReads<Layer, D, Rows<C, D>, Others...> ||
                      !detail::ReadsThese<Layer, D, Rows<C, D>, Others...>,
                  "a stack's layers must write as many channels as they read");
    Saved<D> saved;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      ctx.enter_unit(first_unit, i);
      auto [y, saved_layer] = layers[i].forward(ctx, x, others...);
      ctx.leave_unit(first_unit, i);
      x = std::move(y);
      if (ctx.training()) saved.layers[i] = std::move(saved_layer);
    }
    if constexpr (FinalNorm) {
      auto [y, saved_norm] = norm.forward(ctx, x);
      return {std::move(y), {std::move(saved.layers), std::move(saved_norm)}};
    } else {
      return {std::move(x), std::move(saved)};
    }
  }

  template <class D, class... Others>
  [[nodiscard]] Rows<C, D> backward(Context<D>& ctx, Saved<D>&& saved, Rows<C, D> dy,
                                    Others&... others) const {
    static_assert(detail::GivesGradientBack<Layer, D, Rows<C, D>, Others...>,
                  "a stack's layers must return the gradient of what they read from backward: "
                  "those of an nn::Frozen do not, so freeze them by nn::freeze, or the whole stack "
                  "and what is before it by an nn::Frozen");
    if constexpr (FinalNorm) dy = norm.backward(ctx, std::move(saved.norm), dy);
    for (std::size_t i = layers.size(); i-- > 0;) {
      auto consumed = std::move(saved.layers[i]);  // ends with this turn, and gives its memory back
      ctx.enter_unit(first_unit, i);
      dy = layers[i].backward(ctx, std::move(consumed), dy, others...);
      ctx.leave_unit(first_unit, i);
    }
    return dy;
  }
};

static_assert(UnaryModule<LayerStack<LayerNorm<1>, 1, 1, true>>);

}  // namespace weft::nn
