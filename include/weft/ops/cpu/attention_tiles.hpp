// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file How attention on the CPU is cut: a task for each head of a sequence, blocks of its
//! queries, tiles of scores; and where the rows of a head lie meanwhile.
#pragma once

#include <cstring>
#include <utility>

#include <weft/core/index.hpp>
#include <weft/core/simd.hpp>
#include <weft/device/cpu.hpp>
#include <weft/ops/attention_problem.hpp>
#include <weft/ops/cpu/tile.hpp>
#include <weft/ops/cpu/transpose.hpp>
#include <weft/ops/dropout.hpp>
#include <weft/tensor/sequences.hpp>
#include <weft/tensor/tensor.hpp>

namespace weft::ops::detail {

inline constexpr index_t query_tile = 64;
//! A multiple of query_tile: at size 64, their queries, outputs and gradients are 768 KiB.
inline constexpr index_t query_block = 1024;
//! Up to so many queries, rows are used where they lie. Those of a long sequence are copied side by
//! side: 6 KiB apart, as d_model 512 has them, 64 rows compete for a few sets of the first cache,
//! and attention to 4,096 words took 1.2 (forward) and 1.3 times (backward) as long.
inline constexpr index_t most_queries_in_place = 512;
inline constexpr index_t key_tile = DropoutMask::group_columns;

//! The columns that `multiply_tile` makes where `n` are wanted.
inline index_t padded(index_t n) { return (n + narrowest - 1) / narrowest * narrowest; }

//! One head of one sequence: rows that lie `stride` apart.
template <class T>
struct HeadView {
  T* data;
  index_t stride;

  HeadView(T* first, index_t elements) : data(first), stride(elements) {}

  [[nodiscard]] T* row(index_t n) const { return data + n * stride; }
  //! The rows from `n` on.
  [[nodiscard]] HeadView from(index_t n) const { return {row(n), stride}; }
};

//! One head of one sequence: its sizes, its masks, and where its rows are.
struct AttentionTask {
  bool causal;
  float scale;
  index_t size;   // of a head
  index_t width;  // the same, padded
  index_t head, heads;
  index_t first_query, queries, first_key, keys;
  bool in_place;  // rows are used where they lie
  std::uint32_t sequence;
  DropoutMask dropout;

  AttentionTask(const AttentionProblem<Cpu>& problem, index_t task)
      : causal(problem.causal),
        scale(problem.scale),
        size(problem.head_size),
        width(padded(problem.head_size)),
        head(task % problem.heads),
        heads(problem.heads),
        dropout(problem.dropout) {
    const index_t b = task / problem.heads;
    first_query = problem.query_layout->begin(b);
    queries = problem.query_layout->length(b);
    first_key = problem.key_layout->begin(b);
    keys = problem.key_layout->length(b);
    in_place = size == width && queries <= most_queries_in_place;
    sequence = queries > 0 ? problem.query_layout->keys.data()[first_query].sequence : 0;
    dropout.operation += static_cast<std::uint32_t>(head);
  }

  template <class Void>
  [[nodiscard]] auto queries_of(AnyHeadRows<Void> rows) const {
    return HeadView{rows.data.floats() + first_query * rows.stride + head * size, rows.stride};
  }

  template <class Void>
  [[nodiscard]] auto keys_of(AnyHeadRows<Void> rows) const {
    return HeadView{rows.data.floats() + first_key * rows.stride + head / rows.sharing * size,
                    rows.stride};
  }

  [[nodiscard]] index_t log_sum_at(index_t query) const {
    return (first_query + query) * heads + head;
  }

  [[nodiscard]] RowKey key_of(index_t query) const {
    return {sequence, static_cast<std::uint32_t>(query)};
  }
};

//! A tile of scores: `queries` rows from `query` on, `keys` columns from `key` on.
struct ScoreTile {
  index_t query;
  index_t row;  // that of `query` in its block
  index_t queries, key, keys;
  index_t width;  // of a row in memory

