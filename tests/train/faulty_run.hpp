// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A run on three ranks, one of which fails somewhere.
#pragma once

#include <weft/comm/communicator.hpp>
#include <weft/comm/decorators.hpp>
#include <weft/optim/schedules.hpp>
#include <weft/parallel/distributed_data_parallel.hpp>
#include <weft/train/trainer.hpp>
#include <weft/train/translation_data.hpp>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "../file_size_limit.hpp"
#include "small_runs.hpp"

namespace weft::testing {

inline constexpr int ranks_of_faults = 3;

struct Fault {
  enum class Kind { none, throws, stops, full_disk, not_finite };

  Kind kind = Kind::none;
  int rank = 0;
  index_t post = 0;    // the number of the rank's post in which it happens
  index_t update = 0;  // after which the disk is full
};

//! What is known of a rank's run.
struct RankRun {
  index_t posts = 0;
  index_t skipped = 0;
  std::unique_ptr<FileSizeLimit> limit{};
};

//! Does to a rank what the fault says before it posts messages.
inline void before_post(const Fault& fault, comm::Timeout timeout, index_t number,
                        std::vector<comm::Message>& messages, const comm::Purpose& purpose) {
  static const std::vector<float> not_numbers(1 << 16, std::numeric_limits<float>::quiet_NaN());
  if (fault.kind == Fault::Kind::throws && number == fault.post) throw Error("injected");
  if (fault.kind == Fault::Kind::stops && number == fault.post) {
    std::this_thread::sleep_for(1.7 * timeout);
  }
  if (fault.kind == Fault::Kind::not_finite && purpose.update == fault.update &&
      std::string(purpose.collective) == "reduce_scatter") {
    for (comm::Message& message : messages) {
      if (message.direction == comm::Message::Direction::receive) continue;
      message =
          comm::send_to(message.peer, not_numbers.data(), message.bytes / index_t{sizeof(float)});
    }
  }
}

//! Trains three epochs of four updates, from the state in the folder if one is there.
template <class C>
void train_to_the_end(C of_rank, const std::string& path, const Fault& fault, RankRun& run) {
  const auto train_corpus = random_corpus(22, 1), valid_corpus = random_corpus(9, 2);
  const optim::Noam noam{.d_model = 24, .factor = 0.2, .warmup = 10};
  const int rank = of_rank.rank();
  const comm::Timeout timeout = of_rank.timeout();
  comm::Observed<C> communicator(
      of_rank, [&](std::vector<comm::Message>& messages, const comm::Purpose& purpose) {
        const index_t number = run.posts++;
        if (rank == fault.rank) before_post(fault, timeout, number, messages, purpose);
      });
  Cpu device;
  DistributedDataParallel<SmallModel, SmallLoss, Zero<3>, optim::Adam, Cpu, comm::Observed<C>>
      strategy(device, communicator, small_objective(), optim::Adam(),
               {.seed = 5, .lanes = 3, .micro_batches = 3}, {2 * ops::block_size * 4, 4});
  train::TrainerHooks hooks;
  hooks.after_update = [&](const train::UpdateReport& report) {
    if (fault.kind != Fault::Kind::full_disk || rank != fault.rank) return;
    if (report.update == fault.update) run.limit = std::make_unique<FileSizeLimit>(4096);
  };
  const train::TranslationData corpora(train_corpus, valid_corpus,
                                       {.unit = data::BatchUnit::sentences, .budget = 6});
  train::Trainer trainer(strategy, corpora, noam, train::RunFolder(path),
                         {.max_epochs = 3, .averaged_epochs = 2}, hooks);
  // All look before one of them writes.
  const bool resumes = std::filesystem::exists(path + "/state.safetensors");
  comm::barrier(communicator);
  if (resumes) trainer.resume();
  trainer.run();
  run.skipped = strategy.state().skipped();
}

//! The fault of a seed, in a run that posts messages at least so often on every rank.
inline Fault fault_of(std::uint32_t seed, index_t posts) {
  const auto random = philox({seed, 0, 0, 0}, RandomKey(11, 0));
  Fault fault;
  fault.kind = seed % 12 == 0  ? Fault::Kind::stops
               : seed % 4 == 1 ? Fault::Kind::full_disk
               : seed % 4 == 2 ? Fault::Kind::not_finite
                               : Fault::Kind::throws;
  fault.rank = static_cast<int>(random[0] % ranks_of_faults);
  fault.post = static_cast<index_t>(random[1]) % posts;
  fault.update = 1 + static_cast<index_t>(random[2]) % 11;
  return fault;
}

}  // namespace weft::testing
