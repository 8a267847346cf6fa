// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The most probable words of each row of logits.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include <weft/core/exp_sum.hpp>
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

  [[nodiscard]] float operator()(float logit) const { return (logit - largest) - log_sum; }
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

}  // namespace detail

//! The `count` most probable words of each row, in descending order; fewer words than `count` leave
//! entries with the word -1.
//!
//! **Shapes.** logits: (N, V). Returns N * count entries.
inline std::vector<ScoredWord> best_words(Cpu& device, View<const float> logits, index_t count) {
  std::vector<ScoredWord> best(static_cast<std::size_t>(logits.rows() * count));
  device.for_parts(logits.rows(), 1, [&](index_t begin, index_t end) {
    for (index_t n = begin; n < end; ++n) {
      detail::best_of_row(logits.row(n), logits.columns(), count, best.data() + n * count);
    }
  });
  return best;
}

//! The same on a device whose memory the host cannot read: the logits are copied to it.
template <class D>
std::vector<ScoredWord> best_words(D& device, View<const float> logits, index_t count) {
  const auto copy = to_host(device, logits);
  const index_t V = logits.columns();
  std::vector<ScoredWord> best(static_cast<std::size_t>(logits.rows() * count));
  for (index_t n = 0; n < logits.rows(); ++n) {
    detail::best_of_row(copy.data() + n * V, V, count, best.data() + n * count);
  }
  return best;
}

//! The logarithm of one word's probability in each row.
//!
//! **Shapes.** logits: (N, V). Returns (N).
inline std::vector<float> log_probabilities(Cpu& device, View<const float> logits, token_t word) {
  std::vector<float> result(static_cast<std::size_t>(logits.rows()));
  device.for_parts(logits.rows(), 1, [&](index_t begin, index_t end) {
    for (index_t n = begin; n < end; ++n) {
      const float* row = logits.row(n);
      result[static_cast<std::size_t>(n)] = detail::log_softmax(row, logits.columns())(row[word]);
    }
  });
  return result;
}

//! The same on a device of any kind, by way of the host.
template <class D>
std::vector<float> log_probabilities(D& device, View<const float> logits, token_t word) {
  const auto copy = to_host(device, logits);
  const index_t V = logits.columns();
  std::vector<float> result;
  for (index_t n = 0; n < logits.rows(); ++n) {
    const float* row = copy.data() + n * V;
    result.push_back(detail::log_softmax(row, V)(row[word]));
  }
  return result;
}

}  // namespace weft::generate
