// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The cuDNN of one device: its handle, and a plan for each kind of attention.
//!
//! `weft/cudnn.cuh` includes it, and no other header of weft's: a C++ compiler reads for 20 s what
//! NVIDIA's cudnn-frontend has, nvcc longer.
#pragma once

#include <cstdint>
#include <cstring>  // cudnn_frontend.h calls std::strlen and does not include it
#include <map>
#include <memory>
#include <optional>
#include <type_traits>
#include <unordered_map>
#include <utility>

#define CUDNN_FRONTEND_SKIP_JSON_LIB  // most of what there is to compile; nothing is saved here
#include <cudnn_frontend.h>

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/device/attention_library.cuh>
#include <weft/device/cuda_error.cuh>

#if CUDNN_VERSION < 91900 || CUDNN_FRONTEND_VERSION < 13200
#error "attention by cuDNN needs cuDNN 9.19 and cudnn-frontend 1.32, or newer ones"
#endif

namespace weft::detail {

inline void expect_success(cudnnStatus_t status, const char* attempted,
                           Place where = Place::here()) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  expect_no_fault(attempted, where);
  throw CudaError(text(attempted, ": cuDNN says ", cudnnGetErrorString(status)), where);
}

//! Describes an attention to cuDNN. Its tensors are ragged: their extents are those of the most
//! and the longest sequences, and where each begins and how long it is the GPU reads.
class CudnnAttention {
 public:
  using Graph = cudnn_frontend::graph::Graph;
  using Tensor = std::shared_ptr<cudnn_frontend::graph::Tensor_attributes>;

  //! What a graph's tensors are called when it runs; that of an array is the first of its kind and
  //! the array's number.
  enum Name : std::int64_t { rows = 1, offsets = 11, log_sums = 21, query_lengths, key_lengths };

  //! Writes it into an empty graph.
  static void describe(const AttentionKind& kind, Graph& graph) {
    const CudnnAttention attention(kind, graph);
    graph.set_io_data_type(attention.type())
        .set_intermediate_data_type(Type::FLOAT)
        .set_compute_data_type(Type::FLOAT);
    kind.backward ? attention.backward() : attention.forward();
  }

 private:
  using Type = cudnn_frontend::DataType_t;
  using Attributes = cudnn_frontend::graph::Tensor_attributes;

  CudnnAttention(const AttentionKind& kind, Graph& graph) : kind_(kind), graph_(graph) {}

  void forward() const {
    auto options = masked(cudnn_frontend::graph::SDPA_attributes());
    options.set_name("attention").set_generate_stats(true);
    const auto [out, sums] = graph_.sdpa(input(of_q), input(of_k), input(of_v), options);
    describe_rows(*out, of_out).set_output(true);
    describe_sums(*sums).set_output(true);
  }

  void backward() const {
    auto options = masked(cudnn_frontend::graph::SDPA_backward_attributes());
    options.set_name("attention_backward").set_deterministic_algorithm(kind_.deterministic);
    const Tensor sums = graph_.tensor(Attributes());
    describe_sums(*sums);
    const auto [dq, dk, dv] = graph_.sdpa_backward(input(of_q), input(of_k), input(of_v),
                                                   input(of_out), input(of_dout), sums, options);
    describe_rows(*dq, of_dq).set_output(true);
    describe_rows(*dk, of_dk).set_output(true);
    describe_rows(*dv, of_dv).set_output(true);
  }

  //! The masks and the scale, which both passes have.
  template <class Options>
  [[nodiscard]] Options masked(Options options) const {
    options.set_attn_scale(kind_.scale)
        .set_padding_mask(true)
        .set_seq_len_q(integers(query_lengths, kind_.sequences, Type::INT32))
        .set_seq_len_kv(integers(key_lengths, kind_.sequences, Type::INT32));
    if (kind_.causal) {
      options.set_diagonal_alignment(cudnn_frontend::DiagonalAlignment_t::TOP_LEFT)
          .set_diagonal_band_right_bound(0);
    }
    return options;
  }

  [[nodiscard]] Type type() const {
    return kind_.type == FloatType::bfloat16 ? Type::BFLOAT16 : Type::HALF;
  }

  [[nodiscard]] Tensor integers(std::int64_t name, index_t n, Type type) const {
    return graph_.tensor(Attributes()
                             .set_uid(name)
                             .set_dim({n, 1, 1, 1})
                             .set_stride({1, 1, 1, 1})
                             .set_data_type(type));
  }
  [[nodiscard]] Tensor begins(index_t array) const {
    return integers(offsets + array, kind_.sequences + 1, Type::INT64);
  }

  [[nodiscard]] Tensor input(RowsOfAttention array) const {
    const Tensor made = graph_.tensor(Attributes());
    describe_rows(*made, array);
    return made;
  }

