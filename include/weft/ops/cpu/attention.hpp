// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Tiled attention on the CPU: a task for each sequence and head.
//!
//! Keys are the outer loop, so that a tile of them is transposed once; the running maximum, sum and
//! output of every query stay with the query. Memory grows with T, not with T x T.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include <weft/core/index.hpp>
#include <weft/core/simd.hpp>
#include <weft/device/cpu.hpp>
#include <weft/ops/attention_problem.hpp>
#include <weft/ops/cpu/few_rows.hpp>
#include <weft/ops/cpu/tile.hpp>
#include <weft/ops/dropout.hpp>
#include <weft/tensor/sequences.hpp>
#include <weft/tensor/tensor.hpp>

namespace weft::ops::detail {

inline constexpr index_t query_tile = 64;
inline constexpr index_t key_tile = DropoutMask::group_columns;

inline index_t round_up_to_width(index_t n) {
  return (n + simd::width - 1) / simd::width * simd::width;
}

//! One head of one sequence: rows that lie `stride` apart.
template <class T>
struct HeadView {
  T* data;
  index_t stride;

  [[nodiscard]] T* row(index_t n) const { return data + n * stride; }
};

//! One head of one sequence: its sizes, its masks, and where its rows are.
struct AttentionTask {
  bool causal;
  float scale;
  index_t size;   // of a head
  index_t width;  // the same, rounded up to a multiple of 16
  index_t head, heads;
  index_t first_query, queries, first_key, keys;
  std::uint32_t sequence;
  DropoutMask dropout;

  AttentionTask(const AttentionProblem<Cpu>& problem, index_t task)
      : causal(problem.causal),
        scale(problem.scale),
        size(problem.head_size),
        width(round_up_to_width(problem.head_size)),
        head(task % problem.heads),
        heads(problem.heads),
        dropout(problem.dropout) {
    const index_t b = task / problem.heads;
    first_query = problem.query_layout->begin(b);
    queries = problem.query_layout->length(b);
    first_key = problem.key_layout->begin(b);
    keys = problem.key_layout->length(b);
    sequence = queries > 0 ? problem.query_layout->keys.data()[first_query].sequence : 0;
    dropout.operation += static_cast<std::uint32_t>(head);
  }

  template <class T>
  [[nodiscard]] HeadView<T> queries_of(HeadRows<T> rows) const {
    return {rows.data + first_query * rows.stride + head * size, rows.stride};
  }

  template <class T>
  [[nodiscard]] HeadView<T> keys_of(HeadRows<T> rows) const {
    return {rows.data + first_key * rows.stride + head * size, rows.stride};
  }

  [[nodiscard]] RowKey key_of(index_t query) const {
    return {sequence, static_cast<std::uint32_t>(query)};
  }
};

//! A tile of scores: `queries` rows from `query` on, `keys` columns from `key` on.
struct ScoreTile {
  index_t query, queries, key, keys;
  index_t width;  // of a row in memory

  //! How many of its keys the tile's row i sees.
  [[nodiscard]] index_t visible(const AttentionTask& task, index_t i) const {
    if (!task.causal) return keys;
    const index_t last = query + i - key + 1;
    return last < 0 ? 0 : (last < keys ? last : keys);
  }
};

//! Calls `f(tile)` for the tiles of one tile of keys that are not hidden by the causal mask.
template <class F>
void for_query_tiles(const AttentionTask& task, index_t key, F f) {
  const index_t keys = task.keys - key < key_tile ? task.keys - key : key_tile;
  const index_t first = task.causal ? key / query_tile * query_tile : 0;
  for (index_t query = first; query < task.queries; query += query_tile) {
    const index_t queries = task.queries - query < query_tile ? task.queries - query : query_tile;
    f(ScoreTile{query, queries, key, keys, round_up_to_width(keys)});
  }
}

//! Rows (count, size) as columns (size, width), zeros past the end: a row of scores is then a sum
//! of rows.
inline void transpose(HeadView<const float> rows, index_t count, index_t size, float* out) {
  const index_t width = round_up_to_width(count);
  for (index_t n = 0; n < count; ++n) {
    for (index_t i = 0; i < size; ++i) out[i * width + n] = rows.row(n)[i];
  }
  for (index_t n = count; n < width; ++n) {
    for (index_t i = 0; i < size; ++i) out[i * width + n] = 0.0f;
  }
}

//! The same rows with zeros up to a multiple of 16 columns; in place where they need none.
inline HeadView<const float> widen(HeadView<const float> rows, index_t count,
                                   const AttentionTask& task, float* scratch) {
  if (task.size == task.width) return rows;
  for (index_t n = 0; n < count; ++n) {
    float* out = scratch + n * task.width;
    std::memcpy(out, rows.row(n), static_cast<std::size_t>(task.size) * sizeof(float));
    for (index_t i = task.size; i < task.width; ++i) out[i] = 0.0f;
  }
  return {scratch, task.width};
}

//! Sums of `width` columns for rows of `size`: in place where the two are equal, else in scratch
//! memory until `finish`.
class WideSums {
 public:
  WideSums(HeadView<float> target, index_t count, const AttentionTask& task, float* scratch)
      : target_(target),
        sums_(task.size == task.width ? target : HeadView<float>{scratch, task.width}),
        count_(count),
        size_(task.size) {
    for (index_t n = 0; n < count; ++n) {
      std::memset(sums_.row(n), 0, static_cast<std::size_t>(task.width) * sizeof(float));
    }
  }

