// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What the model that a strategy trains says of a batch.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <weft/comm/check_same.hpp>
#include <weft/core/chunks.hpp>
#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/generate/largest_logit.hpp>
#include <weft/nn/context.hpp>
#include <weft/parallel/given_batches.hpp>
#include <weft/parallel/one_process.hpp>
#include <weft/tensor/tensor.hpp>
#include <weft/train/evaluate_on_devices.hpp>

namespace weft::train {

namespace detail {

//! **Errors.** comm::RanksDiffer, on every rank, if they were given other batches.
template <class Strategy, class B>
void expect_one_batch(Strategy& strategy, const B& batch) {
  if constexpr (!std::derived_from<Strategy, parallel::OneProcess>) {
    static_assert(
        requires { batch.fingerprint(); },
        "each rank is given the whole batch, and ranks compare what they were given: a batch needs "
        "a fingerprint() const");
    const auto given = strategy.texts_of_all(text(parallel::GivenBatches(batch).fingerprint()));
    for (std::size_t rank = 0; rank < given.size(); ++rank) {
      if (given[rank] == given[0]) continue;
      throw comm::RanksDiffer(text(
          "the ranks differ: rank 0 was given a batch with the fingerprint ", given[0], ", rank ",
          rank, " ", given[rank], "; each is given the whole batch, and computes its part"));
    }
  }
}

//! What every rank has, one behind the other.
template <class T, class Strategy>
[[nodiscard]] std::vector<T> join_over_ranks(Strategy& strategy, std::vector<T> mine) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (strategy.ranks() == 1) return mine;
  const auto bytes = std::as_bytes(std::span(mine));
  std::string said(bytes.size(), '\0');
  std::ranges::copy(bytes, std::as_writable_bytes(std::span(said)).begin());
  mine.clear();
  for (const std::string& of_rank : strategy.texts_of_all(std::move(said))) {
    const std::size_t before = mine.size();
    mine.resize(before + of_rank.size() / sizeof(T));
    std::ranges::copy(std::as_bytes(std::span(of_rank)),
                      std::as_writable_bytes(std::span(mine).subspan(before)).begin());
  }
  return mine;
}

//! Whether a strategy's model reads what a batch's parts have as their input.
template <class Strategy, class B, class D>
concept BringsInput = requires(const Strategy& strategy, const B& batch, D& device,
                               nn::Context<D>& ctx) {
  { batch.size() } -> std::convertible_to<index_t>;
  strategy.objective().model().forward(ctx, batch.part(device, Range{}).input);
};

//! `read_outputs` of a batch that brings what the model reads.
template <class T, class Strategy, class B, class Reader>
[[nodiscard]] std::vector<T> read_micro_batches(Strategy& strategy, const B& batch,
                                                const Reader& reader) {
  expect_one_batch(strategy, batch);
  const index_t micro_batches = strategy.recipe().micro_batches;
  const Range mine = share(micro_batches, strategy.ranks(), strategy.rank());
  std::vector<std::vector<T>> parts(static_cast<std::size_t>(mine.size()));
  evaluate_on_devices(strategy, [&](auto& ctx, int index) {
    auto read = reader(ctx);
    const Range here = share(mine.size(), strategy.devices(), index);
    for (index_t part = here.begin; part < here.end; ++part) {
      const Range range = share(batch.size(), micro_batches, mine.begin + part);
      if (range.size() == 0) continue;
      const auto input = batch.part(ctx.device(), range).input;
      parts[static_cast<std::size_t>(part)] =
          read(strategy.objective().model().forward(ctx, input).output);
    }
  });
  std::vector<T> joined;
  for (const auto& part : parts) joined.insert(joined.end(), part.begin(), part.end());
  return join_over_ranks(strategy, std::move(joined));
}

//! What `reader(ctx)(y)`, a vector, makes of the model's output for each micro-batch, one behind
//! the other. A device makes one reader.
template <class T, class Strategy, class B, class Reader>
[[nodiscard]] std::vector<T> read_outputs(Strategy& strategy, const B& batch,
                                          const Reader& reader) {
  using Device = std::remove_reference_t<decltype(strategy.device(0))>;
  constexpr bool brings_input = BringsInput<Strategy, B, Device>;
  static_assert(brings_input,
                "what is asked about brings what the model reads: a batch with size() const and "
                "part(device, range) const, of which the model's forward takes the input; for a "
                "Transformer that is train::DeviceBatch, for a language model "
                "train::LanguageModelDeviceBatch");
  if constexpr (brings_input) return read_micro_batches<T>(strategy, batch, reader);
  return {};
}

}  // namespace detail

//! What the model writes for a batch, in evaluation: the numbers of all rows, one behind the other.
//!
//! The batch is cut into the recipe's micro-batches, as `evaluate` does, and devices and ranks do
//! their share of them: under every strategy the bits are the same. Ranks call it with the same
//! batch, and all get all of it. A batch has size() and part(device, range).input; it needs no
//! labels.
//!
//! **Shapes.** (N, C), where the model writes Rows<C>.
//! **Errors.** comm::RanksDiffer if ranks were given other batches; what the model throws, on
//! devices of DataParallel as DeviceError. See `evaluate_on_devices`.
template <class Strategy, class B>
[[nodiscard]] std::vector<float> outputs(Strategy& strategy, const B& batch) {
  return detail::read_outputs<float>(strategy, batch, [](const auto&) {
    return [](const auto& y) -> std::vector<float> {
      constexpr bool has_values = requires { to_host(y.values); };
      static_assert(
          has_values,
          "outputs takes a strategy whose model writes Rows; of one that writes something "
          "else, a struct of several Rows say, f(ctx, index) of "
          "train::evaluate_on_devices(strategy, f) runs strategy.objective().model()");
      if constexpr (has_values) return to_host(y.values);
      return {};
    };
  });
}

//! For each row that the model writes for a batch the label of the largest logit, of equals the
//! first; -1 where a logit is NaN or plus infinity.
//!
//! **Semantics.** As `outputs`.
//! **Shapes.** (N).
//! **Errors.** As `outputs`.
template <class Strategy, class B>
[[nodiscard]] std::vector<token_t> predict(Strategy& strategy, const B& batch) {
  static_assert(
      requires { strategy.objective().loss().generator; },
      "predict takes a strategy whose loss has a generator of logits, as Chunked; what the model "
      "itself writes are its outputs(strategy, batch)");
  return detail::read_outputs<token_t>(strategy, batch, [&]<class D>(nn::Context<D>& ctx) {
    const auto& generator = strategy.objective().loss().generator;
    return
        [&ctx, largest = generate::LargestLogit<std::remove_cvref_t<decltype(generator)>, D>(
                   generator)](const auto& y) mutable { return largest.find(ctx, y.values, {}); };
  });
}

}  // namespace weft::train
