// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
// Code for a GPU in a program whose host has AVX-512.
#include <weft/device/lanes.hpp>

template <class T>
__global__ void read_and_write(const T* from, T* to) {
  weft::simd::store(to, threadIdx.x, weft::simd::load(from, threadIdx.x));
}
template __global__ void read_and_write(const weft::Float16*, weft::Float16*);
