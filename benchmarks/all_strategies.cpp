// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// One model under every strategy, each for a few updates: what benchmarks/compile_time.py compiles.
// Prints whether all end with the same parameters.

#include "../examples/course/reversal.hpp"

#include <weft/comm/launch.hpp>
#include <weft/nn/translation_steps.hpp>
#include <weft/parallel/distributed_data_parallel.hpp>
#include <weft/parallel/pipeline_parallel.hpp>
#include <weft/parallel/schedule/gpipe.hpp>
#include <weft/parallel/schedule/interleaved.hpp>
#include <weft/parallel/schedule/one_forward_one_backward.hpp>
#include <weft/parallel/schedule/zero_bubble.hpp>
#include <weft/parallel/split.hpp>
#include <weft/weft.hpp>

#include <cstdio>
#include <type_traits>
#include <utility>
#include <vector>

using namespace weft;

namespace {

constexpr nn::TransformerShape shape{
    .d_model = 32, .heads = 4, .d_ff = 64, .encoder_layers = 1, .decoder_layers = 1};
using Loss = Chunked<nn::BasicGenerator<32>, nn::LabelSmoothing>;
constexpr parallel::Recipe recipe{.lanes = 1, .micro_batches = 4};
using Values = std::vector<float>;

nn::Transformer<shape> model() {
  return nn::Transformer<shape>(
      {.source_vocabulary = 24, .target_vocabulary = 24, .longest = 16},
      nn::Dropouts::everywhere(0.1f));
}

//! The model in so many stages of a schedule; in one, it is the model.
template <class Schedule, int stages>
auto objective() {
  auto pipe = split<Schedule, stages>(nn::steps_of(model()));
  return parallel::Objective<decltype(pipe), Loss>(std::move(pipe), nn::LabelSmoothing(0.1f));
}
template <class Schedule, int stages>
using ModelOf = std::remove_cvref_t<decltype(objective<Schedule, stages>().model())>;
using Whole = ModelOf<GPipe<4>, 1>;

template <class Strategy>
Values trained(Strategy& strategy) {
  for (std::uint32_t update = 0; update < 5; ++update) {
    const auto batch = course::reversal_batch(/*sentences=*/16, update);
    (void)strategy.step(train::DeviceBatch(batch), /*rate=*/0.005);
  }
  [[maybe_unused]] const auto whole = strategy.whole_values();
  return to_host(strategy.state().values());
}

Values accumulated() {
  Cpu device;
  GradientAccumulation<Whole, Loss> strategy(device, objective<GPipe<4>, 1>(), optim::Adam(),
                                             recipe);
  return trained(strategy);
}

Values data_parallel() {
  const DeviceGroup<Cpu> devices(1);
  DataParallel<Whole, Loss> strategy(devices, objective<GPipe<4>, 1>(), optim::Adam(), recipe);
  return trained(strategy);
}

//! What `make(device, communicator)` trains on so many ranks that are threads.
template <class Make>
Values on_ranks(int ranks, const Make& make) {
  Values values;
  comm::launch_threads(ranks, comm::default_timeout, [&](comm::ThreadCommunicator& communicator) {
    Cpu device;
    auto strategy = make(device, communicator);
    const Values here = trained(strategy);
    if (communicator.rank() == 0) values = here;
  });
  return values;
}

template <parallel::Shard shard>
Values distributed() {
  return on_ranks(1, [](Cpu& device, comm::ThreadCommunicator& communicator) {
    return DistributedDataParallel<Whole, Loss, shard>(
        device, communicator, objective<GPipe<4>, 1>(), optim::Adam(), recipe);
  });
}

template <class Schedule, int stages>
Values pipeline() {
  return on_ranks(2, [](Cpu& device, comm::ThreadCommunicator& communicator) {
    return PipelineParallel<ModelOf<Schedule, stages>, Loss>(
        device, communicator, objective<Schedule, stages>(), optim::Adam(), recipe,
        parallel::table_of<Schedule, 2>.view());
  });
}

}  // namespace

int main() {
  const Values expected = accumulated();
  const struct {
    const char* name;
    Values values;
  } strategies[] = {{"DataParallel", data_parallel()},
                    {"Zero<0>", distributed<Zero<0>>()},
                    {"Zero<1>", distributed<Zero<1>>()},
                    {"Zero<2>", distributed<Zero<2>>()},
                    {"Zero<3>", distributed<Zero<3>>()},
                    {"GPipe", pipeline<GPipe<4>, 2>()},
                    {"OneForwardOneBackward", pipeline<OneForwardOneBackward<4>, 2>()},
                    {"ZeroBubble", pipeline<ZeroBubble<4>, 2>()},
                    {"Interleaved", pipeline<Interleaved<4, 2>, 4>()}};
  for (const auto& [name, values] : strategies) {
    std::printf("%s: %s\n", name, values == expected ? "the same bits" : "others");
  }
}
