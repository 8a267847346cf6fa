// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Parts of products of Bfloat16 factors, by oneDNN on processors that multiply them.
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <memory>
#include <type_traits>

#include <weft/core/bfloat16.hpp>
#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/device/hold_signals.hpp>
#include <weft/ops/cpu/product.hpp>

#if WEFT_ONEDNN
#include <dnnl.h>

#include <weft/ops/cpu/one_openmp_thread.hpp>

namespace weft::ops::detail {

template <class Handle, auto Destroy>
struct DnnlDestroy {
  void operator()(Handle handle) const { Destroy(handle); }
};
template <class Handle, auto Destroy>
using DnnlOwned = std::unique_ptr<std::remove_pointer_t<Handle>, DnnlDestroy<Handle, Destroy>>;

inline void expect_success(dnnl_status_t status, const char* attempted) {
  if (status == dnnl_success) return;
  throw Error(
      text("matmul: oneDNN failed at ", attempted, " with status ", static_cast<int>(status)));
}

//! The processor as oneDNN sees it, and a queue of work for each thread.
struct DnnlProcessor {
  DnnlOwned<dnnl_engine_t, dnnl_engine_destroy> engine;

  static dnnl_engine_t get() {
    static const DnnlProcessor processor;
    return processor.engine.get();
  }

  static dnnl_stream_t stream() {
    thread_local const auto owned = [] {
      dnnl_stream_t made = nullptr;
      expect_success(dnnl_stream_create(&made, get(), dnnl_stream_default_flags), "a stream");
      return DnnlOwned<dnnl_stream_t, dnnl_stream_destroy>(made);
    }();
    return owned.get();
  }

 private:
  DnnlProcessor() {
    dnnl_engine_t made = nullptr;
    expect_success(dnnl_engine_create(&made, dnnl_cpu, 0), "an engine");
    engine.reset(made);
  }
};

//! A matrix (rows, columns) in memory, of which elements lie `row` and `column` apart.
class DnnlMatrix {
 public:
  DnnlMatrix(index_t rows, index_t columns, dnnl_data_type_t type, index_t row, index_t column) {
    const dnnl_dims_t sizes = {rows, columns}, strides = {row, column};
#if DNNL_VERSION_MAJOR >= 3
    dnnl_memory_desc_t made = nullptr;
    expect_success(dnnl_memory_desc_create_with_strides(&made, 2, sizes, type, strides),
                   "a matrix");
    description_.reset(made);
#else
    expect_success(dnnl_memory_desc_init_by_strides(&description_, 2, sizes, type, strides),
                   "a matrix");
#endif
  }

#if DNNL_VERSION_MAJOR >= 3
  [[nodiscard]] const_dnnl_memory_desc_t description() const { return description_.get(); }
#else
  [[nodiscard]] const dnnl_memory_desc_t* description() const { return &description_; }
#endif

  //! Its elements.
  [[nodiscard]] DnnlOwned<dnnl_memory_t, dnnl_memory_destroy> at(const void* elements) const {
    dnnl_memory_t made = nullptr;
    expect_success(
        dnnl_memory_create(&made, description(), DnnlProcessor::get(), const_cast<void*>(elements)),
        "a matrix");
    return DnnlOwned<dnnl_memory_t, dnnl_memory_destroy>(made);
  }

