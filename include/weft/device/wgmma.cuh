// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Matrix products of a warpgroup, four neighbouring warps, by tensor cores of sm_90a.
//!
//! A result (64, 64) lies in registers as 16 rows a warp, each as eight pieces (16, 8) of `mma`.
//! Factors of 16 bits lie in shared memory in *blocks* of 8 rows of 64: of 1,024 bytes, at a
//! multiple of as many, where 16 bytes of a row are not at their place i but at i XOR the row's
//! number modulo 8 (what NVIDIA calls a swizzle of 128 bytes).
//!
//! Results are nobody's but the tensor cores' until they are waited for: functions that have them
//! are part of their callers, so that they stay in registers.
//!
//! Of other GPUs the functions are empty, so that kernels which stop there compile; without
//! optimisation what follows their stop is compiled too.
//!
//! **Source.** PTX ISA, NVIDIA: wgmma, its matrix descriptor, fence.proxy.async.
#pragma once

#include <cstdint>
#include <type_traits>

#include <cuda_runtime.h>

#include <weft/core/bfloat16.hpp>

namespace weft::ptx {

//! Defined as 0 it leaves `wgmma` out, as is needed where code is not optimised (`--Ofast-compile`,
//! `-Xcicc -O0`): functions are then called, and store results in memory before they are there.
#if !defined(WEFT_WGMMA)
#define WEFT_WGMMA 1
#endif

//! Whether code is compiled for GPUs that have `wgmma`: of `-gencode arch=compute_90a,code=sm_90a`,
//! and not for debuggers (`-G`).
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) && !defined(__CUDACC_DEBUG__) && WEFT_WGMMA
inline constexpr bool has_wgmma = true;
#else
inline constexpr bool has_wgmma = false;
#endif

//! A factor in shared memory.
struct WgmmaFactor {
  std::uint32_t place;    //!< what its descriptor says of where it begins
  std::uint32_t between;  //!< and of how many bytes lie between two of its blocks of 8 rows

  //! Begins there, for all lanes of a warp; `bytes_between` is a multiple of 16. (What lane 0 says
  //! is the same everywhere, as the compiler knows, and moves to uniform registers once: otherwise
  //! it moves before each product, three times.)
  __device__ WgmmaFactor(const std::uint32_t* first, int bytes_between)
      : place(__shfl_sync(~0u, (address_of(first) & 0x3ffff) >> 4 | not_used << 16, 0)),
        between(static_cast<std::uint32_t>(bytes_between) >> 4 | swizzle_of_128_bytes << 30) {}

  //! The one that begins so many bytes, a multiple of 16, later. (16 columns to the right are 32
  //! bytes, within a block, wherever they are.)
  [[nodiscard]] __device__ std::uint64_t descriptor(int bytes) const {
    return place + static_cast<std::uint32_t>(bytes >> 4) | std::uint64_t{between} << 32;
  }

 private:
  static constexpr std::uint32_t swizzle_of_128_bytes = 1, not_used = 1;

  [[nodiscard]] __device__ static std::uint32_t address_of(const std::uint32_t* word) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(word));
  }
};

//! Lets `wgmma` see what this thread has written to shared memory, once a barrier shows it.
__device__ inline void show_to_wgmma() {
  if constexpr (has_wgmma) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

//! The compiler keeps what it does with the registers before this before it, and after it after.
template <int N>
__device__ __forceinline__ void hold(float (&pieces)[N][4]) {
#pragma unroll
  for (auto& piece : pieces) {
    asm volatile("" : "+f"(piece[0]), "+f"(piece[1]), "+f"(piece[2]), "+f"(piece[3])::"memory");
  }
}
//! The same.
__device__ __forceinline__ void hold(std::uint32_t (&words)[4]) {
  asm volatile("" : "+r"(words[0]), "+r"(words[1]), "+r"(words[2]), "+r"(words[3])::"memory");
}

//! Before the first product of some: what they read and add to is there.
template <int N>
__device__ __forceinline__ void begin_wgmma(float (&results)[N][4]) {
  hold(results);
  if constexpr (has_wgmma) asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

//! After the last: waits for all.
template <int N>
__device__ __forceinline__ void end_wgmma(float (&results)[N][4]) {
  if constexpr (has_wgmma) {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  }
  hold(results);
}

//! The eight pieces of a result: operands 0 to 31 of an instruction.
#define WEFT_WGMMA_RESULT                                   \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, "          \
  "%11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, " \
  "%22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
//! Those of a piece.
#define WEFT_WGMMA_PIECE(n) "+f"(d[n][0]), "+f"(d[n][1]), "+f"(d[n][2]), "+f"(d[n][3])
//! Those of all.
#define WEFT_WGMMA_PIECES                                                             \
  WEFT_WGMMA_PIECE(0), WEFT_WGMMA_PIECE(1), WEFT_WGMMA_PIECE(2), WEFT_WGMMA_PIECE(3), \
      WEFT_WGMMA_PIECE(4), WEFT_WGMMA_PIECE(5), WEFT_WGMMA_PIECE(6), WEFT_WGMMA_PIECE(7)

//! d (64, 64) = a b', or += a b' if it `adds`, of 16 columns of factors with 64 rows each.
template <class Rounded>
__device__ __forceinline__ void wgmma_by_rows(float (&d)[8][4], std::uint64_t a, std::uint64_t b,
                                              bool adds) {
  if constexpr (!has_wgmma) {
    return;
  } else if constexpr (std::is_same_v<Rounded, Bfloat16>) {
    asm volatile(
        "{\n.reg .pred adds;\nsetp.ne.b32 adds, %34, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " WEFT_WGMMA_RESULT
        "%32, %33, adds, 1, 1, 0, 0;\n}"
        : WEFT_WGMMA_PIECES
        : "l"(a), "l"(b), "r"(static_cast<int>(adds)));
  } else {
    asm volatile(
        "{\n.reg .pred adds;\nsetp.ne.b32 adds, %34, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " WEFT_WGMMA_RESULT
        "%32, %33, adds, 1, 1, 0, 0;\n}"
        : WEFT_WGMMA_PIECES
        : "l"(a), "l"(b), "r"(static_cast<int>(adds)));
  }
}

//! d (64, 64) += a b, of 16 rows of b. a is in registers, each warp's 16 rows as `mma` has them.
template <class Rounded>
__device__ __forceinline__ void wgmma_weighted(float (&d)[8][4], const std::uint32_t (&a)[4],
                                               std::uint64_t b) {
  if constexpr (!has_wgmma) {
    return;
  } else if constexpr (std::is_same_v<Rounded, Bfloat16>) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " WEFT_WGMMA_RESULT
                 "{%32, %33, %34, %35}, %36, 1, 1, 1, 1;"
                 : WEFT_WGMMA_PIECES
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
  } else {
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " WEFT_WGMMA_RESULT
                 "{%32, %33, %34, %35}, %36, 1, 1, 1, 1;"
                 : WEFT_WGMMA_PIECES
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
  }
}

#undef WEFT_WGMMA_RESULT
#undef WEFT_WGMMA_PIECE
#undef WEFT_WGMMA_PIECES

}  // namespace weft::ptx
