// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Tiled attention on the CPU: a task for each sequence and head.
//!
//! A block of queries goes through all keys, so that its rows stay in the second cache; in it a
//! tile of keys is transposed once. The running maximum, sum and output of every query stay with
//! the query. Memory is that of a block, however long the sequence.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include <weft/core/index.hpp>
#include <weft/core/simd.hpp>
#include <weft/core/simd_pairs.hpp>
#include <weft/device/cpu.hpp>
#include <weft/device/product_precision.hpp>
#include <weft/ops/attention_problem.hpp>
#include <weft/ops/cpu/attention_factors.hpp>
#include <weft/ops/cpu/attention_tiles.hpp>
#include <weft/ops/cpu/few_rows.hpp>
#include <weft/ops/cpu/tile.hpp>

namespace weft::ops::detail {

//! Turns a tile of scores into exponentials, drops some, and rescales what earlier tiles left.
[[gnu::flatten]] inline void softmax_tile(const AttentionTask& task, const ScoreTile& tile,
                                          float* scores, const RowSums& out, float* running_max,
                                          float* running_sum) {
  constexpr CpuLanes lanes;
  for (index_t i = 0; i < tile.queries; ++i) {
    const index_t n = tile.row + i;
    const index_t visible = tile.visible(task, i);
    float* row = scores + i * tile.width;
    const float largest =
        task.scale * lanes.max(visible, [&](auto c) { return simd::load(row, c); });
    const float before = running_max[n];
    const float now = largest > before ? largest : before;
    simd::Floats total{};
    task.dropout.for_each(
        lanes, task.key_of(tile.query + i), visible,
        [&](auto c, auto factor) {
          const auto p = simd::exp(simd::load(row, c) * task.scale - now);
          total += simd::mask_tail(c, p, 0.0f);
          simd::store(row, c, p * factor);
        },
        tile.key);
    for (index_t j = visible; j < tile.width; ++j) row[j] = 0.0f;
    const float rescale = before == now ? 1.0f : std::exp(before - now);
    if (rescale != 1.0f) {
      float* sums = out.row(n);
      lanes.for_each(task.width,
                     [&](auto c) { simd::store(sums, c, simd::load(sums, c) * rescale); });
    }
    running_sum[n] = running_sum[n] * rescale + simd::sum(total);
    running_max[n] = now;
  }
}

//! From scores and gradients of dropped-out probabilities: `scores` becomes the dropped-out
//! probabilities, `gradients` the gradients of the scores.
[[gnu::flatten]] inline void softmax_backward_tile(const AttentionTask& task, const ScoreTile& tile,
                                                   float* scores, float* gradients,
                                                   const float* log_sums, const float* deltas) {
  constexpr CpuLanes lanes;
  for (index_t i = 0; i < tile.queries; ++i) {
    const index_t query = tile.query + i;
    const index_t visible = tile.visible(task, i);
    const float log_sum = log_sums[task.log_sum_at(query)];
    const float delta = deltas[tile.row + i];
    float* row = scores + i * tile.width;
    float* gradient = gradients + i * tile.width;
    task.dropout.for_each(
        lanes, task.key_of(query), visible,
        [&](auto c, auto factor) {
          const auto p = simd::exp(simd::load(row, c) * task.scale - log_sum);
          simd::store(gradient, c, p * (simd::load(gradient, c) * factor - delta) * task.scale);
          simd::store(row, c, p * factor);
        },
        tile.key);
    for (index_t j = visible; j < tile.width; ++j) row[j] = gradient[j] = 0.0f;
  }
}

//! Whether keys are multiplied as they lie. Decoding asks for a position of each translation:
//! transposing keys took longer than the rest.
inline bool has_few_queries(const AttentionTask& task) { return task.queries <= most_few_rows; }

//! The products of queries with keys, or of gradients with values.
//!
//! **Shapes.** q: from the first query of the tile on. columns: the keys as `transpose_keys` leaves
//! them, rows `width` apart.
template <class T>
void multiply_by_columns(const AttentionTask& task, const ScoreTile& tile, HeadView<const T> q,
                         const T* columns, index_t width, float* products) {
  multiply_tile(tile.queries, tile.width, numbers<T>(task.size), {q.data, q.stride, 1}, columns,
                width, products, tile.width, false);
}

//! The scores of a tile, before they are scaled: in both passes with the same bits, as the backward
//! pass takes the logarithm off that the forward pass made of its own.
//!
//! **Shapes.** As `multiply_by_columns`; the columns are not read for few queries. k: from the
//! first key of the tile on.
template <class T>
void multiply_by_keys(const AttentionTask& task, const ScoreTile& tile, HeadView<const T> q,
                      HeadView<const float> k, const T* columns, index_t width, float* scores) {
  if constexpr (std::is_same_v<T, float>) {
    if (has_few_queries(task)) {
      multiply_few_rows(tile.queries, tile.keys, task.size, q.data, q.stride, k.data, k.stride,
                        scores, tile.width, false);
      return;
    }
  }
  multiply_by_columns(task, tile, q, columns, width, scores);
}

template <class T>
void attention_forward(Cpu& device, const AttentionTask& task, const AttentionForward<Cpu>& a) {
  if (task.queries == 0) return;
  constexpr CpuLanes lanes;
  const index_t most = task.queries < query_block ? task.queries : query_block;
  const index_t of_keys = size_of_factors<T>(task, key_tile);
  const index_t of_queries = size_of_factors<T>(task, most);
  const index_t of_sums = size_of_sums(task, most);
  Scratch scratch(device, task.size * key_tile + query_tile * key_tile + size_of_scores<T> +
                              2 * most + 2 * of_keys + of_queries + of_sums);
  T* const keys = scratch.take<T>(task.size * key_tile);
  float* const scores = scratch.take(query_tile * key_tile);
  T* const packed = scratch.take<T>(size_of_scores<T>);
  float* const running_max = scratch.take(most);
  float* const running_sum = scratch.take(most);
  T* const k_scratch = scratch.take<T>(of_keys);
  T* const v_scratch = scratch.take<T>(of_keys);
  T* const q_scratch = scratch.take<T>(of_queries);
  float* const sum_scratch = scratch.take(of_sums);

  for_query_blocks(task, [&](QueryBlock block) {
    const auto q = as_left(task, task.queries_of(a.q).from(block.begin), block.size(), q_scratch);
    const RowSums sums(task.queries_of(a.out).from(block.begin), block.size(), task, sum_scratch);
    for (index_t i = 0; i < block.size(); ++i) {
      running_max[i] = -std::numeric_limits<float>::infinity();
      running_sum[i] = 0.0f;
    }

    for_key_tiles(task, block, [&](index_t key, index_t count) {
      const auto k = task.keys_of(a.k).from(key);
      const index_t width = padded(count);
      if (!has_few_queries(task)) {
        transpose_keys(task, as_left(task, k, count, k_scratch), count, keys);
      }
      const auto v = as_right(task, task.keys_of(a.v).from(key), count, v_scratch);
      for_query_tiles(task, block, key, count, [&](const ScoreTile& tile) {
        multiply_by_keys(task, tile, q.from(tile.row), k, keys, width, scores);
        softmax_tile(task, tile, scores, sums, running_max, running_sum);
        add_product(task, tile.queries, tile.keys, over_keys(tile, scores, packed), v, sums,
                    tile.row);
      });
    });

    for (index_t i = 0; i < block.size(); ++i) {
      const bool blind = running_sum[i] == 0.0f;  // a sequence without keys
      const float norm = blind ? 0.0f : 1.0f / running_sum[i];
      float* const row = sums.row(i);
      lanes.for_each(task.width, [&](auto c) { simd::store(row, c, simd::load(row, c) * norm); });
      a.log_sums[task.log_sum_at(block.begin + i)] =
          blind ? 0.0f : running_max[i] + std::log(running_sum[i]);
    }
    sums.finish();
  });
}

template <class T>
void attention_backward(Cpu& device, const AttentionTask& task, const AttentionBackward<Cpu>& a) {
  constexpr CpuLanes lanes;
  const index_t most = task.queries < query_block ? task.queries : query_block;
  const index_t of_keys = size_of_factors<T>(task, key_tile);
  const index_t of_queries = size_of_factors<T>(task, most);
  const index_t of_query_sums = size_of_sums(task, most);
  const index_t of_key_sums = size_of_sums(task, key_tile);
  Scratch scratch(device, 2 * task.size * key_tile + 2 * query_tile * key_tile + size_of_scores<T> +
                              most + 2 * of_keys + 2 * of_queries + of_query_sums +
                              2 * of_key_sums);
  T* const keys = scratch.take<T>(task.size * key_tile);
  T* const values = scratch.take<T>(task.size * key_tile);
  float* const scores = scratch.take(query_tile * key_tile);
  float* const gradients = scratch.take(query_tile * key_tile);
  T* const packed = scratch.take<T>(size_of_scores<T>);
  float* const deltas = scratch.take(most);
  T* const q_scratch = scratch.take<T>(of_queries);
  T* const dout_scratch = scratch.take<T>(of_queries);
  T* const k_scratch = scratch.take<T>(of_keys);
  T* const v_scratch = scratch.take<T>(of_keys);
  float* const dq_scratch = scratch.take(of_query_sums);
  float* const dk_scratch = scratch.take(of_key_sums);
  float* const dv_scratch = scratch.take(of_key_sums);

  for_query_blocks(task, [&](QueryBlock block) {
    const auto out = task.queries_of(a.out).from(block.begin);
    const auto dout_rows = task.queries_of(a.dout).from(block.begin);
    const auto q = as_both(task, task.queries_of(a.q).from(block.begin), block.size(), q_scratch);
    const auto dout = as_both(task, dout_rows, block.size(), dout_scratch);
    const RowSums dq(task.queries_of(a.dq).from(block.begin), block.size(), task, dq_scratch);
    // The sum over keys of p dp is that over channels of out dout, dropout or not.
    for (index_t i = 0; i < block.size(); ++i) {
      deltas[i] = lanes.sum(task.size, [&](auto c) {
        return simd::load(out.row(i), c) * simd::load(dout_rows.row(i), c);
      });
    }

    for_key_tiles(task, block, [&](index_t key, index_t count) {
      const auto k_rows = task.keys_of(a.k).from(key);
      const index_t width = padded(count);
      const auto k = as_both(task, k_rows, count, k_scratch);
      const auto v = as_left(task, task.keys_of(a.v).from(key), count, v_scratch);
      if (!has_few_queries(task)) transpose_keys(task, k.left, count, keys);
      transpose_keys(task, v, count, values);
      const bool fresh = block.begin <= (task.causal ? key : 0);  // the first block that sees them
      const RowSums dk(task.keys_of(a.dk).from(key), count, task, dk_scratch, fresh);
      const RowSums dv(task.keys_of(a.dv).from(key), count, task, dv_scratch, fresh);
      for_query_tiles(task, block, key, count, [&](const ScoreTile& tile) {
        const auto q_tile = q.from(tile.row), dout_tile = dout.from(tile.row);
        multiply_by_keys(task, tile, q_tile.left, k_rows, keys, width, scores);
        multiply_by_columns(task, tile, dout_tile.left, values, width, gradients);
        softmax_backward_tile(task, tile, scores, gradients, a.log_sums, deltas);
        add_product(task, tile.keys, tile.queries, over_queries(tile, scores, packed),
                    dout_tile.right, dv, 0);
        add_product(task, tile.keys, tile.queries, over_queries(tile, gradients, packed),
                    q_tile.right, dk, 0);
        add_product(task, tile.queries, tile.keys, over_keys(tile, gradients, packed), k.right, dq,
                    tile.row);
      });
      dk.finish();
      dv.finish();
    });
    dq.finish();
  });
}

//! Calls `f(task)` for every head of every sequence: on one thread for the heads of a sequence if
//! there are sequences enough. Heads lie beside each other in memory, and threads that write to one
//! cache line wait for each other: 16 heads of size 8 took as long on two threads as on one.
template <class F>
void for_heads(Cpu& device, const AttentionProblem<Cpu>& problem, const F& f) {
  constexpr index_t line = 64 / sizeof(float);
  const index_t sequences = problem.query_layout->sequences(), heads = problem.heads;
  index_t together = sequences >= 4 * device.threads() ? heads : line / problem.head_size;
  if (together < 1 || heads % together != 0) together = 1;
  device.for_tasks(sequences * heads / together, [&](index_t group) {
    for (index_t task = group * together; task < (group + 1) * together; ++task) {
      f(AttentionTask(problem, task));
    }
  });
}

//! Whether a task's factors are rounded, where the processor multiplies pairs of Bfloat16.
//!
//! With heads of 8 channels rounding costs what it saves: attention to 50 sentences of 80 words
//! with 16 of them took 1.2 times as long in pairs, where heads of 16 take 0.9 and of 64 0.6 to
//! 0.9, the less the longer sentences are.
inline bool rounds_factors(const Cpu& device, const AttentionTask& task) {
  return device.product_precision() == ProductPrecision::bfloat16 && task.size > 8 &&
         !has_few_queries(task);
}

//! Calls `f` with a number of the type that a task's factors are multiplied as.
template <class F>
void with_factor_type(const Cpu& device, const AttentionTask& task, const F& f) {
  if constexpr (WEFT_AVX512_BF16) {
    if (rounds_factors(device, task)) return f(simd::Bfloat16Pair());
  }
  f(float());
}

inline void attention_forward(Cpu& device, const AttentionForward<Cpu>& a, AnyHeadSize) {
  for_heads(device, a.problem, [&](const AttentionTask& task) {
    with_factor_type(device, task, [&]<class T>(T) { attention_forward<T>(device, task, a); });
  });
}

inline void attention_backward(Cpu& device, const AttentionBackward<Cpu>& a, AnyHeadSize) {
  for_heads(device, a.problem, [&](const AttentionTask& task) {
    with_factor_type(device, task, [&]<class T>(T) { attention_backward<T>(device, task, a); });
  });
}

}  // namespace weft::ops::detail
