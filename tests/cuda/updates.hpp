// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Short trainings on GPUs, to be compared between strategies.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include <weft/device/cuda.cuh>
#include <weft/optim/adam.hpp>
#include <weft/parallel/distributed_data_parallel.hpp>
#include <weft/parallel/gradient_accumulation.hpp>
#include <weft/parallel/pipeline_parallel.hpp>
#include <weft/parallel/schedule/one_forward_one_backward.hpp>
#include <weft/testing/small_translation.hpp>
#include <weft/train/device_batch.hpp>

#include "../parallel/small_pipes.hpp"

namespace weft::testing {

inline constexpr parallel::Recipe ddp_recipe{
    .seed = 5, .lanes = 3, .micro_batches = 6, .clip_norm = 1.0};
inline constexpr parallel::Recipe pipe_recipe{
    .seed = 5, .lanes = 1, .micro_batches = 4, .clip_norm = 1.0};

//! The parameters after five updates.
template <class Batch, class Strategy>
std::vector<float> five_updates(Strategy& strategy) {
  for (std::uint32_t update = 0; update < 5; ++update) {
    const auto batch = random_translations(13, update);
    static_cast<void>(strategy.step(Batch(batch), 0.002));
  }
  [[maybe_unused]] const auto whole = strategy.whole_values();
  return to_host(strategy.state().values());
}

inline std::vector<float> updates_on_one_gpu(
    ProductPrecision precision = ProductPrecision::float32) {
  Cuda device;
  device.set_product_precision(precision);
  GradientAccumulation<SmallModel, SmallLoss, optim::Adam, Cuda> strategy(
      device, small_objective(), optim::Adam(), ddp_recipe);
  return five_updates<train::DeviceBatch>(strategy);
}

//! Those of a rank, with a logical device of its own.
template <parallel::Shard shard, class C, ProductPrecision precision = ProductPrecision::float32>
std::vector<float> distributed_updates(C& communicator) {
  Cuda device(1, communicator.rank());
  device.set_product_precision(precision);
  DistributedDataParallel<SmallModel, SmallLoss, shard, optim::Adam, Cuda, C> strategy(
      device, communicator, small_objective(), optim::Adam(), ddp_recipe,
      {2 * ops::block_size * 4, 4});
  return five_updates<train::DeviceBatch>(strategy);
}

//! Two stages that share a weight.
inline auto cuda_pipe_objective() {
  return small_pipe_objective<OneForwardOneBackward<4>, 2, true>();
}
using CudaPipe = std::remove_cvref_t<decltype(cuda_pipe_objective().model())>;

inline std::vector<float> stages_on_one_gpu(
    ProductPrecision precision = ProductPrecision::float32) {
  Cuda device;
  device.set_product_precision(precision);
  GradientAccumulation<CudaPipe, PipeLoss<true>, optim::Adam, Cuda> strategy(
      device, cuda_pipe_objective(), optim::Adam(), pipe_recipe);
  return five_updates<WordsBatch>(strategy);
}

template <class C, ProductPrecision precision = ProductPrecision::float32>
std::vector<float> pipeline_updates(C& communicator) {
  Cuda device(1, communicator.rank());
  device.set_product_precision(precision);
  PipelineParallel<CudaPipe, PipeLoss<true>, Zero<0>, optim::Adam, Cuda, C> strategy(
      device, communicator, cuda_pipe_objective(), optim::Adam(), pipe_recipe);
  return five_updates<WordsBatch>(strategy);
}

}  // namespace weft::testing
