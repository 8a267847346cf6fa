// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Attention by cuDNN, for programs on NVIDIA GPUs: to be included in one of their files.
//!
//! From then on `ops::attention` and `ops::attention_backward` are cuDNN's on GPUs of the
//! architecture Hopper, where rows are in 16 bits, nothing is dropped and sequences are long enough
//! (`weft/ops/cuda/library_attention.cuh`); nothing else has to be called. Any C++ compiler takes
//! it, nvcc slowest: best a file that includes nothing else. It needs NVIDIA's cudnn-frontend,
//! which is headers alone; link with cudnn and nvrtc.
#pragma once

#include <weft/core/version.hpp>
#include <weft/device/cudnn.cuh>

namespace weft::detail {

inline const bool attention_is_cudnns = [] {
  make_attention_library = Cudnn::make;
  return true;
}();

}  // namespace weft::detail
