// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The cuBLASLt of one device: its handle, its workspace, and the algorithms that it chose.
#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <type_traits>

#include <weft/core/any_floats.hpp>
#include <weft/core/index.hpp>
#include <weft/device/arena.hpp>
#include <weft/device/cuda_error.cuh>
#include <weft/device/product_precision.hpp>

namespace weft::detail {

inline void expect_success(cublasStatus_t status, const char* attempted,
                           Place where = Place::here()) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  expect_no_fault(attempted, where);
  throw CudaError(text(attempted, ": cuBLASLt says ", cublasLtGetStatusString(status)), where);
}

//! The largest power of two up to 16 that divides an address: no algorithm reads more at once, and
//! what lies better is multiplied by the same one.
inline std::uint32_t alignment_of(const void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer) | 16u;
  return static_cast<std::uint32_t>(address & (~address + 1));
}

//! A product of column-major matrices, as cuBLASLt sees it: D = op(A) op(B) + beta D, and a number
//! for each row of D.
struct CublasProduct {
  bool transpose_a, transpose_b;
  index_t rows, columns, inner;  // of D, and what is summed over
  index_t lda, ldb, ldd;

  friend auto operator<=>(const CublasProduct&, const CublasProduct&) = default;
  friend bool operator==(const CublasProduct&, const CublasProduct&) = default;
};

//! What a product does besides, with a vector.
enum class CublasEpilogue {
  none,
  bias,       //!< adds a number to each row of D
  bias_relu,  //!< the same, and then max(0, .)
  sums_of_b,  //!< writes the sum of each column of op(B), one for each column of D
};

//! What an algorithm is chosen by. Parameters lie without gaps: some begin at odd addresses, where
//! an algorithm that reads four floats at once would fault.
struct CublasKind {
  CublasProduct product;
  ProductPrecision precision;
  FloatType factors, result;  // what they lie as
  CublasEpilogue epilogue;
  std::uint32_t align_a, align_b, align_d;
  std::uint32_t align_vector;  // 16 without one

  friend auto operator<=>(const CublasKind&, const CublasKind&) = default;
};

//! What cuBLASLt calls a type.
inline cudaDataType_t data_type(FloatType type) {
  switch (type) {
    case FloatType::bfloat16:
      return CUDA_R_16BF;
    case FloatType::float16:
      return CUDA_R_16F;
    case FloatType::float32:
      break;
  }
  return CUDA_R_32F;
}

//! To TF32 tensor cores round float32 factors themselves, as they read them; to 16 bits factors
//! are rounded before.
inline cublasComputeType_t compute_type(const CublasKind& kind) {
  return kind.factors == FloatType::float32 && kind.precision == ProductPrecision::tf32
             ? CUBLAS_COMPUTE_32F_FAST_TF32
             : CUBLAS_COMPUTE_32F;
}

template <class Handle, auto Destroy>
struct CublasDestroy {
  void operator()(Handle handle) const { Destroy(handle); }
};
template <class Handle, auto Destroy>
using CublasOwned = std::unique_ptr<std::remove_pointer_t<Handle>, CublasDestroy<Handle, Destroy>>;

//! What cuBLASLt calls it.
inline cublasLtEpilogue_t name_of(CublasEpilogue epilogue) {
  switch (epilogue) {
    case CublasEpilogue::bias:
      return CUBLASLT_EPILOGUE_BIAS;
    case CublasEpilogue::bias_relu:
      return CUBLASLT_EPILOGUE_RELU_BIAS;
    case CublasEpilogue::sums_of_b:
      return CUBLASLT_EPILOGUE_BGRADB;
    case CublasEpilogue::none:
      break;
  }
  return CUBLASLT_EPILOGUE_DEFAULT;
}

//! The matrices of a product: `a` and `b` are of one type, `d` and the vector of another, or the
//! same.
struct CublasOperands {
  AnyFloats<const void> a, b;
  AnyFloats<void> d;
  CublasEpilogue epilogue = CublasEpilogue::none;
  AnyFloats<const void> vector{};  // a bias, or where sums are written

  friend bool operator==(const CublasOperands&, const CublasOperands&) = default;
};

//! Multiplies on one stream. An algorithm is asked for once for each kind of product.
class Cublas {
 public:
  static constexpr index_t workspace_bytes = index_t{32} << 20;  // NVIDIA's advice for Hopper

  //! Before the first product. `allocate(bytes)` gives memory of the device.
  template <class Allocate>
  void begin(const Allocate& allocate) {
    if (handle_ != nullptr) return;
    workspace_ = allocate(workspace_bytes);
    cublasLtHandle_t handle = nullptr;
    expect_success(cublasLtCreate(&handle), "starting cuBLASLt");
    handle_.reset(handle);
  }

  //! Whether there is an algorithm that does this epilogue. A vector that does not begin at a
  //! multiple of 16 bytes makes kernels for an A100 fault, as Marian found.
  [[nodiscard]] bool supports(const CublasProduct& product, ProductPrecision precision,
                              const CublasOperands& all) {
    return alignment_of(all.vector.data) >= 16 && plan_for(product, precision, all).found;
  }

