// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
// The kernel with the most threads a multiprocessor, for GPUs that have no room for so many.
#include <weft/cuda.cuh>
#include <weft/ops/cross_entropy.hpp>

namespace weft::detail {

template __global__ void block_a_row<CudaQuadLanes<1024, true, true>, ops::detail::CrossEntropyRow>(
    ops::detail::CrossEntropyRow);

}  // namespace weft::detail
