// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Attention on a GPU by the program's library, where it has one and the library takes it.
//!
//! Whether it does depends on the problem alone: on its sizes, types and lengths, the GPU's
//! architecture and the library's version. So devices of a group choose alike, and in every run.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>

#include <weft/device/attention_library.cuh>
#include <weft/device/cuda.cuh>
#include <weft/ops/attention_problem.hpp>

namespace weft::ops::detail {

using weft::detail::AttentionCall;
using weft::detail::AttentionKind;
using weft::detail::AttentionLibrary;

//! A library's kernels have a block across a grid for each sequence, and cuDNN says only as it
//! launches them that there are more.
inline constexpr index_t most_planned_sequences = CudaGrid::most_across;

//! At most as many sequences have a plan: a power of two, as far as there are such plans. Batches
//! of words have ever new numbers of sequences, and a plan costs half a second.
[[nodiscard]] inline index_t planned_sequences(index_t sequences) {
  const auto power = static_cast<index_t>(std::bit_ceil(static_cast<std::uint64_t>(sequences)));
  return std::min(power, most_planned_sequences);
}

//! The same of rows of the longest sequence: multiples of 128, to which cuDNN's backward pass
//! rounds keys itself, up to 1,024, then four to each power of two.
[[nodiscard]] inline index_t planned_rows(index_t longest) {
  const auto power = std::bit_floor(static_cast<std::uint64_t>(longest));
  const index_t step = std::max<index_t>(static_cast<index_t>(power) / 4, 128);
  return (longest + step - 1) / step * step;
}

//! Whether each sequence with queries has keys, and the other way: what a library writes for the
//! rows of one that has not, its documentation doesn't say.
[[nodiscard]] inline bool both_or_neither(const SequenceLayout<Cuda>& queries,
                                          const SequenceLayout<Cuda>& keys) {
  if (&queries == &keys) return true;
  for (index_t b = 0; b < queries.sequences(); ++b) {
    if ((queries.length(b) == 0) != (keys.length(b) == 0)) return false;
  }
  return true;
}

//! Whether a library is asked at all. `all`: the rows in the order of `RowsOfAttention`.
[[nodiscard]] inline bool may_be_a_librarys(const AttentionProblem<Cuda>& p,
                                            std::initializer_list<AnyHeadRows<const void>> all) {
  // Half of what the smallest plan has. Weft's blocks have as many rows as shorter sequences need;
  // and a search, which has one query a sequence, would ask for many plans.
  constexpr index_t least_rows = 64;
  const SequenceLayout<Cuda>&queries = *p.query_layout, &keys = *p.key_layout;
  return all.begin()->data.rounded() && !p.dropout.active() && p.head_size % 8 == 0 &&
         p.head_size <= 128 && std::min(queries.longest, keys.longest) >= least_rows &&
         queries.sequences() <= most_planned_sequences && (!p.causal || &queries == &keys) &&
         both_or_neither(queries, keys) &&
         std::all_of(all.begin(), all.end(), [](const AnyHeadRows<const void>& rows) {
           return rows.sharing == 1 && rows.stride % 8 == 0 &&
                  reinterpret_cast<std::uintptr_t>(rows.data.data) % 16 == 0;  // 8 numbers at once
         });
}

//! What the library reads on the GPU about sequence b: where it begins in each array, and how many
//! queries and keys it has. Those that only the plan has are empty, and begin where the last ends.
struct SequenceMarks {
  const index_t *query_starts, *key_starts;
  index_t sequences, planned;
  index_t arrays;
  index_t strides[weft::detail::backward_arrays + 1];
  index_t* offsets;       // (arrays, planned + 1)
  std::int32_t* lengths;  // (2, planned)

  template <class Lanes>
  __device__ void operator()(Lanes lanes, index_t b) const {
    using namespace weft::detail;
    const index_t known = b < sequences ? b : sequences;
    lanes.for_each(arrays, [&](index_t array) {
      const bool of_keys = array == of_k || array == of_v || array == of_dk || array == of_dv;
      const index_t start = (of_keys ? key_starts : query_starts)[known];
      offsets[array * (planned + 1) + b] = start * strides[array];
    });
    if (b == planned) return;
    lanes.for_each(2, [&](index_t side) {
      const index_t* const starts = side == 0 ? query_starts : key_starts;
      const index_t length = b < sequences ? starts[b + 1] - starts[b] : 0;
      lengths[side * planned + b] = static_cast<std::int32_t>(length);
    });
  }
};

//! Queues it if the library takes it; false if not.
inline bool attention_by_library(Cuda& device, const char* name, const AttentionProblem<Cuda>& p,
                                 std::initializer_list<AnyHeadRows<const void>> all,
                                 const float* log_sums) {
  AttentionLibrary* const library = device.attention_library();
  if (library == nullptr || !may_be_a_librarys(p, all)) return false;
  const SequenceLayout<Cuda>&queries = *p.query_layout, &keys = *p.key_layout;
  const index_t planned = planned_sequences(queries.sequences());
  const auto arrays = static_cast<index_t>(all.size());
  const bool is_backward = arrays == weft::detail::backward_arrays;
  AttentionCall call{library,
                     AttentionKind{.backward = is_backward,
                                   .causal = p.causal,
                                   .deterministic = !is_backward || device.deterministic(),
                                   .type = all.begin()->data.type,
                                   .scale = p.scale,
                                   .heads = p.heads,
                                   .head_size = p.head_size,
                                   .sequences = planned,
                                   .longest_query = planned_rows(queries.longest),
                                   .longest_key = planned_rows(keys.longest),
                                   .strides = {}},
                     {}};
  SequenceMarks marks{queries.starts.data(),
                      keys.starts.data(),
                      queries.sequences(),
                      planned,
                      arrays + 1,
                      {},
                      nullptr,
                      nullptr};
  for (std::size_t array = 0; array < all.size(); ++array) {
    const AnyHeadRows<const void>& rows = all.begin()[array];
    call.addresses.rows[array] = const_cast<void*>(rows.data.data);
    call.kind.strides[array] = marks.strides[array] = rows.stride;
  }
  marks.strides[arrays] = p.heads;  // log_sums

  // Of what a deterministic backward pass keeps: a number of 16 bits for each query, key and head.
  const index_t most_workspace = device.memory_bytes() / 8;
  const std::optional<index_t> bytes = library->workspace_bytes(call.kind);
  if (!bytes || *bytes > most_workspace) return false;

  const Tensor<index_t, Cuda> offsets(device, {arrays + 1, planned + 1});
  const Tensor<std::int32_t, Cuda> lengths(device, {2, planned});
  const Memory workspace = device.allocate(*bytes);
  marks.offsets = call.addresses.offsets = offsets.data();
  marks.lengths = call.addresses.lengths = lengths.data();
  device.for_rows(planned + 1, marks.arrays, marks);
  call.addresses.log_sums = const_cast<float*>(log_sums);
  call.addresses.workspace = workspace.data();
  device.call(name, call);
  return true;
}

inline bool attention_by_library(Cuda& device, const AttentionForward<Cuda>& a) {
  return attention_by_library(device, "attention by a library", a.problem, {a.q, a.k, a.v, a.out},
                              a.log_sums);
}

inline bool attention_by_library(Cuda& device, const AttentionBackward<Cuda>& a) {
  return attention_by_library(device, "attention_backward by a library", a.problem,
                              {a.q, a.k, a.v, a.out, a.dout, a.dq, a.dk, a.dv}, a.log_sums);
}

}  // namespace weft::ops::detail