  //! D = op(A) op(B), or D += .
  void multiply(const CublasProduct& product, ProductPrecision precision, const CublasOperands& all,
                bool accumulate, cudaStream_t stream) {
    Plan& plan = plan_for(product, precision, all);
    if (!plan.found) {
      throw CudaError(text("cuBLASLt has no algorithm for a product of ", product.rows, " x ",
                           product.inner, " and ", product.inner, " x ", product.columns));
    }
    if (all.vector.data != nullptr) {
      plan.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, all.vector.data);
    }
    const float one = 1.0f, beta = accumulate ? 1.0f : 0.0f;
    const cublasStatus_t status = cublasLtMatmul(
        handle_.get(), plan.operation.get(), &one, all.a.data, plan.a.get(), all.b.data,
        plan.b.get(), &beta, all.d.data, plan.d.get(), all.d.data, plan.d.get(), &plan.algorithm,
        workspace_.data(), static_cast<std::size_t>(workspace_bytes), stream);
    if (status != CUBLAS_STATUS_SUCCESS) {
      expect_success(status, text("multiplying ", product.rows, " x ", product.inner, " and ",
                                  product.inner, " x ", product.columns)
                                 .c_str());
    }
  }

 private:
  using Layout = CublasOwned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;

  struct Plan {
    CublasOwned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy> operation;
    Layout a, b, d;
    bool found = false;
    cublasLtMatmulAlgo_t algorithm{};  // if it was found

    Plan(cublasLtHandle_t handle, const CublasKind& kind) : Plan(handle, kind.product, kind) {}

    Plan(cublasLtHandle_t handle, const CublasProduct& p, const CublasKind& kind)
        : a(layout(kind.factors, p.transpose_a ? p.inner : p.rows, p.transpose_a ? p.rows : p.inner,
                   p.lda)),
          b(layout(kind.factors, p.transpose_b ? p.columns : p.inner,
                   p.transpose_b ? p.inner : p.columns, p.ldb)),
          d(layout(kind.result, p.rows, p.columns, p.ldd)) {
      cublasLtMatmulDesc_t made = nullptr;
      expect_success(cublasLtMatmulDescCreate(&made, compute_type(kind), CUDA_R_32F),
                     "describing a product");
      operation.reset(made);
      set(CUBLASLT_MATMUL_DESC_TRANSA, p.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
      set(CUBLASLT_MATMUL_DESC_TRANSB, p.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
      if (kind.epilogue != CublasEpilogue::none) {
        set(CUBLASLT_MATMUL_DESC_EPILOGUE, name_of(kind.epilogue));
        // The algorithm is chosen by how this is aligned; nothing is read there.
        set(CUBLASLT_MATMUL_DESC_BIAS_POINTER,
            reinterpret_cast<const void*>(std::uintptr_t{kind.align_vector}));
      }

      cublasLtMatmulPreference_t wishes = nullptr;
      expect_success(cublasLtMatmulPreferenceCreate(&wishes), "choosing an algorithm");
      const CublasOwned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy> owned(wishes);
      const auto wish = [&](cublasLtMatmulPreferenceAttributes_t which, const auto& value) {
        expect_success(cublasLtMatmulPreferenceSetAttribute(wishes, which, &value, sizeof value),
                       "choosing an algorithm");
      };
      wish(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::size_t>(workspace_bytes));
      // Parts of a sum that several blocks find are added as floats, also where D is in 16 bits:
      // each would be rounded, and in float16 be infinite where their sum is not.
      wish(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
           std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
      wish(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, kind.align_a);
      wish(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, kind.align_b);
      wish(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, kind.align_d);
      wish(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, kind.align_d);
      cublasLtMatmulHeuristicResult_t best{};
      int count = 0;
      const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
          handle, operation.get(), a.get(), b.get(), d.get(), d.get(), wishes, 1, &best, &count);
      // An epilogue that a version does not know for these types may be a wrong value to it.
      const bool is_refused =
          status == CUBLAS_STATUS_NOT_SUPPORTED ||
          (status == CUBLAS_STATUS_INVALID_VALUE && kind.epilogue != CublasEpilogue::none);
      if (!is_refused) expect_success(status, "choosing an algorithm");
      found = !is_refused && count > 0 && best.state == CUBLAS_STATUS_SUCCESS;
      if (found) algorithm = best.algo;
    }

    static Layout layout(FloatType type, index_t rows, index_t columns, index_t leading) {
      cublasLtMatrixLayout_t made = nullptr;
      expect_success(
          cublasLtMatrixLayoutCreate(&made, data_type(type), static_cast<std::uint64_t>(rows),
                                     static_cast<std::uint64_t>(columns), leading),
          "describing a matrix");
      return Layout(made);
    }

    template <class Value>
    void set(cublasLtMatmulDescAttributes_t which, const Value& value) {
      expect_success(cublasLtMatmulDescSetAttribute(operation.get(), which, &value, sizeof value),
                     "describing a product");
    }
  };

  Plan& plan_for(const CublasProduct& product, ProductPrecision precision,
                 const CublasOperands& all) {
    const CublasKind kind{product,
                          precision,
                          all.a.type,
                          all.d.type,
                          all.epilogue,
                          alignment_of(all.a.data),
                          alignment_of(all.b.data),
                          alignment_of(all.d.data),
                          alignment_of(all.vector.data)};
    const auto found = plans_.find(kind);
    if (found != plans_.end()) return *found->second;
    // Batches of words have ever new numbers of rows. What is asked for again is chosen alike.
    constexpr std::size_t most_plans = 4096;
    if (plans_.size() >= most_plans) plans_.clear();
    return *plans_.emplace(kind, std::make_unique<Plan>(handle_.get(), kind)).first->second;
  }

  CublasOwned<cublasLtHandle_t, cublasLtDestroy> handle_;
  Memory workspace_;
  std::map<CublasKind, std::unique_ptr<Plan>> plans_;
};

//! A product that is to be queued.
struct CublasCall {
  Cublas* cublas;
  CublasProduct product;
  ProductPrecision precision;
  CublasOperands operands;
  bool accumulate;

  [[nodiscard]] cudaError_t operator()(cudaStream_t stream) const {
    cublas->multiply(product, precision, operands, accumulate, stream);
    return cudaSuccess;
  }
  friend bool operator==(const CublasCall&, const CublasCall&) = default;
};

}  // namespace weft::detail