  //! How many of its keys the tile's row i sees.
  [[nodiscard]] index_t visible(const AttentionTask& task, index_t i) const {
    if (!task.causal) return keys;
    const index_t last = query + i - key + 1;
    return last < 0 ? 0 : (last < keys ? last : keys);
  }
};

//! Queries `begin` to `end` - 1 of a sequence.
struct QueryBlock {
  index_t begin, end;

  [[nodiscard]] index_t size() const { return end - begin; }
};

//! Calls `f(block)` for the blocks of a task's queries: once if there are none.
template <class F>
void for_query_blocks(const AttentionTask& task, F f) {
  index_t begin = 0;
  do {
    const index_t left = task.queries - begin;
    f(QueryBlock{begin, begin + (left < query_block ? left : query_block)});
    begin += query_block;
  } while (begin < task.queries);
}

//! Calls `f(key, count)` for the tiles of keys that a block sees; the last block is shown all.
template <class F>
void for_key_tiles(const AttentionTask& task, QueryBlock block, F f) {
  const bool sees_all = !task.causal || block.end == task.queries || task.keys < block.end;
  const index_t end = sees_all ? task.keys : block.end;
  for (index_t key = 0; key < end; key += key_tile) {
    f(key, task.keys - key < key_tile ? task.keys - key : key_tile);
  }
}

//! Calls `f(tile)` for the tiles of a block and a tile of keys that the causal mask does not hide,
//! without the keys that it hides from all of the tile's queries.
template <class F>
void for_query_tiles(const AttentionTask& task, QueryBlock block, index_t key, index_t keys, F f) {
  const index_t first = task.causal ? key / query_tile * query_tile : 0;
  for (index_t query = first < block.begin ? block.begin : first; query < block.end;
       query += query_tile) {
    const index_t queries = block.end - query < query_tile ? block.end - query : query_tile;
    const index_t seen = query + queries - key;
    const index_t count = task.causal && seen < keys ? seen : keys;
    f(ScoreTile{query, query - block.begin, queries, key, count, padded(count)});
  }
}

//! Rows side by side, with zeros up to `task.width` columns; or as they lie.
inline HeadView<const float> side_by_side(HeadView<const float> rows, index_t count,
                                          const AttentionTask& task, float* scratch) {
  if (task.in_place) return rows;
  for (index_t n = 0; n < count; ++n) {
    float* out = scratch + n * task.width;
    std::memcpy(out, rows.row(n), static_cast<std::size_t>(task.size) * sizeof(float));
    for (index_t i = task.size; i < task.width; ++i) out[i] = 0.0f;
  }
  return {scratch, task.width};
}

//! Sums of `width` columns for rows of `size`: where the rows lie, or side by side in scratch
//! memory until `finish`. They begin with zero if they are `fresh`, else with the rows.
class RowSums {
 public:
  RowSums(HeadView<float> target, index_t count, const AttentionTask& task, float* scratch,
          bool fresh = true)
      : target_(target),
        sums_(task.in_place ? target : HeadView<float>{scratch, task.width}),
        count_(count),
        size_(task.size) {
    if (!fresh) {
      side_by_side({target.data, target.stride}, count, task, scratch);
      return;
    }
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

//! The scratch memory of `RowSums` for so many rows, in floats.
inline index_t size_of_sums(const AttentionTask& task, index_t rows) {
  return task.in_place ? 0 : task.width * rows;
}

//! Hands out parts of one allocation from the device's pool.
class Scratch {
 public:
  Scratch(Cpu& device, index_t numbers) : memory_(device, {numbers}), next_(memory_.data()) {}

  //! So many numbers of four bytes.
  template <class T = float>
  T* take(index_t numbers) {
    static_assert(sizeof(T) == sizeof(float));
    return reinterpret_cast<T*>(std::exchange(next_, next_ + numbers));
  }

 private:
  Tensor<float> memory_;
  float* next_;
};

}  // namespace weft::ops::detail
