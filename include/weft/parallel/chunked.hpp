// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Generator and criterion, a few positions at a time.
#pragma once

#include <utility>
#include <vector>

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/nn/context.hpp>
#include <weft/ops/cross_entropy.hpp>
#include <weft/ops/rows.hpp>
#include <weft/parallel/loss_sum.hpp>
#include <weft/tensor/sequences.hpp>

namespace weft::parallel {

//! The loss of a model's output, computed for `chunk` positions of every sequence at a time.
//!
//! Logits are the largest array of a translation model: 32 sentences of 256 tokens over 32,000 words
//! are 1 GB, and as much again for their gradient. Here one chunk of them exists at a time, and
//! its gradient takes its place. The gradient of the output is ready when the forward pass ends.
//!
//! **Memory.** chunk * B * V logits instead of N * V; nothing else depends on the chunk.
//! **Source.** MultiGPULossCompute of The Annotated Transformer (Rush 2018), where chunk = 5.
template <class Generator, class Criterion>
struct Chunked {
  static constexpr index_t channels = Generator::channels;
  //! A chunk that no sequence is longer than: everything at once.
  static constexpr index_t whole = index_t{1} << 40;

  Generator generator;
  Criterion criterion;
  index_t chunk = 5;

  //! **Errors.** ArgumentError unless chunk > 0.
  constexpr explicit Chunked(const Generator& g, const Criterion& c = {}, index_t positions = 5)
      : generator(g), criterion(c), chunk(positions) {
    if (positions < 1) throw ArgumentError(text("Chunked: a chunk of ", positions, " positions"));
  }

  //! With the generator of a model: tied to it where its type says so.
  template <class Model>
    requires std::constructible_from<Generator, const Model&>
  constexpr explicit Chunked(const Model& model, const Criterion& c = {}, index_t positions = 5)
      : Chunked(Generator(model), c, positions) {}

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("generator", self.generator);
  }

  template <class D>
  struct Saved {
    Tensor<float, D> dx;  // the gradient of the sum of losses for the output
  };

  //! The sum of the losses, and how many labels count.
  //!
  //! **Shapes.** x: (N, C). labels: (N).
  //! **Errors.** ShapeError unless there is a label for each row.
  template <class D>
  [[nodiscard]] nn::Result<LossSum, Saved<D>> forward(nn::Context<D>& ctx,
                                                      const Rows<channels, D>& x,
                                                      const Tensor<token_t, D>& labels) const {
    auto& device = ctx.device();
    const index_t N = x.values.rows();
    if (labels.size() != N) {
      throw ShapeError(text("Chunked: ", N, " rows and ", labels.size(), " labels"));
    }
    Saved<D> saved;
    if (ctx.training()) saved.dx = ctx.empty({N, channels});
    auto losses = ctx.empty({N, 1});
    if (chunk >= x.layout->longest) {
      auto dx = forward_chunk(ctx, x.values, labels, losses);
      saved.dx = std::move(dx);
    } else {
      for (index_t first = 0; first < x.layout->longest; first += chunk) {
        const auto index = rows_of(device, *x.layout, first);
        const index_t rows = index.size();
        auto x_chunk = ctx.empty({rows, channels});
        auto labels_chunk = ctx.template empty<token_t>({rows});
        auto losses_chunk = ctx.empty({rows, 1});
        ops::gather_rows(device, x.values, index, x_chunk);
        ops::gather(device, labels, index, labels_chunk);
        const auto dx_chunk = forward_chunk(ctx, x_chunk, labels_chunk, losses_chunk);
        ops::scatter_rows(device, losses_chunk, index, losses);
        if (ctx.training()) ops::scatter_rows(device, dx_chunk, index, saved.dx);
      }
    }
    return {total(labels, losses), std::move(saved)};
  }

  //! The gradient of the model's output.
  template <class D>
  [[nodiscard]] Rows<channels, D> backward(nn::Context<D>&, Saved<D>&& saved,
                                           const LayoutPointer<D>& layout) const {
    return {std::move(saved.dx), layout};
  }

 private:
  //! The rows of positions `first` to `first` + chunk - 1, sequence by sequence.
  template <class D>
  [[nodiscard]] Tensor<index_t, D> rows_of(D& device, const SequenceLayout<D>& layout,
                                           index_t first) const {
    std::vector<index_t> rows;
    rows.reserve(static_cast<std::size_t>(layout.sequences() * chunk));
    for (index_t b = 0; b < layout.sequences(); ++b) {
      const index_t last = first + chunk < layout.length(b) ? first + chunk : layout.length(b);
      for (index_t t = first; t < last; ++t) rows.push_back(layout.begin(b) + t);
    }
    const auto count = static_cast<index_t>(rows.size());
    return to_device<index_t>(device, rows, {count});
  }

  //! Fills `losses` and returns the gradient of x (empty in evaluation).
  template <class D>
  [[nodiscard]] Tensor<float, D> forward_chunk(nn::Context<D>& ctx, const Tensor<float, D>& x,
                                               const Tensor<token_t, D>& labels,
                                               const Tensor<float, D>& losses) const {
    const auto logits = generator.logits(ctx, x);
    ops::cross_entropy(ctx.device(), logits, generator.bias_view(ctx), labels, criterion.ignored,
                       criterion.smoothing, ctx.training(), losses.reshaped({losses.size()}));
    if (!ctx.training()) return {};
    return generator.backward(ctx, x, logits);
  }

  template <class D>
  [[nodiscard]] LossSum total(const Tensor<token_t, D>& labels,
                              const Tensor<float, D>& losses) const {
    double sum = 0.0;
    for (const float loss : to_host(losses)) sum += static_cast<double>(loss);
    index_t count = labels.size();
    if (criterion.ignored != ops::ignore_nothing) {
      for (const token_t label : to_host(labels)) count -= label == criterion.ignored ? 1 : 0;
    }
    return {Sum<of::Loss>(sum), Count<of::Tokens>(count)};
  }
};

}  // namespace weft::parallel

namespace weft {
using parallel::Chunked;
}
