// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// Ranks that are threads of this process or, where a launcher started several, processes: the same
// program, and the same bits. Each rank has a device of its own; Adam's buffers are divided.
//
//     build/examples/course/07_ranks                    # two threads
//     mpirun -n 2 build/examples/course/07_ranks        # two processes, where MPI is installed
//     torchrun --nproc-per-node 2 --no-python build/examples/course/07_ranks    # over TCP
//
// Prints:
//   2 ranks: the parameters are those of one device, bit for bit

#include "reversal.hpp"

// [include]
#include <weft/comm/launch_ranks.hpp>
#include <weft/parallel/distributed_data_parallel.hpp>
#include <weft/weft.hpp>
// [include]

#include <cstdio>
#include <vector>

// [include]
using namespace weft;
// [include]

constexpr nn::TransformerShape shape{
    .d_model = 32, .heads = 4, .d_ff = 64, .encoder_layers = 1, .decoder_layers = 1};
using Model = nn::Transformer<shape>;
using Loss = Chunked<nn::Generator<shape>, nn::LabelSmoothing>;
// [alias]
using Train =
    DistributedDataParallel<Model, Loss, Zero<1>, optim::Adam, Cpu, comm::AnyCommunicator>;
// [alias]

parallel::Objective<Model, Loss> objective() {
  return parallel::Objective<Model, Loss>(
      Model({.source_vocabulary = 24, .target_vocabulary = 24, .longest = 16},
            nn::Dropouts::everywhere(0.1f)),
      nn::LabelSmoothing(0.1f));
}

template <class Strategy>
std::vector<float> parameters_after(Strategy& train) {
  for (std::uint32_t update = 0; update < 20; ++update) {
    const auto batch = course::reversal_batch(/*sentences=*/29, update);
    (void)train.step(train::DeviceBatch(batch), /*rate=*/0.005);
  }
  return to_host(train.state().values());
}

int main() {
  // Four lanes of gradients, whatever the number of ranks.
  const parallel::Recipe recipe{.seed = 1, .lanes = 4, .micro_batches = 8};

  // [launch]
  const auto environment = comm::read_environment();  // what mpirun, srun or torchrun has set
  const bool is_launched = environment.launcher != comm::Launcher::none;
  const int ranks = is_launched ? environment.size : 2;  // a launcher has decided how many
  const auto program = [&](comm::AnyCommunicator& communicator) {
    Cpu device;
    Train train(device, communicator, objective(), optim::Adam(), recipe);
    const auto ended = parameters_after(train);
    // [launch]
    if (!train.is_root()) return;
    Cpu alone;
    GradientAccumulation<Model, Loss> one(alone, objective(), optim::Adam(), recipe);
    std::printf("%d ranks: the parameters are %s\n", train.ranks(),
                ended == parameters_after(one) ? "those of one device, bit for bit" : "others");
    // [launch]
  };
  comm::launch_ranks(environment, ranks, comm::default_timeout, program);
  // [launch]
}
