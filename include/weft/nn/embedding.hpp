// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Token embeddings with positions.
#pragma once

#include <cmath>
#include <utility>

#include <weft/nn/context.hpp>
#include <weft/nn/module.hpp>
#include <weft/nn/parameter.hpp>
#include <weft/ops/dropout.hpp>
#include <weft/ops/embedding.hpp>
#include <weft/tensor/sequences.hpp>

namespace weft::nn {

//! What tells of positions: mostly a vector that is added to the embedding of a token.
enum class Positions {
  none,
  sinusoidal,         //!< sines and cosines take turns: Vaswani et al. 2017
  sinusoidal_halves,  //!< the same numbers, all sines first: Hugging Face's MarianMT
  learned,
  rotary,  //!< nothing is added: attention of a sequence to itself turns queries and keys
};

//! Whether they have a table of vectors, which are added.
constexpr bool have_table(Positions positions) {
  return positions != Positions::none && positions != Positions::rotary;
}

//! y = dropout(sqrt(C) weight[token] + position), without the factor unless it is `scaled`.
//!
//! **Shapes.** weight: (vocabulary, C). y: (N, C).
//! **Errors.** `forward` throws as `ops::embedding`: ShapeError for a sequence that is longer than
//! the positions; on a Cpu ArgumentError for a word that the vocabulary does not have.
//! **Source.** Vaswani et al. 2017, sections 3.4 and 3.5.
template <index_t C, Positions P = Positions::sinusoidal>
struct Embedding {
  Parameter weight{.shape = {0, C}};     //!< (vocabulary, C)
  Parameter positions{.shape = {0, C}};  //!< (longest, C): learned, or computed once
  DropoutSite dropout;                   //!< of the sum of both
  bool tied = false;                     //!< the weight is declared elsewhere
  bool scaled = true;                    //!< multiplied by sqrt(C)

  //! For no words and no positions, so that what is known of a model at compile time can be asked.
  constexpr Embedding() = default;

  //! For words 0 to vocabulary - 1 and positions 0 to longest - 1.
  constexpr Embedding(index_t vocabulary, index_t longest, float dropout_probability)
      : weight{.shape = {vocabulary, C}, .initializer = Initializer::normal(deviation())},
        positions{.shape = {longest, C},
                  .initializer = first_positions(),
                  .trained = P == Positions::learned,
                  .computed = P != Positions::learned},
        dropout{dropout_probability} {}

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    if (!self.tied) visit("weight", self.weight);
    if constexpr (have_table(P)) visit("positions", self.positions);
    visit("dropout", self.dropout);
  }

  //! What a tied generator shares, and its words.
  [[nodiscard]] constexpr const Parameter& output_embedding() const { return weight; }
  //! How many words it has.
  [[nodiscard]] constexpr index_t target_vocabulary() const { return weight.shape[0]; }

  template <class D>
  struct Saved {
    TokenSequences<D> tokens;
  };

  template <class D>
  [[nodiscard]] Result<Rows<C, D>, Saved<D>> forward(Context<D>& ctx,
                                                     const TokenSequences<D>& tokens) const {
    Rows<C, D> y{ctx.empty({tokens.ids.size(), C}), tokens.layout};
    View<const float> table;
    if constexpr (have_table(P)) table = ctx.value(positions);
    ops::embedding(ctx.device(), ctx.mask(dropout), *tokens.layout, tokens.ids, ctx.value(weight),
                   scale(), table, y.values);
    return {std::move(y), {tokens}};
  }

  //! There is nothing before an embedding: only the weights have gradients.
  template <class D>
  void backward(Context<D>& ctx, Saved<D>&& saved, const Rows<C, D>& dy) const {
    auto& device = ctx.device();
    auto dsum = ctx.empty(dy.values.shape());
    ops::dropout(device, ctx.mask(dropout), dy.layout->keys, dy.values, dsum);
    ctx.gradient(weight, [&device, tokens = saved.tokens, dsum, factor = scale()](
                             View<float> dw, ops::Write write) {
      ops::embedding_backward(device, tokens.ids, dsum, factor, dw, write);
    });
    if constexpr (P == Positions::learned) {
      ctx.gradient(positions,
                   [&device, layout = dy.layout, dsum](View<float> dp, ops::Write write) {
                     ops::position_backward(device, *layout, dsum, dp, write);
                   });
    }
  }

 private:
  static constexpr Initializer first_positions() {
    if (P == Positions::learned) return Initializer::normal(deviation());
    return P == Positions::sinusoidal_halves ? Initializer::sinusoids_in_halves()
                                             : Initializer::sinusoids();
  }

  //! With this deviation and the factor sqrt(C), an embedding's elements have variance 1.
  static constexpr float deviation() {
    float root = 1.0f;  // of C, by Newton, since std::sqrt is no constant expression
    for (int i = 0; i < 64; ++i) root = 0.5f * (root + static_cast<float>(C) / root);
    return 1.0f / root;
  }
  [[nodiscard]] float scale() const { return scaled ? std::sqrt(static_cast<float>(C)) : 1.0f; }
};

static_assert(UnaryModule<Embedding<1>>);

}  // namespace weft::nn
