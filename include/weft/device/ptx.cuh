// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Instructions of a GPU as PTX has them: products of a warp, copies past the registers, and
//! roundings of pairs.
//!
//! In what follows a lane has the number 4 g + t of its warp. A *pair* is two numbers of 16 bits in
//! a word, the first in its lower half.
//!
//! **Source.** PTX ISA, NVIDIA: mma, ldmatrix, cp.async, cvt, ex2. All are of sm_80 and newer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <cuda_runtime.h>

#include <weft/core/bfloat16.hpp>
#include <weft/core/float16.hpp>

namespace weft::ptx {

//! The block's shared memory of the size that its launch gave; begins at a multiple of 1,024 bytes,
//! as `wgmma` wants it.
__device__ inline std::uint32_t* launched_memory() {
  extern __shared__ __align__(1024) uint4 memory[];
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  // It does, but no document promises it, and a factor of `wgmma` elsewhere gives other numbers.
  auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(memory));
  asm("" : "+r"(address));  // to the compiler what was asked for is what is there
  if (address % 1024 != 0) __trap();
#endif
  return reinterpret_cast<std::uint32_t*>(memory);
}

//! Two floats as a pair of Bfloat16 or Float16, rounded to the nearest, ties to even.
template <class Rounded>
__device__ std::uint32_t rounded_pair(float first, float second) {
  std::uint32_t pair;
  if constexpr (std::is_same_v<Rounded, Bfloat16>) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  } else {
    static_assert(std::is_same_v<Rounded, Float16>);
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  }
  return pair;
}

//! A float with 10 bits of fraction, rounded to the nearest, ties away from zero.
__device__ inline std::uint32_t tf32(float x) {
  std::uint32_t word;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(word) : "f"(x));
  return word;
}

//! 2 to the power of x, off by 2^-22 of itself at most; 0 where that is below 2^-126. `exp2f` takes
//! four instructions, to give numbers below that too.
__device__ inline float exp2(float x) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
}

//! Writes four words to the GPU's memory, at a multiple of 16 bytes, by one instruction: nvcc makes
//! four of a `float4` whose numbers were just found.
__device__ inline void store_four(float* to, float a, float b, float c, float d) {
  asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};"
               :
               : "l"(__cvta_generic_to_global(to)), "f"(a), "f"(b), "f"(c), "f"(d)
               : "memory");
}

//! d (16, 8) += a (16, 16) b (16, 8) of Bfloat16 or Float16.
//!
//! **Layout.** d: rows g, g, g + 8, g + 8 at columns 2 t, 2 t + 1, 2 t, 2 t + 1. a: pairs at (g, 2
//! t), (g + 8, 2 t), (g, 2 t + 8), (g + 8, 2 t + 8). b: pairs of rows 2 t and 2 t + 8, column g.
template <class Rounded>
__device__ void multiply(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                         std::uint32_t b1) {
  if constexpr (std::is_same_v<Rounded, Bfloat16>) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    static_assert(std::is_same_v<Rounded, Float16>);
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
}

//! d (16, 8) += a (16, 8) b (8, 8) of floats as `tf32` gives them.
//!
//! **Layout.** d: as above. a: (g, t), (g + 8, t), (g, t + 4), (g + 8, t + 4). b: (t, g), (t + 4,
//! g).
__device__ inline void multiply_tf32(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                     std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

//! Begins to copy 16 bytes into shared memory, past the registers: zeros unless `is_there`. Both
//! are at multiples of 16 bytes.
__device__ inline void copy_async(std::uint32_t* to, const void* from, bool is_there) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :
               : "r"(address), "l"(from), "r"(is_there ? 16 : 0)
               : "memory");
}

//! Waits until all that this thread has begun to copy is there; a barrier shows it to the block.
__device__ inline void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

//! Four matrices of 8 rows of 4 words: word i of a lane is word t in row g of matrix i.
//!
//! **Layout.** Lane 8 i + r gives where row r of matrix i lies in shared memory, at a multiple of
//! 16 bytes.
__device__ inline void load_matrices(std::uint32_t (&words)[4], const std::uint32_t* row) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(address)
               : "memory");
}

//! Four matrices of 8 x 8 numbers of 16 bits, transposed: word i of a lane is the pair of rows 2 t
//! and 2 t + 1 of matrix i, column g.
//!
//! **Layout.** Lane 8 i + r gives where row r of matrix i lies in shared memory, at a multiple of
//! 16 bytes.
__device__ inline void load_transposed(std::uint32_t (&words)[4], const std::uint32_t* row) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(address)
               : "memory");
}

}  // namespace weft::ptx