  [[nodiscard]] float* row(index_t n) const { return sums_.row(n); }
  [[nodiscard]] index_t stride() const { return sums_.stride; }

  void finish() const {
    if (sums_.data == target_.data) return;
    for (index_t n = 0; n < count_; ++n) {
      std::memcpy(target_.row(n), sums_.row(n), static_cast<std::size_t>(size_) * sizeof(float));
    }
  }

 private:
  HeadView<float> target_;
  HeadView<float> sums_;
  index_t count_;
  index_t size_;
};

//! Hands out parts of one allocation from the device's pool.
class Scratch {
 public:
  Scratch(Cpu& device, index_t floats) : memory_(device, {floats}), next_(memory_.data()) {}

  float* take(index_t floats) { return std::exchange(next_, next_ + floats); }

 private:
  Tensor<float> memory_;
  float* next_;
};

//! Turns a tile of scores into exponentials, drops some, and rescales what earlier tiles left.
[[gnu::flatten]] inline void softmax_tile(const AttentionTask& task, const ScoreTile& tile,
                                          float* scores, const WideSums& out, float* running_max,
                                          float* running_sum) {
  constexpr CpuLanes lanes;
  for (index_t i = 0; i < tile.queries; ++i) {
    const index_t query = tile.query + i;
    const index_t visible = tile.visible(task, i);
    float* row = scores + i * tile.width;
    const float largest =
        task.scale * lanes.max(visible, [&](auto c) { return simd::load(row, c); });
    const float before = running_max[query];
    const float now = largest > before ? largest : before;
    simd::Floats total{};
    task.dropout.for_each(
        lanes, task.key_of(query), visible,
        [&](auto c, auto factor) {
          const auto p = simd::exp(simd::load(row, c) * task.scale - now);
          total += simd::mask_tail(c, p, 0.0f);
          simd::store(row, c, p * factor);
        },
        tile.key);
    for (index_t j = visible; j < tile.width; ++j) row[j] = 0.0f;
    const float rescale = before == now ? 1.0f : std::exp(before - now);
    if (rescale != 1.0f) {
      float* sums = out.row(query);
      lanes.for_each(task.width,
                     [&](auto c) { simd::store(sums, c, simd::load(sums, c) * rescale); });
    }
    running_sum[query] = running_sum[query] * rescale + simd::sum(total);
    running_max[query] = now;
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
    const float log_sum = log_sums[query * task.heads];
    const float delta = deltas[query];
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

inline void attention_forward(Cpu& device, const AttentionTask& task, HeadRows<const float> q,
                              HeadRows<const float> k, HeadRows<const float> v, HeadRows<float> out,
                              float* log_sums) {
  constexpr CpuLanes lanes;
  const index_t wide = task.size == task.width ? 0 : task.width;
  Scratch scratch(device, task.size * key_tile + query_tile * key_tile + 2 * task.queries +
                              wide * (key_tile + task.queries));
  float* keys = scratch.take(task.size * key_tile);
  float* scores = scratch.take(query_tile * key_tile);
  float* running_max = scratch.take(task.queries);
  float* running_sum = scratch.take(task.queries);
  float* wide_values = scratch.take(wide * key_tile);
  const auto queries = task.queries_of(q);
  const auto result = task.queries_of(out);
  const WideSums sums(result, task.queries, task, scratch.take(wide * task.queries));
  // Decoding asks for a position of each translation: transposing keys took longer than the rest.
  const bool few = task.queries <= most_few_rows;
  for (index_t i = 0; i < task.queries; ++i) {
    running_max[i] = -std::numeric_limits<float>::infinity();
    running_sum[i] = 0.0f;
  }

  for (index_t key = 0; key < task.keys; key += key_tile) {
    const index_t count = task.keys - key < key_tile ? task.keys - key : key_tile;
    const HeadView<const float> k_rows{task.keys_of(k).row(key), k.stride};
    if (!few) transpose(k_rows, count, task.size, keys);
    const auto values = widen({task.keys_of(v).row(key), v.stride}, count, task, wide_values);
    for_query_tiles(task, key, [&](const ScoreTile& tile) {
      const float* q_rows = queries.row(tile.query);
      if (few) {
        multiply_few_rows(tile.queries, tile.keys, task.size, q_rows, queries.stride, k_rows.data,
                          k_rows.stride, scores, tile.width, false);
      } else {
        multiply_tile(tile.queries, tile.width, task.size, {q_rows, queries.stride, 1}, keys,
                      tile.width, scores, tile.width, false);
      }
      softmax_tile(task, tile, scores, sums, running_max, running_sum);
      multiply_tile(tile.queries, task.width, tile.keys, {scores, tile.width, 1}, values.data,
                    values.stride, sums.row(tile.query), sums.stride(), true);
    });
  }

  for (index_t i = 0; i < task.queries; ++i) {
    const bool blind = running_sum[i] == 0.0f;  // a sequence without keys
    const float norm = blind ? 0.0f : 1.0f / running_sum[i];
    float* row = sums.row(i);
    lanes.for_each(task.width, [&](auto c) { simd::store(row, c, simd::load(row, c) * norm); });
    log_sums[(task.first_query + i) * task.heads + task.head] =
        blind ? 0.0f : running_max[i] + std::log(running_sum[i]);
  }
  sums.finish();
}

inline void attention_backward(Cpu& device, const AttentionTask& task, HeadRows<const float> q,
                               HeadRows<const float> k, HeadRows<const float> v,
                               HeadRows<const float> out, const float* log_sums,
                               HeadRows<const float> dout, HeadRows<float> dq, HeadRows<float> dk,
                               HeadRows<float> dv) {
  constexpr CpuLanes lanes;
  const index_t wide = task.size == task.width ? 0 : task.width;
  Scratch scratch(device, 2 * task.size * key_tile + 2 * query_tile * key_tile + task.queries +
                              wide * (3 * task.queries + 3 * key_tile));
  float* keys = scratch.take(task.size * key_tile);
  float* values = scratch.take(task.size * key_tile);
  float* scores = scratch.take(query_tile * key_tile);
  float* gradients = scratch.take(query_tile * key_tile);
  float* deltas = scratch.take(task.queries);
  const auto q_rows = task.queries_of(q);
  const auto dout_rows = task.queries_of(dout);
  const auto wide_q = widen(q_rows, task.queries, task, scratch.take(wide * task.queries));
  const auto wide_dout = widen(dout_rows, task.queries, task, scratch.take(wide * task.queries));
  const WideSums dq_sums(task.queries_of(dq), task.queries, task,
                         scratch.take(wide * task.queries));
  float* const wide_keys = scratch.take(wide * key_tile);
  float* const wide_dk = scratch.take(wide * key_tile);
  float* const wide_dv = scratch.take(wide * key_tile);

  // The sum over keys of p dp is that over channels of out dout, dropout or not.
  for (index_t i = 0; i < task.queries; ++i) {
    deltas[i] = lanes.sum(task.size, [&](auto c) {
      return simd::load(task.queries_of(out).row(i), c) * simd::load(dout_rows.row(i), c);
    });
  }

  for (index_t key = 0; key < task.keys; key += key_tile) {
    const index_t count = task.keys - key < key_tile ? task.keys - key : key_tile;
    const HeadView<const float> k_rows{task.keys_of(k).row(key), k.stride};
    transpose(k_rows, count, task.size, keys);
    transpose({task.keys_of(v).row(key), v.stride}, count, task.size, values);
    const auto wide_k = widen(k_rows, count, task, wide_keys);
    const WideSums dk_sums({task.keys_of(dk).row(key), dk.stride}, count, task, wide_dk);
    const WideSums dv_sums({task.keys_of(dv).row(key), dv.stride}, count, task, wide_dv);
    for_query_tiles(task, key, [&](const ScoreTile& tile) {
      multiply_tile(tile.queries, tile.width, task.size, {q_rows.row(tile.query), q_rows.stride, 1},
                    keys, tile.width, scores, tile.width, false);
      multiply_tile(tile.queries, tile.width, task.size,
                    {dout_rows.row(tile.query), dout_rows.stride, 1}, values, tile.width, gradients,
                    tile.width, false);
      softmax_backward_tile(task, tile, scores, gradients,
                            log_sums + task.first_query * task.heads + task.head, deltas);
      multiply_tile(tile.keys, task.width, tile.queries, {scores, 1, tile.width},
                    wide_dout.row(tile.query), wide_dout.stride, dv_sums.row(0), dv_sums.stride(),
                    true);
      multiply_tile(tile.keys, task.width, tile.queries, {gradients, 1, tile.width},
                    wide_q.row(tile.query), wide_q.stride, dk_sums.row(0), dk_sums.stride(), true);
      multiply_tile(tile.queries, task.width, tile.keys, {gradients, tile.width, 1}, wide_k.data,
                    wide_k.stride, dq_sums.row(tile.query), dq_sums.stride(), true);
    });
    dk_sums.finish();
    dv_sums.finish();
  }
  dq_sums.finish();
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

inline void attention_forward(Cpu& device, const AttentionForward<Cpu>& a) {
  for_heads(device, a.problem, [&](const AttentionTask& task) {
    attention_forward(device, task, a.q, a.k, a.v, a.out, a.log_sums);
  });
}

inline void attention_backward(Cpu& device, const AttentionBackward<Cpu>& a) {
  for_heads(device, a.problem, [&](const AttentionTask& task) {
    attention_backward(device, task, a.q, a.k, a.v, a.out, a.log_sums, a.dout, a.dq, a.dk, a.dv);
  });
}

}  // namespace weft::ops::detail
