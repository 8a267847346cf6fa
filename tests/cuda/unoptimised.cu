// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
// Kernels with instructions of one architecture, compiled for another as a debugger wants it: `-G`
// keeps code that nothing reaches.
#include <weft/ops/cuda/attention_backward.cuh>
#include <weft/ops/cuda/attention_forward.cuh>
#include <weft/ops/cuda/warpgroup_products.cuh>

namespace weft::ops::detail {

template __global__ void attention_kernel<WarpgroupProducts<Bfloat16>, 64>(
    CudaHead, AnyHeadRows<const void>, AnyHeadRows<const void>, AnyHeadRows<const void>,
    AnyHeadRows<void>, float*);
template __global__ void attention_query_gradients<WarpgroupProducts<Float16>, 128>(
    CudaHead, AnyHeadRows<const void>, AnyHeadRows<const void>, AnyHeadRows<const void>,
    AnyHeadRows<const void>, const float*, float*, AnyHeadRows<const void>, AnyHeadRows<void>);
template __global__ void attention_key_gradients<WarpgroupProducts<Bfloat16>, 64>(
    CudaHead, AnyHeadRows<const void>, AnyHeadRows<const void>, AnyHeadRows<const void>,
    const float*, const float*, AnyHeadRows<const void>, AnyHeadRows<void>, AnyHeadRows<void>);

}  // namespace weft::ops::detail
