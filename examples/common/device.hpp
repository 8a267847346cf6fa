// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The device that the programs are compiled for: GPUs by nvcc, processors by others.
#pragma once

#ifdef __CUDACC__
#include <weft/cuda.cuh>

namespace examples {
using Device = weft::Cuda;
}
#else
#include <weft/device/cpu.hpp>

namespace examples {
using Device = weft::Cpu;
}
#endif
