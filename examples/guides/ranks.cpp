// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// Ranks that are threads; an update of two batches; an exchange that sends less; the optimizer
// alone.
//
//     build/examples/guides/guide_ranks
//
// Prints:
//   two ranks have made 3 updates
//   the optimizer alone: 0.5 and 1.5

#include "reversal.hpp"

// [include]
#include <weft/comm/launch.hpp>
#include <weft/parallel/distributed_data_parallel.hpp>
#include <weft/weft.hpp>
// [include]

// [include-optimizer]
#include <weft/parallel/distributed_optimizer.hpp>
// [include-optimizer]

#include <cstdio>
#include <span>
#include <vector>

// [include]
using namespace weft;
// [include]

constexpr nn::TransformerShape shape{
    .d_model = 16, .heads = 2, .d_ff = 32, .encoder_layers = 1, .decoder_layers = 1};
using Model = nn::Transformer<shape>;
using Loss = Chunked<nn::Generator<shape>, nn::LabelSmoothing>;

parallel::Objective<Model, Loss> objective() {
  return parallel::Objective<Model, Loss>(
      Model({.source_vocabulary = 24, .target_vocabulary = 24, .longest = 16}),
      nn::LabelSmoothing(0.1f));
}

int main() {
  const auto sentences = course::reversal_batch(/*sentences=*/32, 0);
  const auto more_sentences = course::reversal_batch(/*sentences=*/32, 1);
  const train::DeviceBatch batch(sentences), more(more_sentences);
  const double rate = 0.005;

  // [train]
  comm::launch_threads(2, comm::default_timeout, [&](comm::ThreadCommunicator& communicator) {
    Cpu device;  // of one thread
    DistributedDataParallel<Model, Loss> train(device, communicator, objective(), optim::Adam(),
                                               {.lanes = 2, .micro_batches = 2});
    train.step(batch, rate);  // every rank is given the whole batch and reads its own part
    // [train]
    train.step(more, rate);
    // [accumulate]
    train.accumulate(batch);  // reduces nothing
    train.step(more, rate);   // one update of both
    // [accumulate]
    if (train.is_root()) {
      std::printf("two ranks have made %d updates\n", static_cast<int>(train.state().updates()));
    }
    // [train]
  });
  // [train]

  // [sharded]
  comm::launch_threads(2, comm::default_timeout, [&](comm::ThreadCommunicator& communicator) {
    Cpu device;
    DistributedDataParallel<Model, Loss, Zero<2>> train(
        device, communicator, objective(), optim::Adam(), {.lanes = 2, .micro_batches = 2},
        parallel::BucketSizes{}, Exchange{.wire = Wire::bfloat16});
    train.step(batch, rate);
  });
  // [sharded]

  // [optimizer]
  comm::launch_threads(2, comm::default_timeout, [&](comm::ThreadCommunicator& communicator) {
    Cpu device;
    const std::vector<float> first{1.0f, 2.0f};
    DistributedOptimizer<optim::Sgd> optimizer(device, communicator, optim::Sgd(), first);
    std::vector<float> gradients{5.0f, 5.0f};  // of the sum of this rank's losses
    optimizer.step(gradients, {Sum<of::Loss>(7.0), Count<of::Tokens>(10)}, /*rate=*/1.0);
    if (communicator.rank() == 0) {
      std::printf("the optimizer alone: %g and %g\n", optimizer.values()[0], optimizer.values()[1]);
    }
  });
  // [optimizer]
}
