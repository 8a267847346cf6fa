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

#include <weft/core/index.hpp>
#include <weft/core/simd.hpp>
#include <weft/device/cpu.hpp>
#include <weft/ops/attention_problem.hpp>
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

//! The scores of a tile, before they are scaled: in both passes with the same bits, as the backward
//! pass takes the logarithm off that the forward pass made of its own.
//!
//! **Shapes.** q, k: from the first query and key of the tile on. columns: the keys as
//! `transpose_keys` leaves them, rows `width` apart; not read for few queries.
inline void multiply_by_keys(const AttentionTask& task, const ScoreTile& tile,
                             HeadView<const float> q, HeadView<const float> k, const float* columns,
                             index_t width, float* scores) {
  if (has_few_queries(task)) {
    multiply_few_rows(tile.queries, tile.keys, task.size, q.data, q.stride, k.data, k.stride,
                      scores, tile.width, false);
  } else {
    multiply_tile(tile.queries, tile.width, task.size, {q.data, q.stride, 1}, columns, width,
                  scores, tile.width, false);
  }
}

inline void attention_forward(Cpu& device, const AttentionTask& task,
                              const AttentionForward<Cpu>& a) {
  if (task.queries == 0) return;
  constexpr CpuLanes lanes;
  const index_t most = task.queries < query_block ? task.queries : query_block;
  const index_t copied = task.in_place ? 0 : task.width;
  Scratch scratch(device, task.size * key_tile + query_tile * key_tile + 2 * most +
                              copied * (key_tile + 2 * most));
  float* const keys = scratch.take(task.size * key_tile);
  float* const scores = scratch.take(query_tile * key_tile);
  float* const running_max = scratch.take(most);
  float* const running_sum = scratch.take(most);
  float* const copied_values = scratch.take(copied * key_tile);
  float* const copied_queries = scratch.take(copied * most);
  float* const copied_sums = scratch.take(copied * most);

  for_query_blocks(task, [&](QueryBlock block) {
    const auto q =
        side_by_side(task.queries_of(a.q).from(block.begin), block.size(), task, copied_queries);
    const RowSums sums(task.queries_of(a.out).from(block.begin), block.size(), task, copied_sums);
    for (index_t i = 0; i < block.size(); ++i) {
      running_max[i] = -std::numeric_limits<float>::infinity();
      running_sum[i] = 0.0f;
    }

    for_key_tiles(task, block, [&](index_t key, index_t count) {
      const auto k = task.keys_of(a.k).from(key);
      const index_t width = padded(count);
      if (!has_few_queries(task)) transpose_keys(task, k, count, keys);
      const auto v = side_by_side(task.keys_of(a.v).from(key), count, task, copied_values);
      for_query_tiles(task, block, key, count, [&](const ScoreTile& tile) {
        multiply_by_keys(task, tile, q.from(tile.row), k, keys, width, scores);
        softmax_tile(task, tile, scores, sums, running_max, running_sum);
        multiply_tile(tile.queries, task.width, tile.keys, {scores, tile.width, 1}, v.data,
                      v.stride, sums.row(tile.row), sums.stride(), true);
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

inline void attention_backward(Cpu& device, const AttentionTask& task,
                               const AttentionBackward<Cpu>& a) {
  constexpr CpuLanes lanes;
  const index_t most = task.queries < query_block ? task.queries : query_block;
  const index_t copied = task.in_place ? 0 : task.width;
  Scratch scratch(device, 2 * task.size * key_tile + 2 * query_tile * key_tile + most +
                              copied * (3 * most + 3 * key_tile));
  float* const keys = scratch.take(task.size * key_tile);
  float* const values = scratch.take(task.size * key_tile);
  float* const scores = scratch.take(query_tile * key_tile);
  float* const gradients = scratch.take(query_tile * key_tile);
  float* const deltas = scratch.take(most);
  float* const copied_q = scratch.take(copied * most);
  float* const copied_dout = scratch.take(copied * most);
  float* const copied_dq = scratch.take(copied * most);
  float* const copied_k = scratch.take(copied * key_tile);
  float* const copied_dk = scratch.take(copied * key_tile);
  float* const copied_dv = scratch.take(copied * key_tile);

  for_query_blocks(task, [&](QueryBlock block) {
    const auto out = task.queries_of(a.out).from(block.begin);
    const auto q =
        side_by_side(task.queries_of(a.q).from(block.begin), block.size(), task, copied_q);
    const auto dout =
        side_by_side(task.queries_of(a.dout).from(block.begin), block.size(), task, copied_dout);
    const RowSums dq(task.queries_of(a.dq).from(block.begin), block.size(), task, copied_dq);
    // The sum over keys of p dp is that over channels of out dout, dropout or not.
    for (index_t i = 0; i < block.size(); ++i) {
      deltas[i] = lanes.sum(task.size, [&](auto c) {
        return simd::load(out.row(i), c) * simd::load(dout.row(i), c);
      });
    }

    for_key_tiles(task, block, [&](index_t key, index_t count) {
      const auto k_rows = task.keys_of(a.k).from(key);
      const index_t width = padded(count);
      if (!has_few_queries(task)) transpose_keys(task, k_rows, count, keys);
      transpose_keys(task, task.keys_of(a.v).from(key), count, values);
      const auto k = side_by_side(k_rows, count, task, copied_k);
      const bool fresh = block.begin <= (task.causal ? key : 0);  // the first block that sees them
      const RowSums dk(task.keys_of(a.dk).from(key), count, task, copied_dk, fresh);
      const RowSums dv(task.keys_of(a.dv).from(key), count, task, copied_dv, fresh);
      for_query_tiles(task, block, key, count, [&](const ScoreTile& tile) {
        const float* const q_rows = q.row(tile.row);
        const float* const dout_rows = dout.row(tile.row);
        multiply_by_keys(task, tile, q.from(tile.row), k_rows, keys, width, scores);
        multiply_tile(tile.queries, tile.width, task.size, {dout_rows, dout.stride, 1}, values,
                      width, gradients, tile.width, false);
        softmax_backward_tile(task, tile, scores, gradients, a.log_sums, deltas);
        multiply_tile(tile.keys, task.width, tile.queries, {scores, 1, tile.width}, dout_rows,
                      dout.stride, dv.row(0), dv.stride(), true);
        multiply_tile(tile.keys, task.width, tile.queries, {gradients, 1, tile.width}, q_rows,
                      q.stride, dk.row(0), dk.stride(), true);
        multiply_tile(tile.queries, task.width, tile.keys, {gradients, tile.width, 1}, k.data,
                      k.stride, dq.row(tile.row), dq.stride(), true);
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

inline void attention_forward(Cpu& device, const AttentionForward<Cpu>& a, AnyHeadSize) {
  for_heads(device, a.problem,
            [&](const AttentionTask& task) { attention_forward(device, task, a); });
}

inline void attention_backward(Cpu& device, const AttentionBackward<Cpu>& a, AnyHeadSize) {
  for_heads(device, a.problem,
            [&](const AttentionTask& task) { attention_backward(device, task, a); });
}

}  // namespace weft::ops::detail
