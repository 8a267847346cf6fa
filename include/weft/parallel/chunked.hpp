// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Generator and criterion, a few positions at a time.
#pragma once

#include <algorithm>
#include <concepts>
#include <utility>
#include <vector>

#include <weft/core/chunks.hpp>
#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/device/cpu.hpp>
#include <weft/nn/context.hpp>
#include <weft/nn/module.hpp>
#include <weft/ops/check_ids.hpp>
#include <weft/ops/cross_entropy.hpp>
#include <weft/ops/factor.hpp>
#include <weft/ops/rows.hpp>
#include <weft/parallel/loss_sum.hpp>
#include <weft/tensor/sequences.hpp>

namespace weft::parallel {

namespace detail {

template <class G, class D = Cpu>
concept IsGenerator = nn::Module<G> &&
    requires(const G& generator, nn::Context<D>& ctx, const ops::Factor<D>& x) {
  { G::channels } -> std::convertible_to<index_t>;
  { generator.vocabulary() } -> std::convertible_to<index_t>;
  generator.logits(ctx, generator.factor(ctx), x, ops::FactorTarget());
  generator.bias_view(ctx);
  generator.backward(ctx, generator.factor(ctx), x, x);
};

template <class C>
concept IsCriterion = requires(const C& criterion) {
  { criterion.ignored } -> std::convertible_to<token_t>;
  { criterion.smoothing } -> std::convertible_to<float>;
};

}  // namespace detail

//! The loss of a model's output, computed for `chunk` positions of every sequence at a time.
//!
//! Logits are the largest array of a translation model: 32 sentences of 256 tokens over 32,000
//! words are 1 GB, and as much again for their gradient. Here one chunk of them exists at a time,
//! or two while training, and their gradient takes their place, or half of it where it is rounded.
//! The gradient of the output is ready when the forward pass ends.
//!
//! **Memory.** Two chunks of logits, 2 * chunk * B * V, and half as much where products round,
//! instead of N * V and as many gradients. On a GPU at least some 4,096 rows at a time.
//! **Source.** MultiGPULossCompute of The Annotated Transformer (Rush 2018), where chunk = 5.
template <class Generator, class Criterion>
struct Chunked {
  static_assert(
      detail::IsGenerator<Generator>,
      "the first argument of Chunked is what makes logits of a model's output, such as "
      "nn::Generator<shape>: it needs channels, vocabulary(), factor, logits, bias_view, backward");
  static_assert(detail::IsCriterion<Criterion>,
                "the second argument of Chunked is a criterion, such as nn::LabelSmoothing or "
                "nn::CrossEntropy: it needs the numbers ignored and smoothing");

  //! What it reads in each row.
  static constexpr index_t channels = Generator::channels;
  //! Its gradients are multiplied by the context's `loss_scale()`.
  static constexpr bool scales_gradients = true;
  //! A chunk that no sequence is longer than: everything at once.
  static constexpr index_t whole = index_t{1} << 40;

  Generator generator;  //!< makes logits
  Criterion criterion;  //!< makes a loss of them
  index_t chunk = 5;    //!< positions of each sequence at a time

  //! **Errors.** ArgumentError unless chunk > 0.
  constexpr explicit Chunked(const Generator& g, const Criterion& c = {}, index_t positions = 5)
      : generator(g), criterion(c), chunk(positions) {
    if (positions < 1) throw ArgumentError(text("Chunked: a chunk of ", positions, " positions"));
  }

  //! The same beside a model, as of `Objective(model, generator, criterion)`.
  template <class Model>
  constexpr Chunked(const Model&, const Generator& g, const Criterion& c = {},
                    index_t positions = 5)
      : Chunked(g, c, positions) {}

  //! With the generator of a model: tied to it where its type says so.
  template <class Model>
  requires std::constructible_from<Generator, const Model&>
  constexpr explicit Chunked(const Model& model, const Criterion& c = {}, index_t positions = 5)
      : Chunked(Generator(model), c, positions) {}

  //! Shows the generator; see `nn::Module`.
  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("generator", self.generator);
  }

  //! What the backward pass needs: the gradient, already.
  template <class D>
  struct Saved {
    Tensor<float, D> dx;  //!< the gradient of the sum of losses for the output, scaled
  };

  //! The sum of the losses, and how many labels count.
  //!
  //! **Shapes.** x: (N, C). labels: (N).
  //! **Errors.** ShapeError unless there is a label for each row. ArgumentError as `cross_entropy`.
  template <class D>
  [[nodiscard]] nn::Result<LossSum, Saved<D>> forward(nn::Context<D>& ctx,
                                                      const Rows<channels, D>& x,
                                                      const Tensor<token_t, D>& labels) const {
    auto [later, saved] = forward_later(ctx, x, labels);
    return {later, std::move(saved)};
  }

