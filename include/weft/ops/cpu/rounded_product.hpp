// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Parts of products of Bfloat16 factors, by oneDNN on processors that multiply them.
#pragma once

#include <memory>
#include <type_traits>

#include <weft/core/bfloat16.hpp>
#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/device/hold_signals.hpp>
#include <weft/ops/cpu/product.hpp>

#if WEFT_ONEDNN
#include <dnnl.h>
#include <omp.h>

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
      omp_set_num_threads(1);  // oneDNN's own threads: none. The setting is the thread's.
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

//! A kernel for c = a b, or c += a b; null if this processor has none. oneDNN keeps the last 1,024
//! kinds: one that it has takes 4 us, a new one 0.3 ms.
inline DnnlKernel product_kernel(const DnnlMatrix& a, const DnnlMatrix& b, const DnnlMatrix& c,
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
    return product_kernel(factor, factor, result, false) != nullptr;
  }();
  return does;
}

//! A part of a product whose factors are those of `p`, rounded, and lie as they do.
inline void multiply_part(const Product& p, const Bfloat16* a, const Bfloat16* b,
                          ProductPart part) {
  const dnnl_stream_t stream = DnnlProcessor::stream();
  const DnnlMatrix left(part.rows(), p.K, dnnl_bf16, p.transpose_a ? 1 : p.K,
                        p.transpose_a ? p.M : 1);
  const DnnlMatrix right(p.K, part.columns(), dnnl_bf16, p.transpose_b ? 1 : p.N,
                         p.transpose_b ? p.K : 1);
  const DnnlMatrix result(part.rows(), part.columns(), dnnl_f32, p.N, 1);
  const DnnlKernel kernel = product_kernel(left, right, result, p.accumulate);
  if (kernel == nullptr) throw Error("matmul: oneDNN has no kernel for a product of bfloat16");
  const auto left_at = left.at(a + part.in_a(p)), right_at = right.at(b + part.in_b(p)),
             result_at = result.at(p.c + part.in_c(p));
  const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, left_at.get()},
                                       {DNNL_ARG_WEIGHTS, right_at.get()},
                                       {DNNL_ARG_DST, result_at.get()}};
  const HoldSignals no_handler_runs;  // see matmul.hpp
  expect_success(dnnl_primitive_execute(kernel.get(), stream, 3, arguments), "multiplying");
  expect_success(dnnl_stream_wait(stream), "multiplying");
}

}  // namespace weft::ops::detail

#endif
