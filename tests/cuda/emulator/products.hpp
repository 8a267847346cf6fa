// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Products as cuBLASLt is told of them, by a processor.
#pragma once

#include <cublasLt.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include <weft/core/bfloat16.hpp>
#include <weft/core/float16.hpp>

namespace emulator {

struct Layout {
  cudaDataType_t type;
  std::uint64_t rows, columns;
  std::int64_t leading;
};
struct Product {
  cublasComputeType_t compute;
  bool transposed[2] = {false, false};
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;         // of the type of the result
  std::uintptr_t bias_alignment = 0;  // that an algorithm was chosen for
};

//! Sets what a product is told. False: it is not known.
inline bool set(Product& product, cublasLtMatmulDescAttributes_t which, const void* value,
                std::size_t bytes) {
  if (which == CUBLASLT_MATMUL_DESC_EPILOGUE) {
    std::memcpy(&product.epilogue, value, bytes);
  } else if (which == CUBLASLT_MATMUL_DESC_BIAS_POINTER) {
    std::memcpy(&product.bias, value, bytes);
  } else if (which == CUBLASLT_MATMUL_DESC_TRANSA || which == CUBLASLT_MATMUL_DESC_TRANSB) {
    cublasOperation_t operation{};
    std::memcpy(&operation, value, bytes);
    product.transposed[which == CUBLASLT_MATMUL_DESC_TRANSA ? 0 : 1] = operation == CUBLAS_OP_T;
  } else {
    return false;
  }
  return true;
}

//! Whether there is an algorithm, which is for biases that lie as this one does.
inline bool choose_algorithm(Product& product) {
  // A GPU's library takes null for well aligned.
  if (product.epilogue != CUBLASLT_EPILOGUE_DEFAULT && product.bias == nullptr) return false;
  const auto address = reinterpret_cast<std::uintptr_t>(product.bias);
  product.bias_alignment = address & (~address + 1);
  return true;
}

//! Whether matrices of these sizes and types can be multiplied so.
inline bool fits(const Product& product, const Layout& a, const Layout& b, const Layout& d) {
  const auto extents = [](const Layout& layout, bool transposed) {
    return transposed ? std::pair(layout.columns, layout.rows)
                      : std::pair(layout.rows, layout.columns);
  };
  const auto [rows, inner] = extents(a, product.transposed[0]);
  const auto [terms, columns] = extents(b, product.transposed[1]);
  return rows == d.rows && columns == d.columns && inner == terms && a.type == b.type &&
         (d.type == CUDA_R_32F || d.type == a.type) &&
         (product.epilogue == CUBLASLT_EPILOGUE_DEFAULT ||
          reinterpret_cast<std::uintptr_t>(product.bias) %
                  std::max(product.bias_alignment, std::uintptr_t{16}) ==
              0);
}

//! Calls `f(first)`, where `first` points to numbers of this type.
template <class F>
void numbers(cudaDataType_t type, const void* numbers, const F& f) {
  if (type == CUDA_R_16BF) return f(static_cast<const weft::Bfloat16*>(numbers));
  if (type == CUDA_R_16F) return f(static_cast<const weft::Float16*>(numbers));
  f(static_cast<const float*>(numbers));
}

//! A factor (rows, inner) as floats, row by row, with the bits that a product of this kind reads.
inline std::vector<float> factor(const Layout& layout, const void* elements, bool transposed,
                                 cublasComputeType_t compute) {
  const std::uint64_t rows = transposed ? layout.columns : layout.rows;
  const std::uint64_t columns = transposed ? layout.rows : layout.columns;
  const auto kept = [compute](float x) {
    if (compute != CUBLAS_COMPUTE_32F_FAST_TF32) return x;
    return std::bit_cast<float>((std::bit_cast<std::uint32_t>(x) + 0x1000u) & ~0x1fffu);
  };
  std::vector<float> values(rows * columns);
  numbers(layout.type, elements, [&](const auto* numbers) {
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

inline void multiply(const Product& product, float alpha, const void* a, const Layout& of_a,
                     const void* b, const Layout& of_b, float beta, void* results,
                     const Layout& of_d) {
  const auto left = factor(of_a, a, product.transposed[0], product.compute);
  const auto right = factor(of_b, b, product.transposed[1], product.compute);
  const std::uint64_t rows = of_d.rows, columns = of_d.columns, inner = left.size() / rows;
  // A GPU's library may choose another algorithm, with another order, for what lies elsewhere.
  const auto lies_well = [](const void* matrix) {
    return reinterpret_cast<std::uintptr_t>(matrix) % 16 == 0;
  };
  const bool forwards = lies_well(a) && lies_well(b) && lies_well(results);
  std::vector<float> sums(columns);
  numbers(of_d.type, results, [&]<class T>(const T* first) {
    T* const d = const_cast<T*>(first);
    const T* const bias = static_cast<const T*>(product.bias);
    for (std::uint64_t r = 0; r < rows; ++r) {
      std::fill(sums.begin(), sums.end(), 0.0f);
      for (std::uint64_t term = 0; term < inner; ++term) {
        const std::uint64_t k = forwards ? term : inner - 1 - term;
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

}  // namespace emulator