  //! The same without waiting for a device that is still computing it.
  template <class D>
  [[nodiscard]] nn::Result<LaterLoss<D>, Saved<D>> forward_later(
      nn::Context<D>& ctx, const Rows<channels, D>& x, const Tensor<token_t, D>& labels) const {
    const index_t N = x.values.rows();
    if (labels.size() != N) {
      throw ShapeError(text("Chunked: ", N, " rows and ", labels.size(), " labels"));
    }
    // Here, as a row has another number in a chunk.
    ops::detail::expect_ids(ctx.device(), "Chunked", "label", labels, generator.vocabulary(),
                            criterion.ignored);
    Saved<D> saved;
    if (ctx.training()) saved.dx = ctx.empty({N, channels});
    auto losses = ctx.empty({N, 1});
    const auto weight = generator.factor(ctx);
    const index_t group = positions_in_group(*x.layout, ctx.training());
    if (group >= x.layout->longest) {
      const ops::Factor<D> x_factor(x.values);
      const auto dlogits = compute_losses(ctx, weight, x_factor, labels, losses);
      if (ctx.training()) saved.dx = generator.backward(ctx, weight, x_factor, dlogits);
    } else {
      for (index_t first = 0; first < x.layout->longest; first += group) {
        forward_group(ctx, weight, x, labels, {first, first + group}, losses, saved.dx);
      }
    }
    const bool ignores = criterion.ignored != ops::ignore_nothing;
    return {{losses, ignores ? labels : Tensor<token_t, D>(), criterion.ignored}, std::move(saved)};
  }

  //! The gradient of the model's output.
  template <class D>
  [[nodiscard]] Rows<channels, D> backward(nn::Context<D>&, Saved<D>&& saved,
                                           const LayoutPointer<D>& layout) const {
    return {std::move(saved.dx), layout};
  }

 private:
  //! How many chunks training takes at once: the weights, (V, C), are read, and their gradient is
  //! read and written, half as often. (For 160 rows a chunk and two threads, the products of the
  //! backward pass take 13.3 ms a chunk instead of 15.4.)
  static constexpr index_t chunks_in_group = 2;

  //! How many positions of every sequence are taken at once: so many that their rows are worth
  //! reading the weights, where the device says how many are.
  template <class D>
  [[nodiscard]] index_t positions_in_group(const SequenceLayout<D>& layout, bool training) const {
    const index_t at_once = std::min(chunk, std::max(layout.longest, index_t{1}));
    index_t positions = training ? chunks_in_group * at_once : at_once;
    if constexpr (requires { D::rows_worth_weights; }) {
      const index_t sequences = std::max(layout.sequences(), index_t{1});
      positions = std::max(positions, (D::rows_worth_weights + sequences - 1) / sequences);
    }
    return positions;
  }

  //! The rows of some positions, sequence by sequence.
  template <class D>
  static std::vector<index_t> rows_at(const SequenceLayout<D>& layout, Range positions) {
    std::vector<index_t> rows;
    for (index_t b = 0; b < layout.sequences(); ++b) {
      const index_t last = std::min(positions.end, layout.length(b));
      for (index_t t = positions.begin; t < last; ++t) rows.push_back(layout.begin(b) + t);
    }
    return rows;
  }

  //! The losses of some positions, and their gradients.
  template <class D>
  void forward_group(nn::Context<D>& ctx, const auto& weight, const Rows<channels, D>& x,
                     const Tensor<token_t, D>& labels, Range positions,
                     const Tensor<float, D>& losses, const Tensor<float, D>& dx) const {
    auto& device = ctx.device();
    const auto rows = rows_at(*x.layout, positions);
    const auto count = static_cast<index_t>(rows.size());
    const auto index = to_device<index_t>(device, rows, {count});

    const ops::Factor<D> x_group(device, {count, channels});
    auto labels_group = ctx.template empty<token_t>({count});
    auto losses_group = ctx.empty({count, 1});
    ops::gather_rows(device, x.values, index, x_group.target());
    ops::gather(device, labels, index, labels_group);
    const auto dlogits = compute_losses(ctx, weight, x_group, labels_group, losses_group);
    ops::scatter_rows(device, losses_group, index, losses);
    if (!ctx.training()) return;
    ops::scatter_rows(device, generator.backward(ctx, weight, x_group, dlogits), index, dx);
  }

  //! Fills `losses`, and returns the gradient of the logits: nothing in evaluation.
  template <class D>
  [[nodiscard]] ops::Factor<D> compute_losses(nn::Context<D>& ctx, const auto& weight,
                                              const ops::Factor<D>& x,
                                              const Tensor<token_t, D>& labels,
                                              const Tensor<float, D>& losses) const {
    auto& device = ctx.device();
    const Shape shape{x.rows(), generator.vocabulary()};
    const auto room = [&](FloatType type) {
      return ops::Factor<D>(device, shape, type, ops::row_stride(device, shape.columns(), type));
    };
    const ops::Factor<D> logits = room(FloatType::float32);
    ops::Factor<D> dlogits;
    if (ctx.training()) {  // floats take the logits' place
      const FloatType type = ops::factor_type(device);
      dlogits = type == FloatType::float32 ? logits : room(type);
    }
    generator.logits(ctx, weight, x, logits.target());
    ops::cross_entropy(device, logits, generator.bias_view(ctx), labels, criterion.ignored,
                       criterion.smoothing, dlogits.target(), losses.reshaped({losses.size()}),
                       ctx.loss_scale());
    return dlogits;
  }
};

}  // namespace weft::parallel

namespace weft {
using parallel::Chunked;
}
