// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The most probable words of each row of logits, found on a GPU: a few bytes a row come to
//! the host.
#pragma once

#include <cub/block/block_reduce.cuh>

#include <weft/device/cuda.cuh>
#include <weft/device/cuda_lanes.cuh>
#include <weft/generate/best_words.hpp>
#include <weft/tensor/tensor.hpp>

namespace weft::generate::detail {

inline constexpr int word_threads = 256;

//! A row's, found by all threads of a block.
template <int Threads>
__device__ LogSoftmax block_log_softmax(const float* row, index_t V) {
  const ExpSum of_row = CudaLanes<Threads>().exp_sum(V, [=](index_t v) { return row[v]; });
  return {of_row.largest, logf(of_row.exps)};
}

//! Whether a stands before b: with the larger logit, of equals with the lower number. (Logits stand
//! in the place of probabilities.)
__device__ inline bool stands_before(const ScoredWord& a, const ScoredWord& b) {
  return a.log_probability > b.log_probability ||
         (a.log_probability == b.log_probability && a.word < b.word);
}

//! A block for each row, which reads it once for each word that is wanted: a row of 32,000 words
//! stays in the caches.
template <int Threads>
__global__ void __launch_bounds__(Threads)
    best_words_kernel(const float* logits, const float* penalties, index_t V, index_t count,
                      ScoredWord* best) {
  using Reduce = cub::BlockReduce<ScoredWord, Threads>;
  __shared__ typename Reduce::TempStorage storage;
  __shared__ ScoredWord chosen;
  const auto n = static_cast<index_t>(blockIdx.x);
  const float* const row = logits + n * V;
  const LogSoftmax normalized = block_log_softmax<Threads>(row, V);
  const ScoredWord nothing{-1, weft::detail::minus_infinity};
  ScoredWord last{-1, -weft::detail::minus_infinity};  // before all words
  for (index_t i = 0; i < count; ++i) {
    ScoredWord own = nothing;
    for (index_t v = threadIdx.x; v < V; v += Threads) {
      const float penalty = penalties == nullptr ? 0.0f : penalties[v];
      const ScoredWord here{static_cast<token_t>(v), row[v] + penalty};
      if (stands_before(last, here) && stands_before(here, own)) own = here;
    }
    const ScoredWord first = Reduce(storage).Reduce(
        own, [](const ScoredWord& a, const ScoredWord& b) { return stands_before(b, a) ? b : a; });
    if (threadIdx.x == 0) {
      chosen = first;
      best[n * count + i] = {first.word, normalized(first.log_probability)};
    }
    __syncthreads();
    last = chosen;
    __syncthreads();  // the next may be chosen
  }
}

template <int Threads>
__global__ void __launch_bounds__(Threads)
    word_probabilities_kernel(const float* logits, index_t V, token_t word, float* found) {
  const float* const row = logits + blockIdx.x * V;
  const LogSoftmax normalized = block_log_softmax<Threads>(row, V);
  if (threadIdx.x == 0) found[blockIdx.x] = normalized(row[word]);
}

//! Has a kernel write what is found to memory of the GPU, and copies that.
template <class Wanted, class Launch>
void find_on_gpu(Cuda& device, const Wanted& wanted, typename Wanted::Found* found,
                 const Launch& launch) {
  const index_t n = wanted.logits.rows() * wanted.found_in_row();
  const Tensor<typename Wanted::Found, Cuda> result(device, {n});
  launch(CudaGrid{wanted.logits.rows(), word_threads}, result.data());
  device.download(found, result.data(), n * index_t{sizeof(typename Wanted::Found)});
}

inline void find_words(Cuda& device, const BestWords& wanted, ScoredWord* found) {
  find_on_gpu(device, wanted, found, [&](const CudaGrid& grid, ScoredWord* best) {
    device.launch("the most probable words", grid, best_words_kernel<word_threads>,
                  wanted.logits.data, wanted.penalties.data, wanted.logits.columns(), wanted.count,
                  best);
  });
}

inline void find_words(Cuda& device, const WordProbabilities& wanted, float* found) {
  find_on_gpu(device, wanted, found, [&](const CudaGrid& grid, float* probabilities) {
    device.launch("a word's probabilities", grid, word_probabilities_kernel<word_threads>,
                  wanted.logits.data, wanted.logits.columns(), wanted.word, probabilities);
  });
}

}  // namespace weft::generate::detail
