// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file As much of cuBLASLt as weft uses, by a processor.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include <cuda_runtime.h>

#include <weft/core/bfloat16.hpp>
#include <weft/core/float16.hpp>

enum cublasStatus_t {
  CUBLAS_STATUS_SUCCESS,
  CUBLAS_STATUS_INVALID_VALUE,
  CUBLAS_STATUS_NOT_SUPPORTED
};
enum cublasComputeType_t {
  CUBLAS_COMPUTE_32F,
  CUBLAS_COMPUTE_32F_FAST_TF32,
  CUBLAS_COMPUTE_32F_FAST_16BF,
  CUBLAS_COMPUTE_32F_FAST_16F
};
enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T };
enum cudaDataType_t { CUDA_R_32F, CUDA_R_16BF, CUDA_R_16F };
enum cublasLtMatmulDescAttributes_t {
  CUBLASLT_MATMUL_DESC_TRANSA,
  CUBLASLT_MATMUL_DESC_TRANSB,
  CUBLASLT_MATMUL_DESC_EPILOGUE,
  CUBLASLT_MATMUL_DESC_BIAS_POINTER,
};
enum cublasLtEpilogue_t {
  CUBLASLT_EPILOGUE_DEFAULT = 1,
  CUBLASLT_EPILOGUE_BIAS = 4,
  CUBLASLT_EPILOGUE_RELU_BIAS = 6,
  CUBLASLT_EPILOGUE_BGRADB = 512
};
enum cublasLtMatmulPreferenceAttributes_t {
  CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES,
};

struct SimulatedLayout {
  cudaDataType_t type;
  std::uint64_t rows, columns;
  std::int64_t leading;
};
struct SimulatedProduct {
  cublasComputeType_t compute;
  bool transposed[2] = {false, false};
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;         // of the type of the result
  std::uintptr_t bias_alignment = 0;  // that an algorithm was chosen for
};
struct SimulatedHandle {};
struct SimulatedPreference {};
using cublasLtHandle_t = SimulatedHandle*;
using cublasLtMatrixLayout_t = SimulatedLayout*;
using cublasLtMatmulDesc_t = SimulatedProduct*;
using cublasLtMatmulPreference_t = SimulatedPreference*;
struct cublasLtMatmulAlgo_t {};
struct cublasLtMatmulHeuristicResult_t {
  cublasLtMatmulAlgo_t algo;
  cublasStatus_t state = CUBLAS_STATUS_SUCCESS;
};

inline const char* cublasLtGetStatusString(cublasStatus_t) {
  return "refused by the simulated GPU";
}

template <class T, class... Values>
cublasStatus_t simulated_create(T** made, Values... values) {
  *made = new T{values...};
  return CUBLAS_STATUS_SUCCESS;
}
template <class T>
cublasStatus_t simulated_destroy(T* made) {
  delete made;
  return CUBLAS_STATUS_SUCCESS;
}

inline cublasStatus_t cublasLtCreate(cublasLtHandle_t* made) { return simulated_create(made); }
inline cublasStatus_t cublasLtDestroy(cublasLtHandle_t made) { return simulated_destroy(made); }
inline cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* made, cudaDataType_t type,
                                                 std::uint64_t rows, std::uint64_t columns,
                                                 std::int64_t leading) {
  return simulated_create(made, type, rows, columns, leading);
}
inline cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t made) {
  return simulated_destroy(made);
}
inline cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* made,
                                               cublasComputeType_t compute, cudaDataType_t) {
  return simulated_create(made, compute);
}
inline cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t made) {
  return simulated_destroy(made);
}
inline cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t product,
                                                     cublasLtMatmulDescAttributes_t which,
                                                     const void* value, std::size_t bytes) {
  if (which == CUBLASLT_MATMUL_DESC_EPILOGUE) {
    std::memcpy(&product->epilogue, value, bytes);
  } else if (which == CUBLASLT_MATMUL_DESC_BIAS_POINTER) {
    std::memcpy(&product->bias, value, bytes);
  } else {
    cublasOperation_t operation{};
    std::memcpy(&operation, value, bytes);
    product->transposed[which == CUBLASLT_MATMUL_DESC_TRANSA ? 0 : 1] = operation == CUBLAS_OP_T;
  }
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* made) {
  return simulated_create(made);
}
inline cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t made) {
  return simulated_destroy(made);
}
inline cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t,
                                                           cublasLtMatmulPreferenceAttributes_t,
                                                           const void*, std::size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t product,
                                                     cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                                     cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                                     cublasLtMatmulPreference_t, int,
                                                     cublasLtMatmulHeuristicResult_t*, int* found) {
  if (product->epilogue != CUBLASLT_EPILOGUE_DEFAULT && product->bias == nullptr) {
    return CUBLAS_STATUS_INVALID_VALUE;  // a GPU's library takes null for well aligned
  }
  const auto address = reinterpret_cast<std::uintptr_t>(product->bias);
  product->bias_alignment = address & (~address + 1);
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}

//! Calls `f(first)`, where `first` points to numbers of this type.
template <class F>
void simulated_numbers(cudaDataType_t type, const void* numbers, const F& f) {
  if (type == CUDA_R_16BF) return f(static_cast<const weft::Bfloat16*>(numbers));
  if (type == CUDA_R_16F) return f(static_cast<const weft::Float16*>(numbers));
  f(static_cast<const float*>(numbers));
}