  //! (B, H, T, channels of a head), of which those of a row and head lie side by side.
  Attributes& describe_rows(Attributes& tensor, RowsOfAttention array) const {
    const bool of_keys = array == of_k || array == of_v || array == of_dk || array == of_dv;
    const index_t longest = of_keys ? kind_.longest_key : kind_.longest_query;
    const index_t stride = kind_.strides[array];
    return tensor.set_uid(rows + static_cast<std::int64_t>(array))
        .set_data_type(type())
        .set_dim({kind_.sequences, kind_.heads, longest, kind_.head_size})
        .set_stride({longest * stride, kind_.head_size, stride, 1})
        .set_ragged_offset(begins(array));
  }

  //! (B, H, T, 1), as weft has them: a row's heads side by side.
  Attributes& describe_sums(Attributes& tensor) const {
    const index_t longest = kind_.longest_query;
    return tensor.set_uid(log_sums)
        .set_data_type(Type::FLOAT)
        .set_dim({kind_.sequences, kind_.heads, longest, 1})
        .set_stride({longest * kind_.heads, 1, kind_.heads, 1})
        .set_ragged_offset(begins(kind_.arrays()));
  }

  const AttentionKind& kind_;
  Graph& graph_;
};

//! Attention by cuDNN. Only Hopper's: for older GPUs it has no backward pass of ragged tensors that
//! gives the same bits each time, and for newer ones nothing was tried.
class Cudnn final : public AttentionLibrary {
 public:
  //! On the calling thread's GPU.
  Cudnn() {
    cudnnHandle_t handle = nullptr;
    expect_success(cudnnCreate(&handle), "starting cuDNN");
    handle_.reset(handle);
  }

  //! Nothing if cuDNN or the calling thread's GPU is not what plans were tried for.
  [[nodiscard]] static std::unique_ptr<AttentionLibrary> make() {
    int gpu = 0, major = 0;
    expect_success(cudaGetDevice(&gpu), "asking for the GPU");
    expect_success(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, gpu),
                   "asking which GPU it is");
    if (major != 9 || cudnnGetVersion() < 91900) return nullptr;
    return std::make_unique<Cudnn>();
  }

  [[nodiscard]] std::optional<index_t> workspace_bytes(const AttentionKind& kind) override {
    const auto known = plans_.find(kind);
    const auto plan = known != plans_.end() ? known : plans_.emplace(kind, make_plan(kind)).first;
    if (plan->second.graph == nullptr) return std::nullopt;
    return plan->second.workspace_bytes;
  }

  void launch(const AttentionKind& kind, const AttentionAddresses& to,
              cudaStream_t stream) override {
    using Name = CudnnAttention::Name;
    std::unordered_map<std::int64_t, void*> tensors = {
        {Name::log_sums, to.log_sums},
        {Name::query_lengths, to.lengths},
        {Name::key_lengths, to.lengths + kind.sequences}};
    for (index_t array = 0; array <= kind.arrays(); ++array) {
      tensors[Name::offsets + array] = to.offsets + array * (kind.sequences + 1);
      if (array == kind.arrays()) break;  // log_sums have offsets too
      tensors[Name::rows + array] = to.rows[static_cast<std::size_t>(array)];
    }
    expect_success(cudnnSetStream(handle_.get(), stream), "giving cuDNN a stream");
    auto status = plans_.at(kind).graph->execute(handle_.get(), tensors, to.workspace);
    if (status.is_bad()) throw CudaError(text("attention by cuDNN: ", status.get_message()));
  }

 private:
  struct Plan {
    std::unique_ptr<CudnnAttention::Graph> graph;  // or null: cuDNN does not do it
    index_t workspace_bytes = 0;
  };
  struct Destroy {
    void operator()(cudnnHandle_t handle) const { cudnnDestroy(handle); }
  };

  //! A forward pass cannot ask for a deterministic algorithm: engines that cuDNN marks are refused
  //! where it is to be.
  //!
  //! **Cost.** Half a second: cuDNN compiles a kernel.
  [[nodiscard]] Plan make_plan(const AttentionKind& kind) const {
    namespace frontend = cudnn_frontend;
    Plan plan{std::make_unique<CudnnAttention::Graph>(), 0};
    CudnnAttention::Graph& graph = *plan.graph;
    CudnnAttention::describe(kind, graph);
    const bool planned = graph.validate().is_good() &&
                         graph.build_operation_graph(handle_.get()).is_good() &&
                         graph.create_execution_plans({frontend::HeurMode_t::A}).is_good();
    if (planned && kind.deterministic) {  // of the plans that there are by now
      graph.deselect_numeric_notes({frontend::NumericalNote_t::NONDETERMINISTIC});
    }
    const bool made = planned && graph.check_support().is_good() &&
                      graph.build_plans(frontend::BuildPlanPolicy_t::HEURISTICS_CHOICE).is_good() &&
                      graph.get_workspace_size(plan.workspace_bytes).is_good();
    return made ? std::move(plan) : Plan();
  }

  std::unique_ptr<std::remove_pointer_t<cudnnHandle_t>, Destroy> handle_;
  std::map<AttentionKind, Plan> plans_;
};

}  // namespace weft::detail
