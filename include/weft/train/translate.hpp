// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Translates many sentences on all devices of a strategy.
#pragma once

#include <algorithm>
#include <atomic>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <weft/core/chunks.hpp>
#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/data/token_rows.hpp>
#include <weft/generate/beam_search.hpp>
#include <weft/generate/greedy_search.hpp>
#include <weft/generate/largest_logit.hpp>
#include <weft/generate/search_settings.hpp>
#include <weft/nn/context.hpp>
#include <weft/train/device_batch.hpp>
#include <weft/train/evaluate_on_devices.hpp>

namespace weft::train {

namespace detail {

//! Gives all ranks what each has found: on any one of them the others' results are empty.
template <class Strategy>
void gather_hypotheses(Strategy& strategy, std::vector<generate::Hypothesis>& results) {
  if (strategy.ranks() == 1) return;
  std::vector<index_t> lengths;
  std::vector<double> scores;
  for (const auto& result : results) {
    lengths.push_back(std::ssize(result.tokens));
    scores.push_back(result.score);
  }
  strategy.add_over_ranks(std::span(lengths));
  strategy.add_over_ranks(std::span(scores));
  std::vector<token_t> tokens(
      static_cast<std::size_t>(std::reduce(lengths.begin(), lengths.end())));
  auto place = tokens.begin();
  for (std::size_t i = 0; i < results.size(); ++i) {
    std::ranges::copy(results[i].tokens, place);
    place += lengths[i];
  }
  strategy.add_over_ranks(std::span(tokens));
  place = tokens.begin();
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i] = {{place, place + lengths[i]}, scores[i]};
    place += lengths[i];
  }
}

}  // namespace detail

//! The best translation of each source, in the order of the sources.
//!
//! Sources of like length are searched together, `batch` at a time, each batch on whichever device
//! is free: the number of devices changes no bit of the results, and `batch` only their rounding.
//! Ranks call it with the same sources, take batches in turn, and all get all translations. A beam
//! of 1 without scores is `generate::greedy_search`.
//!
//! **Shapes.** source: rows of words without the mark of the end, which `source_eos` is.
//! **Memory.** A device that rounds factors holds all weights rounded beside the values; a
//! processor that does not, the generator's in `greedy_search`.
//! **Errors.** ArgumentError unless batch > 0; what `beam_search` throws, as for a source that is
//! longer than the model's positions, on devices of DataParallel as DeviceError. See
//! `evaluate_on_devices`.
template <class Strategy>
[[nodiscard]] std::vector<generate::Hypothesis> translate(Strategy& strategy,
                                                          const data::TokenRows& source,
                                                          token_t source_eos,
                                                          const generate::SearchSettings& settings,
                                                          index_t batch = 64) {
  using Model = std::remove_cvref_t<decltype(strategy.objective().model())>;
  static_assert(
      requires { Model::shape.decoder_layers; },
      "translate takes a strategy that trains an nn::Transformer");
  if (batch < 1) throw ArgumentError(text("translate: batches of ", batch, " sentences"));
  std::vector<index_t> order(static_cast<std::size_t>(source.size()));
  std::iota(order.begin(), order.end(), index_t{0});
  std::stable_sort(order.begin(), order.end(), [&](index_t left, index_t right) {
    return source.length(left) > source.length(right);
  });

  std::vector<generate::Hypothesis> results(order.size());
  std::atomic<index_t> next{strategy.rank()};
  batch = std::min(batch, std::max(source.size(), index_t{1}));
  const index_t batches = (source.size() + batch - 1) / batch;
  evaluate_on_devices(strategy, [&]<class Device>(nn::Context<Device>& ctx, int) {
    const auto& model = strategy.objective().model();
    const auto& generator = strategy.objective().loss().generator;
    generate::LargestLogit<std::remove_cvref_t<decltype(generator)>, Device> next_word(generator);
    for (index_t i; (i = next.fetch_add(strategy.ranks())) < batches;) {
      const auto first = static_cast<std::size_t>(i * batch);
      const auto rows = std::span(order).subspan(
          first, std::min(static_cast<std::size_t>(batch), order.size() - first));
      data::TokenRows part;
      for (const index_t row : rows) {
        part.append(source[row]);
        part.tokens.push_back(source_eos);
        part.end_row();
      }
      const auto sources = to_sequences(ctx.device(), part, {0, part.size()});
      const auto result = [&](std::size_t b) -> generate::Hypothesis& {
        return results[static_cast<std::size_t>(rows[b])];
      };
      if (settings.beam == 1 && !settings.scores) {
        auto found = generate::greedy_search(ctx, model, next_word, sources, settings);
        for (std::size_t b = 0; b < rows.size(); ++b) result(b).tokens = std::move(found[b]);
        continue;
      }
      auto found = generate::beam_search(ctx, model, generator, sources, settings);
      for (std::size_t b = 0; b < rows.size(); ++b) {
        if (!found[b].empty()) result(b) = std::move(found[b].front());
      }
    }
  });
  detail::gather_hypotheses(strategy, results);
  return results;
}

}  // namespace weft::train
