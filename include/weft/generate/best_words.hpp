// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The most probable words of each row of logits.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include <weft/core/error.hpp>
#include <weft/core/exp_sum.hpp>
#include <weft/core/host_device.hpp>
#include <weft/core/index.hpp>
#include <weft/core/simd.hpp>
#include <weft/device/cpu.hpp>
#include <weft/ops/check.hpp>
#include <weft/tensor/tensor.hpp>
#include <weft/tensor/view.hpp>

namespace weft::generate {

//! A word and the logarithm of its probability.
struct ScoredWord {
  token_t word;           //!< its id
  float log_probability;  //!< in nats, 0 or less
};

namespace detail {

//! What turns a row's logits into logarithms of probabilities, without rounding to the size of the
//! logits.
struct LogSoftmax {
  float largest;
  float log_sum;  // of exp(logit - largest)

  [[nodiscard]] WEFT_HOST_DEVICE float operator()(float logit) const {
    return (logit - largest) - log_sum;
  }
};

[[gnu::flatten]] inline LogSoftmax log_softmax(const float* row, index_t V) {
  const ExpSum of_row = CpuLanes().exp_sum(V, [&](auto c) { return simd::load(row, c); });
  return {of_row.largest, std::log(of_row.exps)};
}

//! Keeps the `count` largest of the row with its penalties, in descending order; of equals the one
//! with the lower number comes first. `penalties` is (V), or null.
template <bool has_penalties>
[[gnu::flatten]] void best_of_row(const float* row, const float* penalties, index_t V,
                                  index_t count, ScoredWord* best) {
  constexpr CpuLanes lanes;
  const auto at = [&](auto c) {
    if constexpr (has_penalties) return simd::load(row, c) + simd::load(penalties, c);
    return simd::load(row, c);
  };
  const LogSoftmax normalized = log_softmax(row, V);
  for (index_t i = 0; i < count; ++i) best[i] = {-1, -std::numeric_limits<float>::infinity()};
  float bound = -std::numeric_limits<float>::infinity();
  for (index_t first = 0; first < V; first += 256) {
    const index_t n = V - first < 256 ? V - first : 256;
    // Most stretches hold nothing that is good enough: one pass over them says so.
    const auto in_stretch = [&](auto c) {
      c.first += first;
      return at(c);
    };
    if (lanes.max(n, in_stretch) <= bound) continue;
    for (index_t v = first; v < first + n; ++v) {
      const float logit = at(v);
      if (!(logit > bound)) continue;
      index_t place = count - 1;
      for (; place > 0 && logit > best[place - 1].log_probability; --place) {
        best[place] = best[place - 1];
      }
      best[place] = {static_cast<token_t>(v), logit};
      bound = best[count - 1].log_probability;
    }
  }
  for (index_t i = 0; i < count; ++i) {
    best[i].log_probability = normalized(best[i].log_probability);
  }
}

//! What is looked for: the most probable words of each row, (N, count).
struct BestWords {
  View<const float> logits;
  index_t count;
  View<const float> penalties;
  using Found = ScoredWord;
  [[nodiscard]] index_t found_in_row() const { return count; }

  void of_row(const float* row, ScoredWord* best) const {
    const index_t V = logits.columns();
    penalties.data == nullptr ? best_of_row<false>(row, nullptr, V, count, best)
                              : best_of_row<true>(row, penalties.data, V, count, best);
  }
};

//! The logarithm of a word's probability in each row, (N).
struct WordProbabilities {
  View<const float> logits;
  token_t word;
  using Found = float;
  static constexpr index_t found_in_row() { return 1; }

  void of_row(const float* row, float* found) const {
    *found = log_softmax(row, logits.columns())(row[word]);
  }
};

//! Finds it in each row. (A GPU's is in `cuda/best_words.cuh`.)
template <class Wanted>
void find_words(Cpu& device, const Wanted& wanted, typename Wanted::Found* found) {
  device.for_parts(wanted.logits.rows(), 1, [&](index_t begin, index_t end) {
    for (index_t n = begin; n < end; ++n) {
      wanted.of_row(wanted.logits.row(n), found + n * wanted.found_in_row());
    }
  });
}
//! The same on a device whose memory the host cannot read: the logits are copied to it.
template <class D, class Wanted>
void find_words(D& device, const Wanted& wanted, typename Wanted::Found* found) {
  const auto logits = to_host(device, wanted.logits);
  Wanted on_host = wanted;
  std::vector<float> penalties;
  if constexpr (requires { wanted.penalties; }) {
    if (wanted.penalties.data != nullptr) {
      penalties = to_host(device, wanted.penalties);
      on_host.penalties.data = penalties.data();
    }
  }
  for (index_t n = 0; n < wanted.logits.rows(); ++n) {
    on_host.of_row(logits.data() + n * wanted.logits.columns(), found + n * wanted.found_in_row());
  }
}

}  // namespace detail

//! The `count` most probable words of each row, in descending order; fewer words than `count` leave
//! entries with the word -1. Penalties are added to the logarithms of probabilities: minus infinity
//! takes a word out, and leaves the others theirs.
//!
//! **Shapes.** logits: (N, V). penalties: (V), or empty. Returns N * count entries.
//! **Errors.** ShapeError; ArgumentError for a count below 0.
//! **Cost.** Up to `count` passes over a row.
template <class D>
[[nodiscard]] std::vector<ScoredWord> best_words(D& device, View<const float> logits, index_t count,
                                                 View<const float> penalties = {}) {
  ops::detail::expect_shape_if_given("best_words", "penalties", penalties, {logits.columns()});
  if (count < 0) throw ArgumentError(text("best_words: ", count, " words"));
  std::vector<ScoredWord> best(static_cast<std::size_t>(logits.rows() * count));
  if (count > 0) find_words(device, detail::BestWords{logits, count, penalties}, best.data());
  return best;
}

//! The penalties that take words out; numbers that are no word's do nothing.
//!
//! **Shapes.** Returns (V).
template <class D>
[[nodiscard]] Tensor<float, D> without_words(D& device, index_t V, std::span<const token_t> words) {
  std::vector<float> penalties(static_cast<std::size_t>(V));
  for (const token_t word : words) {
    if (word < 0 || word >= V) continue;
    penalties[static_cast<std::size_t>(word)] = -std::numeric_limits<float>::infinity();
  }
  return to_device<float>(device, penalties, {V});
}

//! The logarithm of one word's probability in each row.
//!
//! **Shapes.** logits: (N, V). Returns (N).
template <class D>
[[nodiscard]] std::vector<float> log_probabilities(D& device, View<const float> logits,
                                                   token_t word) {
  std::vector<float> result(static_cast<std::size_t>(logits.rows()));
  find_words(device, detail::WordProbabilities{logits, word}, result.data());
  return result;
}

}  // namespace weft::generate