//! A factor (rows, inner) as floats, row by row, with the bits that a product of this kind reads.
inline std::vector<float> simulated_factor(const SimulatedLayout& layout, const void* elements,
                                           bool transposed, cublasComputeType_t compute) {
  const std::uint64_t rows = transposed ? layout.columns : layout.rows;
  const std::uint64_t columns = transposed ? layout.rows : layout.columns;
  const auto kept = [compute](float x) {
    const std::uint32_t bits = __float_as_uint(x);
    if (compute == CUBLAS_COMPUTE_32F_FAST_TF32)
      return __uint_as_float((bits + 0x1000u) & ~0x1fffu);
    if (compute == CUBLAS_COMPUTE_32F_FAST_16BF) {
      return __uint_as_float((bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u);
    }
    if (compute == CUBLAS_COMPUTE_32F_FAST_16F) return static_cast<float>(weft::Float16(x));
    return x;
  };
  std::vector<float> values(rows * columns);
  simulated_numbers(layout.type, elements, [&](const auto* numbers) {
    for (std::uint64_t r = 0; r < rows; ++r) {
      for (std::uint64_t c = 0; c < columns; ++c) {
        const std::uint64_t row = transposed ? c : r, column = transposed ? r : c;
        const std::uint64_t at = column * static_cast<std::uint64_t>(layout.leading) + row;
        const auto number = static_cast<float>(numbers[at]);
        values[r * columns + c] = layout.type == CUDA_R_32F ? kept(number) : number;
      }
    }
  });
  return values;
}

inline void simulated_multiply(const SimulatedProduct& product, float alpha, const void* a,
                               const SimulatedLayout& of_a, const void* b,
                               const SimulatedLayout& of_b, float beta, void* results,
                               const SimulatedLayout& of_d) {
  const auto left = simulated_factor(of_a, a, product.transposed[0], product.compute);
  const auto right = simulated_factor(of_b, b, product.transposed[1], product.compute);
  const std::uint64_t rows = of_d.rows, columns = of_d.columns, inner = left.size() / rows;
  std::vector<float> sums(columns);
  simulated_numbers(of_d.type, results, [&]<class T>(const T* first) {
    T* const d = const_cast<T*>(first);
    const T* const bias = static_cast<const T*>(product.bias);
    for (std::uint64_t r = 0; r < rows; ++r) {
      std::fill(sums.begin(), sums.end(), 0.0f);
      for (std::uint64_t k = 0; k < inner; ++k) {
        const float factor = left[r * inner + k];
        for (std::uint64_t c = 0; c < columns; ++c) sums[c] += factor * right[k * columns + c];
      }
      for (std::uint64_t c = 0; c < columns; ++c) {
        T& out = d[c * static_cast<std::uint64_t>(of_d.leading) + r];
        float sum = alpha * sums[c] + (beta == 0.0f ? 0.0f : beta * static_cast<float>(out));
        if (product.epilogue == CUBLASLT_EPILOGUE_BIAS ||
            product.epilogue == CUBLASLT_EPILOGUE_RELU_BIAS) {
          sum += static_cast<float>(bias[r]);
        }
        // What is no number may become 0.
        if (product.epilogue == CUBLASLT_EPILOGUE_RELU_BIAS) sum = sum > 0.0f ? sum : 0.0f;
        out = T(sum);
      }
    }
    if (product.epilogue != CUBLASLT_EPILOGUE_BGRADB) return;
    for (std::uint64_t c = 0; c < columns; ++c) {
      float sum = 0.0f;
      for (std::uint64_t k = 0; k < inner; ++k) sum += right[k * columns + c];
      const_cast<T*>(bias)[c] = T(sum);
    }
  });
}

inline cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t product,
                                     const void* alpha, const void* a, cublasLtMatrixLayout_t of_a,
                                     const void* b, cublasLtMatrixLayout_t of_b, const void* beta,
                                     const void*, cublasLtMatrixLayout_t, void* d,
                                     cublasLtMatrixLayout_t of_d, const cublasLtMatmulAlgo_t*,
                                     void*, std::size_t, cudaStream_t stream) {
  const auto extents = [](const SimulatedLayout& layout, bool transposed) {
    return transposed ? std::pair(layout.columns, layout.rows)
                      : std::pair(layout.rows, layout.columns);
  };
  const auto [rows, inner] = extents(*of_a, product->transposed[0]);
  const auto [terms, columns] = extents(*of_b, product->transposed[1]);
  if (rows != of_d->rows || columns != of_d->columns || inner != terms ||
      of_a->type != of_b->type || (of_d->type != CUDA_R_32F && of_d->type != of_a->type) ||
      (product->epilogue != CUBLASLT_EPILOGUE_DEFAULT &&
       reinterpret_cast<std::uintptr_t>(product->bias) %
               std::max(product->bias_alignment, std::uintptr_t{16}) !=
           0)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  simulator::queue(
      *stream, [product = *product, scale = *static_cast<const float*>(alpha), a, of_a = *of_a, b,
                of_b = *of_b, old = *static_cast<const float*>(beta), d, of_d = *of_d] {
        simulated_multiply(product, scale, a, of_a, b, of_b, old, d, of_d);
      });
  return CUBLAS_STATUS_SUCCESS;
}
