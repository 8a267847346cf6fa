// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Attention of rounded rows on a GPU, by a library or by weft's own kernels.
#pragma once

#include <weft/cuda.cuh>

#include <cmath>
#include <string>
#include <vector>

#include <weft/testing/difference.hpp>
#include <weft/testing/random.hpp>
#include <weft/testing/widened.hpp>

#include "dropout_masks.hpp"
#include "low_scores.hpp"
#include "share_of_norm.hpp"

namespace weft::testing::rounded_attention {

//! Of an attention's sequences; without those of keys they attend to themselves.
struct Lengths {
  std::vector<index_t> queries, keys;
};
inline const Lengths themselves = {{1, 7, 150, 64, 0, 129}, {}};
inline const Lengths others = {{1, 7, 150, 64, 0, 129}, {200, 1, 33, 64, 0, 7}};

//! What an attention of three heads writes: its result, log_sums, and the arrays with the gradients
//! of queries, and of keys and values. Queries stand in the first third of an array's columns, keys
//! and values in the others; what nobody is to write, and a row behind the last, stays NaN.
inline std::vector<Tensor<float, Cuda>> attend(Cuda& gpu, index_t size, const Lengths& lengths,
                                               const ops::DropoutMask& mask = nothing_dropped,
                                               Scores scores = Scores::around_0) {
  using Factor = ops::Factor<Cuda>;
  constexpr index_t H = 3;
  const index_t C = H * size;
  const bool self = lengths.keys.empty();
  const auto queries = make_layout(gpu, lengths.queries, /*first_id=*/40u);
  const auto keys = self ? queries : make_layout(gpu, lengths.keys, /*first_id=*/40u);
  const index_t N = queries->rows(), M = keys->rows();
  const auto random_rows = [&](index_t n, std::uint32_t seed) {
    const auto rows = random_tensor(gpu, {n, 3 * C}, seed);
    if (scores == Scores::around_0) return Factor(rows);
    const auto low = with_columns(gpu, rows, 0, C, size, low_query);
    return Factor(with_columns(gpu, low, C, 2 * C, size, low_key));
  };
  const Factor of_queries = random_rows(N, 1);
  const Factor of_keys = self ? of_queries : random_rows(M, 2);
  const Factor dy(random_tensor(gpu, {N, C}, 3));
  const Factor y(nan_tensor(gpu, {N + 1, C}));
  const Factor d_queries(nan_tensor(gpu, {N + 1, 3 * C}));
  const Factor d_keys = self ? d_queries : Factor(nan_tensor(gpu, {M + 1, 3 * C}));
  const auto log_sums = nan_tensor(gpu, {N + 1, H});

  const ops::AttentionProblem<Cuda> problem{H,          size, /*causal=*/self, 0.3f, queries.get(),
                                            keys.get(), mask};
  const auto third = [&](const Factor& x, index_t n) {
    return ops::AnyHeadRows<const void>(x.numbers() + n * C, 3 * C);
  };
  const auto out_third = [&](const Factor& x, index_t n) {
    return ops::AnyHeadRows<void>(x.target().numbers + n * C, 3 * C);
  };
  const auto q = third(of_queries, 0), k = third(of_keys, 1), v = third(of_keys, 2);
  ops::attention(gpu, problem, q, k, v, ops::AnyHeadRows<void>(y.target().numbers, C),
                 log_sums.data());
  ops::attention_backward(gpu, problem, q, k, v, ops::AnyHeadRows<const void>(y.numbers(), C),
                          log_sums.data(), ops::AnyHeadRows<const void>(dy.numbers(), C),
                          out_third(d_queries, 0), out_third(d_keys, 1), out_third(d_keys, 2));
  return {widened(y), log_sums, widened(d_queries), widened(d_keys)};
}

//! The same by weft's own kernels.
inline std::vector<Tensor<float, Cuda>> attend_by_weft(
    Cuda& gpu, index_t size, const Lengths& lengths, const ops::DropoutMask& mask = nothing_dropped,
    Scores scores = Scores::around_0) {
  gpu.set_library_attention(false);
  auto results = attend(gpu, size, lengths, mask, scores);
  gpu.set_library_attention(true);
  return results;
}

//! Empty if two results differ by less than `bound` of their norm, and are NaN in the same places.
inline std::string rounding_difference(const Tensor<float, Cuda>& a, const Tensor<float, Cuda>& b,
                                       double bound) {
  const auto expected = to_host(a), found = to_host(b);
  for (std::size_t n = 0; n < expected.size(); ++n) {
    if (std::isnan(expected[n]) != std::isnan(found[n])) {
      return text("number ", n, " is ", found[n], " and should be ", expected[n]);
    }
  }
  const double share = share_of_norm(found, expected);
  return share < bound ? "" : text("off by ", share);
}

//! Empty if all tensors have the same bits.
inline std::string bit_difference_of_all(const std::vector<Tensor<float, Cuda>>& a,
                                         const std::vector<Tensor<float, Cuda>>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::string difference = bit_difference(a[i], b[i]);
    if (!difference.empty()) return text("result ", i, ": ", difference);
  }
  return {};
}

//! The most by which two attentions differ that round alike: each is off by up to half of it. A
//! factor is rounded by 2^-9 of itself, and two or three products follow one another; a Float16 by
//! 2^-12, and by more where it is below 2^-14. log_sums are floats of the same factors.
inline double rounding_bound(ProductPrecision precision, std::size_t result) {
  return result == 1 ? 1e-5 : precision == ProductPrecision::bfloat16 ? 0x1p-6 : 0x1p-8;
}

//! Empty if all results differ by no more.
inline std::string rounding_difference_of_all(ProductPrecision precision,
                                              const std::vector<Tensor<float, Cuda>>& a,
                                              const std::vector<Tensor<float, Cuda>>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::string difference = rounding_difference(a[i], b[i], rounding_bound(precision, i));
    if (!difference.empty()) return text("result ", i, ": ", difference);
  }
  return {};
}

}  // namespace weft::testing::rounded_attention
