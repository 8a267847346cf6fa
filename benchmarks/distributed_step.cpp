// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// Training steps of the base model on ranks of one thread, for a batch of so many sentences a rank.
// The first rank prints a JSON line: median seconds of a step, target tokens a second of all ranks,
// the share of the time in exposed communication, and the largest resident memory of a process.
//
//     mpirun -n RANKS distributed_step STAGE SENTENCES LENGTH REPEATS
//     distributed_step STAGE SENTENCES LENGTH REPEATS RANKS     (ranks that are threads)

#include "translation_models.hpp"

#include <weft/comm/launch_ranks.hpp>
#include <weft/core/clock.hpp>
#include <weft/nn/criteria.hpp>
#include <weft/nn/generator.hpp>
#include <weft/parallel/chunked.hpp>
#include <weft/parallel/distributed_data_parallel.hpp>
#include <weft/train/device_batch.hpp>

#include <nlohmann/json.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

using namespace weft;
using namespace benchmark;

namespace {

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

template <parallel::Shard shard>
void measure(comm::AnyCommunicator& communicator, const Sizes& of_rank, int repeats) {
  using Model = nn::Transformer<base>;
  using Loss = Chunked<nn::Generator<base>, nn::LabelSmoothing>;
  const int ranks = communicator.size();
  Sizes sizes = of_rank;
  sizes.sentences *= ranks;
  Cpu device;
  DistributedDataParallel<Model, Loss, shard, optim::Adam, Cpu, comm::AnyCommunicator> strategy(
      device, communicator,
      parallel::Objective<Model, Loss>(
          Model({sizes.vocabulary, sizes.vocabulary, 512}, nn::Dropouts::everywhere(0.1f)),
          nn::LabelSmoothing(0.1f), 5),
      optim::Adam({.beta1 = 0.9, .beta2 = 0.98, .epsilon = 1e-9}),
      {.lanes = ranks, .micro_batches = ranks});
  const auto batch = make_batch(sizes);
  std::vector<double> seconds, exposed;
  for (int repeat = 0; repeat < repeats + 2; ++repeat) {  // the first two warm up
    const double begin = monotonic_seconds();
    const auto report = strategy.step(train::DeviceBatch(batch), 1e-4);
    const double time_s = monotonic_seconds() - begin;
    if (repeat < 2) continue;
    seconds.push_back(time_s);
    exposed.push_back(report.exposed_s / time_s);
  }
  if (communicator.rank() != 0) return;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const nlohmann::json line{
      {"suite", "distributed_step"},
      {"subject", "weft"},
      {"stage", static_cast<int>(shard)},
      {"ranks", ranks},
      {"sentences_per_rank", of_rank.sentences},
      {"length", of_rank.target_length},
      {"repeats", repeats},
      {"median_s", median(seconds)},
      {"tokens_per_second",
       static_cast<double>(sizes.sentences * sizes.target_length) / median(seconds)},
      {"exposed_share", median(exposed)},
      {"peak_bytes", usage.ru_maxrss * 1024L}};
  std::printf("%s\n", line.dump().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: see the head of distributed_step.cpp\n");
    return 2;
  }
  const auto number = [&](int i) { return std::atol(argv[i]); };
  const auto environment = comm::read_environment();
  const int ranks = argc > 5 ? static_cast<int>(number(5)) : environment.size;
  const Sizes sizes{number(2), number(3), number(3), 32000};
  const int repeats = static_cast<int>(number(4));
  comm::launch_ranks(environment, ranks, comm::default_timeout,
                     [&](comm::AnyCommunicator& communicator) {
                       switch (number(1)) {
                         case 0:
                           return measure<Zero<0>>(communicator, sizes, repeats);
                         case 1:
                           return measure<Zero<1>>(communicator, sizes, repeats);
                         default:
                           return measure<Zero<2>>(communicator, sizes, repeats);
                       }
                     });
}
