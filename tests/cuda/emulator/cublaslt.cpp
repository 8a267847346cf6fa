// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file As much of cuBLASLt as weft calls, for the emulator: linked in place of libcublasLt.
#include <cublasLt.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "fault.hpp"
#include "memory.hpp"
#include "products.hpp"
#include "queue.hpp"
#include "statements.hpp"

namespace {

emulator::Layout& of(cublasLtMatrixLayout_t layout) {
  return *reinterpret_cast<emulator::Layout*>(layout);
}
emulator::Product& of(cublasLtMatmulDesc_t product) {
  return *reinterpret_cast<emulator::Product*>(product);
}

std::size_t bytes_of(const emulator::Layout& layout) { return layout.type == CUDA_R_32F ? 4 : 2; }

//! Calls `f(first, bytes)` for each column of a matrix, which has no gaps.
template <class F>
void for_columns(const emulator::Layout& layout, const void* first, const F& f) {
  for (std::uint64_t c = 0; c < layout.columns; ++c) {
    const std::uint64_t begin = c * static_cast<std::uint64_t>(layout.leading) * bytes_of(layout);
    f(static_cast<const std::byte*>(first) + begin, layout.rows * bytes_of(layout));
  }
}

}  // namespace

extern "C" {

const char* cublasLtGetStatusString(cublasStatus_t) { return "refused by the emulated GPU"; }
cublasStatus_t cublasLtCreate(cublasLtHandle_t* made) {
  if (emulator::has_faulted()) return CUBLAS_STATUS_NOT_INITIALIZED;
  *made = reinterpret_cast<cublasLtHandle_t>(new char);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t made) {
  delete reinterpret_cast<char*>(made);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* made, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t leading) {
  *made =
      reinterpret_cast<cublasLtMatrixLayout_t>(new emulator::Layout{type, rows, columns, leading});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t made) {
  delete &of(made);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* made, cublasComputeType_t compute,
                                        cudaDataType_t) {
  *made = reinterpret_cast<cublasLtMatmulDesc_t>(new emulator::Product{compute});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t made) {
  delete &of(made);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t product,
                                              cublasLtMatmulDescAttributes_t which,
                                              const void* value, size_t bytes) {
  return emulator::set(of(product), which, value, bytes) ? CUBLAS_STATUS_SUCCESS
                                                         : CUBLAS_STATUS_INVALID_VALUE;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* made) {
  *made = reinterpret_cast<cublasLtMatmulPreference_t>(new char);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t made) {
  delete reinterpret_cast<char*>(made);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t,
                                                    cublasLtMatmulPreferenceAttributes_t,
                                                    const void*, size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t product,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t, int,
                                              cublasLtMatmulHeuristicResult_t* results,
                                              int* found) {
  static const bool has_epilogues = std::getenv("EMULATED_PLAIN_PRODUCTS") == nullptr;
  if (!has_epilogues && of(product).epilogue != CUBLASLT_EPILOGUE_DEFAULT)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (!emulator::choose_algorithm(of(product))) return CUBLAS_STATUS_INVALID_VALUE;
  results[0] = {};
  results[0].state = CUBLAS_STATUS_SUCCESS;
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t product, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t of_a, const void* b,
                              cublasLtMatrixLayout_t of_b, const void* beta, const void*,
                              cublasLtMatrixLayout_t, void* d, cublasLtMatrixLayout_t of_d,
                              const cublasLtMatmulAlgo_t*, void*, size_t, cudaStream_t stream) {
  if (emulator::has_faulted()) return CUBLAS_STATUS_EXECUTION_FAILED;
  if (!emulator::fits(of(product), of(of_a), of(of_b), of(of_d)))
    return CUBLAS_STATUS_INVALID_VALUE;
  emulator::queue(
      *stream, [product = of(product), scale = *static_cast<const float*>(alpha), a,
                left = of(of_a), b, right = of(of_b), old = *static_cast<const float*>(beta), d,
                result = of(of_d), gpu = stream->gpu()] {
        auto& memory = emulator::Memory::of_all();
        if (memory.gpu_of(d) != gpu) emulator::end("emulated GPU: a product for another GPU");
        if (product.epilogue == CUBLASLT_EPILOGUE_BIAS ||
            product.epilogue == CUBLASLT_EPILOGUE_RELU_BIAS) {
          memory.expect_written(product.bias, result.rows * bytes_of(result), gpu);
        }
        for_columns(left, a, [&](const void* column, std::size_t bytes) {
          memory.expect_written(column, bytes, gpu);
        });
        for_columns(right, b, [&](const void* column, std::size_t bytes) {
          memory.expect_written(column, bytes, gpu);
        });
        for_columns(result, d, [&](const void* column, std::size_t bytes) {
          if (old != 0.0f) {
            memory.expect_written(column, bytes, gpu);
          } else {
            memory.expect_room(column, bytes);
          }
        });
        emulator::multiply(product, scale, a, left, b, right, old, d, result);
        for_columns(result, d,
                    [&](const void* column, std::size_t bytes) { memory.written(column, bytes); });
        if (product.epilogue == CUBLASLT_EPILOGUE_BGRADB)
          memory.written(product.bias, result.columns * bytes_of(result));
      });
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
