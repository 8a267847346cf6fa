// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
// One rank of a test under mpirun: mpi CASE. What mpi.py checks is what it prints.
#include <weft/comm/mpi.hpp>

#include <weft/comm/any_communicator.hpp>
#include <weft/comm/environment.hpp>
#include <weft/comm/launch_ranks.hpp>
#include <weft/parallel/distributed_data_parallel.hpp>
#include <weft/parallel/gradient_accumulation.hpp>
#include <weft/parallel/pipeline_parallel.hpp>
#include <weft/parallel/schedule/gpipe.hpp>
#include <weft/parallel/schedule/interleaved.hpp>
#include <weft/parallel/schedule/one_forward_one_backward.hpp>
#include <weft/parallel/schedule/zero_bubble.hpp>
#include <weft/testing/small_translation.hpp>
#include <weft/train/device_batch.hpp>

#include "../parallel/small_pipes.hpp"

#include <unistd.h>

#include <bit>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

using namespace weft;
using comm::MpiCommunicator;

namespace {

void expect(bool holds, const char* what) {
  if (!holds) throw Error(text("does not hold: ", what));
}

void collectives(MpiCommunicator& communicator) {
  const int rank = communicator.rank(), ranks = communicator.size();
  std::vector<double> values{1.0 + rank, -2.0 * rank};
  comm::all_reduce(communicator, std::span(values));
  const double sum = ranks * (ranks - 1) / 2.0;
  expect(values == std::vector<double>{ranks + sum, -2.0 * sum}, "all_reduce");

  std::vector<int> rows(static_cast<std::size_t>(ranks));
  std::iota(rows.begin(), rows.end(), 100 * rank);
  const auto exchanged = comm::all_to_all(communicator, std::span<const int>(rows));
  for (int peer = 0; peer < ranks; ++peer) {
    expect(exchanged[static_cast<std::size_t>(peer)] == 100 * peer + rank, "all_to_all");
  }

  std::vector<float> large(1 << 20, static_cast<float>(rank));
  comm::broadcast(communicator, std::span(large), ranks - 1);
  expect(large == std::vector<float>(1 << 20, static_cast<float>(ranks - 1)), "broadcast");

  MpiCommunicator in_pieces(communicator.timeout(), /*largest_piece=*/1000);
  for (const std::size_t size : {250U, 251U, 1000U, 1U << 20}) {
    std::vector<float> pieces(size, static_cast<float>(rank));
    comm::broadcast(in_pieces, std::span(pieces), ranks - 1);
    expect(pieces == std::vector<float>(size, static_cast<float>(ranks - 1)), "long messages");
  }
  for (const index_t bytes : {index_t{0}, index_t{1} << 31}) {
    try {
      const MpiCommunicator refused(communicator.timeout(), bytes);
      expect(false, "pieces that MPI cannot count are refused");
    } catch (const ArgumentError&) {
    }
  }

  auto part = communicator.split(rank % 2, -rank);
  const auto members = comm::all_gather(part, std::span<const int>(&rank, 1));
  expect(
      members.front() >= members.back() && members.size() == static_cast<std::size_t>(part.size()),
      "split");
  comm::barrier(communicator);
  std::printf("rank %d: collectives hold\n", rank);
}

//! The bits of a model after 20 updates, as a number.
template <parallel::Shard shard, class C>
std::uint64_t train(C& communicator) {
  Cpu device;
  DistributedDataParallel<testing::SmallModel, testing::SmallLoss, shard, optim::Adam, Cpu, C>
      strategy(device, communicator, testing::small_objective(), optim::Adam(),
               {.seed = 5, .lanes = 3, .micro_batches = 8, .clip_norm = 1.0},
               {2 * ops::block_size * 4, 4});
  for (std::uint32_t update = 0; update < 20; ++update) {
    strategy.step(train::DeviceBatch(testing::random_translations(13, update)), 0.002);
  }
  Fingerprint bits;
  const auto whole = strategy.whole_values();
  for (const float value : to_host(strategy.state().values())) {
    bits.add(std::bit_cast<std::uint32_t>(value));
  }
  return bits.value();
}

void strategies(MpiCommunicator& communicator) {
  const auto replicas = train<Zero<0>>(communicator);
  const auto zero1 = train<Zero<1>>(communicator);
  const auto zero2 = train<Zero<2>>(communicator);
  const auto zero3 = train<Zero<3>>(communicator);
  std::uint64_t threads = 0;
  if (communicator.rank() == 0) {
    comm::launch_threads(1, comm::default_timeout,
                         [&](comm::ThreadCommunicator& alone) { threads = train<Zero<0>>(alone); });
  }
  comm::broadcast(communicator, std::span(&threads, 1), 0);
  expect(replicas == threads && zero1 == threads && zero2 == threads && zero3 == threads,
         "every rank has the bits of one");
  std::printf("rank %d: one answer\n", communicator.rank());
}

//! The bits of a small language model after 20 updates.
template <class Strategy>
std::uint64_t train_on_words(Strategy& strategy) {
  for (std::uint32_t update = 0; update < 20; ++update) {
    const auto batch = testing::random_translations(13, update);
    strategy.step(testing::WordsBatch(batch), 0.002);
  }
  Fingerprint bits;
  [[maybe_unused]] const auto whole = strategy.whole_values();
  for (const float value : to_host(strategy.state().values())) {
    bits.add(std::bit_cast<std::uint32_t>(value));
  }
  return bits.value();
}

//! Four stages on two ranks or four, by three schedules.
void pipelines(MpiCommunicator& communicator) {
  using Model = testing::SmallPipe<GPipe<1>, 4>::Type;
  using Loss = testing::PipeLoss<true>;
  const parallel::Recipe recipe{.seed = 5, .micro_batches = 3, .clip_norm = 1.0};
  const auto objective = [] { return testing::small_pipe_objective<GPipe<1>, 4, true>(); };
  std::uint64_t alone = 0;
  if (communicator.rank() == 0) {
    Cpu device;
    GradientAccumulation<Model, Loss> single(device, objective(), optim::Adam(), recipe);
    alone = train_on_words(single);
  }
  comm::broadcast(communicator, std::span(&alone, 1), 0);
  const auto expect_same = [&](const parallel::TableView& table, const char* what) {
    Cpu device;
    PipelineParallel<Model, Loss, Zero<0>, optim::Adam, Cpu, MpiCommunicator> strategy(
        device, communicator, objective(), optim::Adam(), recipe, table);
    expect(train_on_words(strategy) == alone, what);
  };
  if (communicator.size() == 2) {
    expect_same(parallel::table_of<Interleaved<3, 2>, 2>.view(), "interleaved");
  } else {
    expect_same(parallel::table_of<OneForwardOneBackward<3>, 4>.view(), "1f1b");
    expect_same(parallel::table_of<ZeroBubble<3>, 4>.view(), "zero bubble");
  }
  std::printf("rank %d: pipelines hold\n", communicator.rank());
}

//! The memory of this process that is its own and not a file's, in bytes.
index_t own_memory() {
  std::ifstream file("/proc/self/statm");
  index_t size = 0, resident = 0, shared = 0;
  file >> size >> resident >> shared;
  return (resident - shared) * sysconf(_SC_PAGESIZE);
}

struct Held {
  double bytes;
  double parameters;
};

//! What a rank holds between two updates, of a model that is mostly embeddings.
template <parallel::Shard shard>
Held held(MpiCommunicator& communicator, index_t words) {
  constexpr nn::TransformerShape shape{
      .d_model = 256, .heads = 4, .d_ff = 256, .encoder_layers = 1, .decoder_layers = 1};
  using Model = nn::Transformer<shape>;
  using Loss = Chunked<nn::Generator<shape>, nn::LabelSmoothing>;
  const index_t before = own_memory();
  const int ranks = communicator.size();
  Cpu device;
  DistributedDataParallel<Model, Loss, shard, optim::Adam, Cpu, MpiCommunicator> strategy(
      device, communicator,
      parallel::Objective<Model, Loss>(Model({words, words, 24}), nn::LabelSmoothing(), 1),
      optim::Adam(), {.seed = 1, .lanes = ranks, .micro_batches = ranks}, {4 << 20, 1 << 20});
  for (std::uint32_t update = 0; update < 3; ++update) {
    strategy.step(train::DeviceBatch(testing::random_translations(4, update)), 1e-4);
  }
  return {static_cast<double>(own_memory() - before),
          static_cast<double>(strategy.objective().layout().trained)};
}

//! Bytes for each parameter more. What a rank holds besides, 20 to 40 MB, does not grow with the
//! model.
template <parallel::Shard shard>
double bytes_a_parameter(MpiCommunicator& communicator, index_t words) {
  const Held less = held<shard>(communicator, words / 4);
  const Held more = held<shard>(communicator, words);
  return (more.bytes - less.bytes) / (more.parameters - less.parameters);
}

void memory(MpiCommunicator& communicator) {
  const double share = 1.0 / communicator.size();
  // With so many words off by 2 % at most in six runs, of the 5 that mpi.py allows.
  const double bytes[] = {bytes_a_parameter<Zero<0>>(communicator, 20'000),
                          bytes_a_parameter<Zero<1>>(communicator, 40'000),
                          bytes_a_parameter<Zero<2>>(communicator, 40'000),
                          bytes_a_parameter<Zero<3>>(communicator, 60'000)};
  std::printf("rank %d: bytes %.2f %.2f %.2f %.2f of %.2f %.2f %.2f %.2f\n", communicator.rank(),
              bytes[0], bytes[1], bytes[2], bytes[3], 16.0, 8.0 + 8.0 * share, 4.0 + 12.0 * share,
              16.0 * share);
}

//! Goes through rounds of all_reduce; in round 5 rank 1 does something else.
void rounds(MpiCommunicator& communicator, const std::string& fault) {
  for (index_t round = 0; round < 10; ++round) {
    if (round == 5 && communicator.rank() == 1) {
      if (fault == "throws") throw Error("no such word");
      if (fault == "stops") raise(SIGSTOP);
      if (fault == "killed") raise(SIGKILL);
      if (fault == "differs") comm::barrier(communicator, {"barrier"});
    }
    double value = 1.0;
    comm::all_reduce(communicator, std::span(&value, 1), {"all_reduce", "round", round});
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  if (name == "launched") {
    const auto environment = comm::read_environment();
    comm::launch_ranks(environment, environment.size, comm::Timeout(60.0),
                       [](comm::AnyCommunicator& communicator) {
                         std::printf("launched: %d of %d\n", communicator.rank(),
                                     communicator.size());
                       });
    return 0;
  }
  if (name == "launched twice") {
    const auto nothing = [](MpiCommunicator&) {};
    comm::launch_mpi(comm::Timeout(60.0), nothing);
    try {
      comm::launch_mpi(comm::Timeout(60.0), nothing);
    } catch (const Error& error) {
      std::printf("%s\n", error.what());
    }
    return 0;
  }
  if (name == "initialised by the caller") {
    MPI_Init(nullptr, nullptr);
    for (int launch = 0; launch < 2; ++launch) {
      comm::launch_mpi(comm::Timeout(60.0), [&](MpiCommunicator& communicator) {
        comm::barrier(communicator, {"barrier"});
        std::printf("launch %d\n", launch);
      });
    }
    MPI_Finalize();
    return 0;
  }
  return comm::launch_mpi(comm::Timeout(name == "stops" ? 2.0 : 60.0),
                          [&](MpiCommunicator& communicator) {
                            if (name == "collectives") return collectives(communicator);
                            if (name == "strategies") return strategies(communicator);
                            if (name == "pipelines") return pipelines(communicator);
                            if (name == "memory") return memory(communicator);
                            if (name == "differs in a part") {
                              const int part_number = communicator.rank() / 2;
                              auto part = communicator.split(part_number, communicator.rank());
                              return rounds(part, part_number == 1 ? "differs" : "nothing");
                            }
                            rounds(communicator, name);
                          });
}
