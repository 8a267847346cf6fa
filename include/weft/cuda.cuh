// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file `weft/weft.hpp`, and NVIDIA GPUs: what a source that nvcc compiles includes.
//!
//! A model or strategy runs on GPUs where it names `Cuda` in place of `Cpu`. Link with cublasLt.
#pragma once

#include <weft/core/version.hpp>
#include <weft/device/cuda.cuh>
#include <weft/generate/cuda/best_words.cuh>
#include <weft/nvtx.cuh>
#include <weft/ops/cuda/attention.cuh>
#include <weft/ops/cuda/column_sums.cuh>
#include <weft/ops/cuda/embedding.cuh>
#include <weft/ops/cuda/matmul.cuh>
#include <weft/weft.hpp>
