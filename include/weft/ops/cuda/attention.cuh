// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Attention on a GPU in float: a warp a query, tiles of keys in shared memory.
//!
//! The backward pass computes the probabilities twice: once a query for dq, once a key for dk and
//! dv. Nothing is added from two places, so every sum has a fixed order.
#pragma once

#include <cmath>
#include <type_traits>

#include <weft/device/cuda.cuh>
#include <weft/ops/attention.hpp>

namespace weft::ops::detail {

inline constexpr int attention_warps = 8;  // of a block: queries, or keys, at once
inline constexpr int attention_tile = 32;  // a key, or query, a lane
inline constexpr index_t most_head_size = 128;

//! What both passes know of one head of one sequence.
struct CudaHead {
  index_t heads, head_size;
  bool causal;
  float scale;
  DropoutMask dropout;
  const index_t *query_starts, *key_starts;
  const RowKey* query_keys;

  explicit CudaHead(const AttentionProblem<Cuda>& p)
      : heads(p.heads),
        head_size(p.head_size),
        causal(p.causal),
        scale(p.scale),
        dropout(p.dropout),
        query_starts(p.query_layout->starts.data()),
        key_starts(p.key_layout->starts.data()),
        query_keys(p.query_layout->keys.data()) {
    if (head_size > most_head_size) {
      throw ShapeError(
          text("attention: a head of ", head_size, " channels; a GPU takes ", most_head_size));
    }
  }

  [[nodiscard]] __device__ int size() const { return static_cast<int>(head_size); }
  //! The channel where this block's head begins.
  [[nodiscard]] __device__ index_t channel() const { return blockIdx.y * head_size; }

  [[nodiscard]] __device__ DropoutMask mask() const {
    DropoutMask of_head = dropout;
    of_head.operation += blockIdx.y;
    return of_head;
  }

  //! The place of a query's logarithm of a sum, and of other numbers kept for each row and head.
  [[nodiscard]] __device__ index_t place(index_t row) const { return row * heads + blockIdx.y; }
};

//! The row of this block's sequence that this warp has: a block has eight in a row.
struct WarpRow {
  index_t begin, count;  // of the sequence
  index_t first;         // the block's first, counted from the sequence's
  index_t number;        // this warp's, counted so
  bool active;           // whether there is such a row
  index_t row;           // it, or any

  __device__ explicit WarpRow(const index_t* starts)
      : begin(starts[blockIdx.z]),
        count(starts[blockIdx.z + 1] - begin),
        first(static_cast<index_t>(blockIdx.x) * attention_warps),
        number(first + threadIdx.x / 32),
        active(number < count),
        row(begin + (active ? number : 0)) {}

  [[nodiscard]] __device__ bool block_is_empty() const { return first >= count; }
};

//! The keys of a query's sequence, and how many of them it sees.
struct VisibleKeys {
  index_t begin, end;
  index_t seen, seen_by_block;