 private:
#if DNNL_VERSION_MAJOR >= 3
  DnnlOwned<dnnl_memory_desc_t, dnnl_memory_desc_destroy> description_;
#else
  dnnl_memory_desc_t description_{};
#endif
};

using DnnlKernel = DnnlOwned<dnnl_primitive_t, dnnl_primitive_destroy>;

//! A kernel for c = a b, or c += a b; null if this processor has none.
inline DnnlKernel make_product_kernel(const DnnlMatrix& a, const DnnlMatrix& b, const DnnlMatrix& c,
                                      bool accumulate) {
  dnnl_primitive_attr_t made_attributes = nullptr;
  expect_success(dnnl_primitive_attr_create(&made_attributes), "attributes");
  const DnnlOwned<dnnl_primitive_attr_t, dnnl_primitive_attr_destroy> attributes(made_attributes);
  if (accumulate) {
    dnnl_post_ops_t made = nullptr;
    expect_success(dnnl_post_ops_create(&made), "a sum");
    const DnnlOwned<dnnl_post_ops_t, dnnl_post_ops_destroy> sum(made);
#if DNNL_VERSION_MAJOR >= 3
    expect_success(dnnl_post_ops_append_sum(made, 1.0f, 0, dnnl_f32), "a sum");
#else
    expect_success(dnnl_post_ops_append_sum(made, 1.0f), "a sum");
#endif
    expect_success(dnnl_primitive_attr_set_post_ops(attributes.get(), made), "a sum");
  }
  dnnl_primitive_desc_t made_plan = nullptr;
#if DNNL_VERSION_MAJOR >= 3
  const dnnl_status_t status = dnnl_matmul_primitive_desc_create(
      &made_plan, DnnlProcessor::get(), a.description(), b.description(), nullptr, c.description(),
      attributes.get());
#else
  dnnl_matmul_desc_t product{};
  expect_success(
      dnnl_matmul_desc_init(&product, a.description(), b.description(), nullptr, c.description()),
      "a product");
  const dnnl_status_t status = dnnl_primitive_desc_create(&made_plan, &product, attributes.get(),
                                                          DnnlProcessor::get(), nullptr);
#endif
  if (status == dnnl_unimplemented) return nullptr;
  expect_success(status, "choosing a kernel");
  const DnnlOwned<dnnl_primitive_desc_t, dnnl_primitive_desc_destroy> plan(made_plan);
  dnnl_primitive_t made = nullptr;
  expect_success(dnnl_primitive_create(&made, plan.get()), "making a kernel");
  return DnnlKernel(made);
}

//! Whether oneDNN multiplies Bfloat16 on this processor.
inline bool multiplies_bfloat16() {
  static const bool does = [] {
    const DnnlMatrix factor(64, 64, dnnl_bf16, 64, 1), result(64, 64, dnnl_f32, 64, 1);
    return make_product_kernel(factor, factor, result, false) != nullptr;
  }();
  return does;
}

//! What a kernel is made for: the sizes of a part, and how its matrices lie.
struct RoundedKind {
  index_t rows, columns, K;
  index_t lda, ldb, ldc;
  bool transpose_a, transpose_b, accumulate;

  RoundedKind(const Product& p, ProductPart part)
      : rows(part.rows()),
        columns(part.columns()),
        K(p.K),
        lda(p.lda),
        ldb(p.ldb),
        ldc(p.N),
        transpose_a(p.transpose_a),
        transpose_b(p.transpose_b),
        accumulate(p.accumulate) {}

  friend auto operator<=>(const RoundedKind&, const RoundedKind&) = default;
};

//! A kernel for parts of a kind, and their matrices.
struct RoundedPlan {
  DnnlMatrix a, b, c;
  DnnlKernel kernel;

  explicit RoundedPlan(const RoundedKind& k)
      : a(k.rows, k.K, dnnl_bf16, k.transpose_a ? 1 : k.lda, k.transpose_a ? k.lda : 1),
        b(k.K, k.columns, dnnl_bf16, k.transpose_b ? 1 : k.ldb, k.transpose_b ? k.ldb : 1),
        c(k.rows, k.columns, dnnl_f32, k.ldc, 1),
        kernel(make_product_kernel(a, b, c, k.accumulate)) {
    if (kernel == nullptr) throw Error("matmul: oneDNN has no kernel for a product of bfloat16");
  }
};

//! The calling thread's plan for a kind. A new one takes 0.3 ms; one that oneDNN remembers takes
//! 4 us, under a lock of all threads.
inline const RoundedPlan& rounded_plan(const RoundedKind& kind) {
  // Batches of words have ever new numbers of rows.
  constexpr std::size_t most_plans = 1024;
  thread_local std::map<RoundedKind, RoundedPlan> plans;
  const auto found = plans.find(kind);
  if (found != plans.end()) return found->second;
  if (plans.size() >= most_plans) plans.clear();
  return plans.emplace(kind, RoundedPlan(kind)).first->second;
}

//! A part of a product whose factors are those of `p`, rounded, and lie as they do.
//!
//! With AMX and K that is no multiple of 32, oneDNN 3.7 to 3.14 multiply the next row's first
//! elements by 0: where they are no finite numbers, neither is this row
//! (github.com/uxlfoundation/oneDNN/issues/5717).
inline void multiply_part(const Product& p, const Bfloat16* a, const Bfloat16* b,
                          ProductPart part) {
  const OneOpenMpThread no_other_threads;  // plans are for so many threads, too
  const dnnl_stream_t stream = DnnlProcessor::stream();
  const RoundedKind kind(p, part);
  const RoundedPlan& plan = rounded_plan(kind);
  const auto left = plan.a.at(a + part.in_a(p)), right = plan.b.at(b + part.in_b(p)),
             result = plan.c.at(p.c.floats() + part.in_c(p));
  const dnnl_exec_arg_t arguments[] = {
      {DNNL_ARG_SRC, left.get()}, {DNNL_ARG_WEIGHTS, right.get()}, {DNNL_ARG_DST, result.get()}};
  const HoldSignals no_handler_runs;  // see onednn_product.hpp
  expect_success(dnnl_primitive_execute(plan.kernel.get(), stream, 3, arguments), "multiplying");
  expect_success(dnnl_stream_wait(stream), "multiplying");
}

}  // namespace weft::ops::detail

#endif
