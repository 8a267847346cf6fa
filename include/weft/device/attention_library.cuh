// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What a library of NVIDIA's is asked for that computes attention on a GPU in weft's place.
//!
//! A program links one by including `weft/cudnn.cuh` in one of its files; the others know this
//! interface alone, and compile as fast as without it.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <cuda_runtime_api.h>

#include <weft/core/any_floats.hpp>
#include <weft/core/index.hpp>

namespace weft::detail {

//! The arrays of rows of an attention, in this order: a forward pass has the first four.
enum RowsOfAttention : std::size_t { of_q, of_k, of_v, of_out, of_dout, of_dq, of_dk, of_dv };
inline constexpr index_t forward_arrays = 4, backward_arrays = 8;

//! What a plan is made for: all that the library has to know but the addresses, and the lengths of
//! the sequences, which it reads on the GPU.
struct AttentionKind {
  bool backward;
  bool causal;
  bool deterministic;  // a forward pass is in any case
  FloatType type;      // of all rows
  float scale;         // of the scores
  index_t heads, head_size;
  index_t sequences;                             // at most; the rest are empty
  index_t longest_query, longest_key;            // at most, in rows
  std::array<index_t, backward_arrays> strides;  // elements from row to row

  friend auto operator<=>(const AttentionKind&, const AttentionKind&) = default;
  friend bool operator==(const AttentionKind&, const AttentionKind&) = default;

  //! Of how many arrays the strides are.
  [[nodiscard]] index_t arrays() const { return backward ? backward_arrays : forward_arrays; }
};

//! Where an attention's numbers lie, all on the GPU.
struct AttentionAddresses {
  std::array<void*, backward_arrays> rows;  // those of an input are only read
  float* log_sums;                          // (N, heads): a backward pass only reads it
  //! Where each sequence begins in an array, in elements, and where the last ends: (arrays + 1,
  //! sequences + 1), the last of log_sums.
  index_t* offsets;
  std::int32_t* lengths;  // in rows, of queries, then of keys: (2, sequences)
  void* workspace;

  friend bool operator==(const AttentionAddresses&, const AttentionAddresses&) = default;
};

//! Attention by a library, on the GPU that was the calling thread's when it was made.
class AttentionLibrary {
 public:
  AttentionLibrary() = default;
  AttentionLibrary(const AttentionLibrary&) = delete;
  AttentionLibrary& operator=(const AttentionLibrary&) = delete;
  virtual ~AttentionLibrary() = default;

  //! How many bytes of workspace it needs; nothing if it cannot compute this, with the same bits
  //! each time where it is to be deterministic. It makes a plan for a kind that was not asked for
  //! before.
  [[nodiscard]] virtual std::optional<index_t> workspace_bytes(const AttentionKind& kind) = 0;

  //! Launches a kind whose workspace was asked for.
  //!
  //! **Errors.** CudaError with what the library says.
  virtual void launch(const AttentionKind& kind, const AttentionAddresses& addresses,
                      cudaStream_t stream) = 0;
};

//! Makes the program's library, or nothing where the GPU or the library is too old; null in a
//! program without one.
inline std::unique_ptr<AttentionLibrary> (*make_attention_library)() = nullptr;

//! An attention that is to be queued.
struct AttentionCall {
  AttentionLibrary* library;
  AttentionKind kind;
  AttentionAddresses addresses;

  [[nodiscard]] cudaError_t operator()(cudaStream_t stream) const {
    library->launch(kind, addresses, stream);
    return cudaSuccess;
  }
  friend bool operator==(const AttentionCall&, const AttentionCall&) = default;
};

}  // namespace weft::detail