  __device__ VisibleKeys(const CudaHead& head, const WarpRow& query)
      : begin(head.key_starts[blockIdx.z]), end(head.key_starts[blockIdx.z + 1]) {
    const index_t keys = end - begin;
    seen = head.causal && query.number + 1 < keys ? query.number + 1 : keys;
    const index_t last = query.first + attention_warps;
    seen_by_block = head.causal && last < keys ? last : keys;
  }
};

//! Rows `first` to `first` + 31 of a head, in shared memory; zeros from `end` on. Rows lie `size` +
//! 1 apart, so that 32 lanes that read one channel of 32 rows meet no bank twice.
__device__ inline void load_rows(float* tile, const CudaHead& head, HeadRows<const float> from,
                                 index_t first, index_t end) {
  const int size = head.size();
  for (int i = static_cast<int>(threadIdx.x); i < attention_tile * size; i += blockDim.x) {
    const index_t row = first + i / size;
    const int c = i % size;
    tile[i / size * (size + 1) + c] =
        row < end ? from.data[row * from.stride + head.channel() + c] : 0.0f;
  }
}

__device__ inline float dot(const float* a, const float* b, int n) {
  float sum = 0.0f;
  for (int i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

__device__ inline float warp_sum(float x) {
  for (int apart = 16; apart > 0; apart /= 2) x += __shfl_xor_sync(~0u, x, apart);
  return x;
}

__device__ inline float warp_max(float x) {
  for (int apart = 16; apart > 0; apart /= 2) x = fmaxf(x, __shfl_xor_sync(~0u, x, apart));
  return x;
}

// A lane holds `Parts` channels of a head, 32 apart.

//! Adds the sum over a tile's rows of weight[row] row to a lane's channels; lane j has weight j.
template <int Parts>
__device__ void add_weighted(float (&sums)[Parts], float weight, const float* tile, int size,
                             int lane) {
  for (int j = 0; j < attention_tile; ++j) {
    const float w = __shfl_sync(~0u, weight, j);
#pragma unroll
    for (int part = 0; part < Parts; ++part) {
      const int c = part * 32 + lane;
      if (c < size) sums[part] += w * tile[j * (size + 1) + c];
    }
  }
}

template <int Parts>
__device__ void store_row(const float (&sums)[Parts], float factor, float* to, int size, int lane) {
#pragma unroll
  for (int part = 0; part < Parts; ++part) {
    const int c = part * 32 + lane;
    if (c < size) to[c] = sums[part] * factor;
  }
}

//! A block has 8 queries of one head of one sequence. Shared memory: a tile of keys, one of values,
//! and the queries.
template <int Parts>
__global__ void __launch_bounds__(32 * attention_warps)
    attention_kernel(CudaHead head, HeadRows<const float> q, HeadRows<const float> k,
                     HeadRows<const float> v, HeadRows<float> out, float* log_sums) {
  extern __shared__ float shared[];
  const int size = head.size();
  float* const keys = shared;
  float* const values = keys + attention_tile * (size + 1);
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  float* const query_row = values + attention_tile * (size + 1) + warp * size;

  const WarpRow query(head.query_starts);
  if (query.block_is_empty()) return;
  const VisibleKeys keys_of(head, query);
  for (int c = lane; c < size; c += 32) {
    query_row[c] = q.data[query.row * q.stride + head.channel() + c];
  }

  const DropoutMask mask = head.mask();
  const RowKey row_key = head.query_keys[query.row];
  float running_max = weft::detail::minus_infinity, running_sum = 0.0f;
  float sums[Parts] = {};
  PhiloxBlock words{};
  for (index_t tile = 0; tile < keys_of.seen_by_block; tile += attention_tile) {
    __syncthreads();
    load_rows(keys, head, k, keys_of.begin + tile, keys_of.end);
    load_rows(values, head, v, keys_of.begin + tile, keys_of.end);
    __syncthreads();
    const int turn = static_cast<int>(tile / attention_tile % 4);
    if (turn == 0 && mask.active()) words = mask.lane_words(row_key, tile, lane);
    const bool visible = query.active && tile + lane < keys_of.seen;
    const float score = visible ? head.scale * dot(query_row, keys + lane * (size + 1), size)
                                : weft::detail::minus_infinity;
    const float now = fmaxf(running_max, warp_max(score));
    const float p = visible ? expf(score - now) : 0.0f;
    const float rescale = running_max == now ? 1.0f : expf(running_max - now);
    running_sum = running_sum * rescale + warp_sum(p);
    running_max = now;
    for (float& sum : sums) sum *= rescale;
    const float factor = mask.active() ? mask.lane_factor(words, turn, lane) : 1.0f;
    add_weighted(sums, p * factor, values, size, lane);
  }
  if (!query.active) return;
  const bool blind = running_sum == 0.0f;  // a sequence without keys
  store_row(sums, blind ? 0.0f : 1.0f / running_sum,
            out.data + query.row * out.stride + head.channel(), size, lane);
  if (lane == 0) log_sums[head.place(query.row)] = blind ? 0.0f : running_max + logf(running_sum);
}

//! deltas[row, head] = the sum over channels of out dout, which is that over keys of p dp.
struct AttentionDeltaRow {
  HeadRows<const float> out, dout;
  index_t heads, head_size;
  float* deltas;

  template <class Lanes>
  __device__ void operator()(Lanes lanes, index_t n) const {
    const index_t row = n / heads, channel = n % heads * head_size;
    const float* a = out.data + row * out.stride + channel;
    const float* b = dout.data + row * dout.stride + channel;
    deltas[n] = lanes.sum(head_size, [&](index_t c) { return a[c] * b[c]; });
  }
};

//! A block has 8 queries, as the forward pass, and finds their gradients.
template <int Parts>
__global__ void __launch_bounds__(32 * attention_warps)
    attention_query_gradients(CudaHead head, HeadRows<const float> q, HeadRows<const float> k,
                              HeadRows<const float> v, const float* log_sums, const float* deltas,
                              HeadRows<const float> dout, HeadRows<float> dq) {
  extern __shared__ float shared[];
  const int size = head.size();
  float* const keys = shared;
  float* const values = keys + attention_tile * (size + 1);
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  float* const query_row = values + attention_tile * (size + 1) + warp * 2 * size;
  float* const dout_row = query_row + size;

  const WarpRow query(head.query_starts);
  if (query.block_is_empty()) return;
  const VisibleKeys keys_of(head, query);
  for (int c = lane; c < size; c += 32) {
    query_row[c] = q.data[query.row * q.stride + head.channel() + c];
    dout_row[c] = dout.data[query.row * dout.stride + head.channel() + c];
  }

  const DropoutMask mask = head.mask();
  const RowKey row_key = head.query_keys[query.row];
  const float log_sum = log_sums[head.place(query.row)], delta = deltas[head.place(query.row)];
  float sums[Parts] = {};
  PhiloxBlock words{};
  for (index_t tile = 0; tile < keys_of.seen_by_block; tile += attention_tile) {
    __syncthreads();
    load_rows(keys, head, k, keys_of.begin + tile, keys_of.end);
    load_rows(values, head, v, keys_of.begin + tile, keys_of.end);
    __syncthreads();
    const int turn = static_cast<int>(tile / attention_tile % 4);
    if (turn == 0 && mask.active()) words = mask.lane_words(row_key, tile, lane);
    float dscore = 0.0f;
    if (query.active && tile + lane < keys_of.seen) {
      const float p = expf(head.scale * dot(query_row, keys + lane * (size + 1), size) - log_sum);
      const float factor = mask.active() ? mask.lane_factor(words, turn, lane) : 1.0f;
      const float dp = dot(dout_row, values + lane * (size + 1), size);
      dscore = p * (dp * factor - delta) * head.scale;
    }
    add_weighted(sums, dscore, keys, size, lane);
  }
  if (query.active) {
    store_row(sums, 1.0f, dq.data + query.row * dq.stride + head.channel(), size, lane);
  }
}

//! A block has 8 keys, and finds their gradients and those of their values from all queries.
template <int Parts>
__global__ void __launch_bounds__(32 * attention_warps)
    attention_key_gradients(CudaHead head, HeadRows<const float> q, HeadRows<const float> k,
                            HeadRows<const float> v, const float* log_sums, const float* deltas,
                            HeadRows<const float> dout, HeadRows<float> dk, HeadRows<float> dv) {
  extern __shared__ float shared[];
  const int size = head.size();
  float* const queries = shared;
  float* const douts = queries + attention_tile * (size + 1);
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  float* const key_row = douts + attention_tile * (size + 1) + warp * 2 * size;
  float* const value_row = key_row + size;

  const WarpRow key(head.key_starts);
  if (key.block_is_empty()) return;
  const index_t begin = head.query_starts[blockIdx.z];
  const index_t end = head.query_starts[blockIdx.z + 1];
  for (int c = lane; c < size; c += 32) {
    key_row[c] = k.data[key.row * k.stride + head.channel() + c];
    value_row[c] = v.data[key.row * v.stride + head.channel() + c];
  }

  const DropoutMask mask = head.mask();
  const int key_lane = static_cast<int>(key.number % 32),
            key_turn = static_cast<int>(key.number / 32 % 4);
  const index_t group = key.number / DropoutMask::group_columns * DropoutMask::group_columns;
  const index_t first_query = head.causal ? key.first / attention_tile * attention_tile : 0;
  float dk_sums[Parts] = {}, dv_sums[Parts] = {};
  for (index_t tile = first_query; begin + tile < end; tile += attention_tile) {
    __syncthreads();
    load_rows(queries, head, q, begin + tile, end);
    load_rows(douts, head, dout, begin + tile, end);
    __syncthreads();
    const index_t query = tile + lane;
    float dropped_p = 0.0f, dscore = 0.0f;
    if (key.active && begin + query < end && (!head.causal || key.number <= query)) {
      const index_t at = head.place(begin + query);
      const float p =
          expf(head.scale * dot(queries + lane * (size + 1), key_row, size) - log_sums[at]);
      float factor = 1.0f;
      if (mask.active()) {
        const auto words = mask.lane_words(head.query_keys[begin + query], group, key_lane);
        factor = mask.lane_factor(words, key_turn, key_lane);
      }
      const float dp = dot(douts + lane * (size + 1), value_row, size);
      dropped_p = p * factor;
      dscore = p * (dp * factor - deltas[at]) * head.scale;
    }
    add_weighted(dv_sums, dropped_p, douts, size, lane);
    add_weighted(dk_sums, dscore, queries, size, lane);
  }
  if (!key.active) return;
  store_row(dk_sums, 1.0f, dk.data + key.row * dk.stride + head.channel(), size, lane);
  store_row(dv_sums, 1.0f, dv.data + key.row * dv.stride + head.channel(), size, lane);
}

//! Blocks for each 8 rows of the longest sequence, each head and each sequence.
inline dim3 attention_grid(const AttentionProblem<Cuda>& p, const SequenceLayout<Cuda>& rows) {
  constexpr index_t most = 65535;  // of a grid's second and third extent
  if (rows.sequences() > most || p.heads > most) {
    throw ShapeError(text("attention: ", rows.sequences(), " sequences of ", p.heads,
                          " heads; a GPU takes ", most, " of each"));
  }
  return {static_cast<unsigned>((rows.longest + attention_warps - 1) / attention_warps),
          static_cast<unsigned>(p.heads), static_cast<unsigned>(rows.sequences())};
}

//! The bytes of two tiles, and of `rows` rows for each warp.
inline std::size_t attention_memory(const AttentionProblem<Cuda>& p, int rows) {
  const index_t floats =
      2 * attention_tile * (p.head_size + 1) + attention_warps * rows * p.head_size;
  return static_cast<std::size_t>(floats) * sizeof(float);
}

//! Calls `f` with how many times 32 channels cover a head, as a constant.
template <class F>
void with_head_parts(index_t head_size, const F& f) {
  if (head_size <= 32) return f(std::integral_constant<int, 1>());
  if (head_size <= 64) return f(std::integral_constant<int, 2>());
  f(std::integral_constant<int, 4>());
}

inline void attention_forward(Cuda& device, const AttentionForward<Cuda>& a) {
  const CudaHead head(a.problem);
  const dim3 grid = attention_grid(a.problem, *a.problem.query_layout);
  if (grid.x == 0 || grid.z == 0) return;
  with_head_parts(a.problem.head_size, [&](auto parts) {
    device.launch("attention", grid.x, [&](unsigned) {
      attention_kernel<parts()>
          <<<grid, 32 * attention_warps, attention_memory(a.problem, 1), device.stream()>>>(
              head, a.q, a.k, a.v, a.out, a.log_sums);
    });
  });
}

inline void attention_backward(Cuda& device, const AttentionBackward<Cuda>& a) {
  const CudaHead head(a.problem);
  const SequenceLayout<Cuda>& queries = *a.problem.query_layout;
  const dim3 query_grid = attention_grid(a.problem, queries);
  const dim3 key_grid = attention_grid(a.problem, *a.problem.key_layout);
  const std::size_t memory = attention_memory(a.problem, 2);
  const Tensor<float, Cuda> deltas(device, {queries.rows(), a.problem.heads});
  device.for_rows(
      queries.rows() * a.problem.heads, a.problem.head_size,
      AttentionDeltaRow{a.out, a.dout, a.problem.heads, a.problem.head_size, deltas.data()});
  with_head_parts(a.problem.head_size, [&](auto parts) {
    if (query_grid.x > 0 && query_grid.z > 0) {
      device.launch("attention_backward for queries", query_grid.x, [&](unsigned) {
        attention_query_gradients<parts()>
            <<<query_grid, 32 * attention_warps, memory, device.stream()>>>(
                head, a.q, a.k, a.v, a.log_sums, deltas.data(), a.dout, a.dq);
      });
    }
    if (key_grid.x > 0 && key_grid.z > 0) {
      device.launch("attention_backward for keys", key_grid.x, [&](unsigned) {
        attention_key_gradients<parts()>
            <<<key_grid, 32 * attention_warps, memory, device.stream()>>>(
                head, a.q, a.k, a.v, a.log_sums, deltas.data(), a.dout, a.dk, a.dv);
      });
    }
  });
}

}  // namespace weft::ops::detail
