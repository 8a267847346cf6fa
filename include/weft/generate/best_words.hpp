// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The most probable words of each row of logits.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <weft/core/exp_sum.hpp>
#include <weft/core/host_device.hpp>
#include <weft/core/index.hpp>
#include <weft/core/simd.hpp>
#include <weft/device/cpu.hpp>
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

//! Keeps the `count` largest of the row, in descending order; of equals the one with the lower
//! number comes first.
[[gnu::flatten]] inline void best_of_row(const float* row, index_t V, index_t count,
                                         ScoredWord* best) {
  constexpr CpuLanes lanes;
  const LogSoftmax normalized = log_softmax(row, V);
  for (index_t i = 0; i < count; ++i) best[i] = {-1, -std::numeric_limits<float>::infinity()};
  float bound = -std::numeric_limits<float>::infinity();
  for (index_t first = 0; first < V; first += 256) {
    const index_t n = V - first < 256 ? V - first : 256;
    // Most stretches hold nothing that is good enough: one pass over them says so.
    if (lanes.max(n, [&](auto c) { return simd::load(row + first, c); }) <= bound) continue;
    for (index_t v = first; v < first + n; ++v) {
      if (!(row[v] > bound)) continue;
      index_t at = count - 1;
      for (; at > 0 && row[v] > best[at - 1].log_probability; --at) best[at] = best[at - 1];
      best[at] = {static_cast<token_t>(v), row[v]};
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
  using Found = ScoredWord;
  [[nodiscard]] index_t found_in_row() const { return count; }

  void of_row(const float* row, ScoredWord* best) const {
    best_of_row(row, logits.columns(), count, best);
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
  const auto copy = to_host(device, wanted.logits);
  for (index_t n = 0; n < wanted.logits.rows(); ++n) {
    wanted.of_row(copy.data() + n * wanted.logits.columns(), found + n * wanted.found_in_row());
  }
}

}  // namespace detail

//! The `count` most probable words of each row, in descending order; fewer words than `count` leave
//! entries with the word -1.
//!
//! **Shapes.** logits: (N, V). Returns N * count entries.
template <class D>
[[nodiscard]] std::vector<ScoredWord> best_words(D& device, View<const float> logits,
                                                 index_t count) {
  std::vector<ScoredWord> best(static_cast<std::size_t>(logits.rows() * count));
  find_words(device, detail::BestWords{logits, count}, best.data());
  return best;
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
