// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What the programs whose strategy has ranks have in common.
#pragma once

#include "model.hpp"
#include "options.hpp"

#include <weft/comm/collectives.hpp>
#include <weft/comm/launch.hpp>
#include <weft/comm/threads.hpp>
#include <weft/parallel/distributed_data_parallel.hpp>

#include <utility>

namespace translation {

//! Ranks that are threads of this process; outside of training there is one.
template <weft::parallel::Shard shard>
struct Distributed {
  static constexpr const char* name =
      shard == weft::parallel::Shard::nothing ? "distributed" : "zero1";
  static constexpr const char* unit = "ranks";
  using Type = weft::DistributedDataParallel<Model, Loss, shard>;

  Distributed(int /*ranks*/, int threads)
      : Distributed(std::move(weft::comm::ThreadCommunicator::world(1).front()), threads) {}
  Distributed(weft::comm::ThreadCommunicator of_rank, int threads)
      : communicator(std::move(of_rank)), device(threads) {}

  static int most_devices() { return 1024; }
  bool is_root() const { return communicator.rank() == 0; }
  void wait_for_all() { weft::comm::barrier(communicator); }

  Type make(typename Type::Objective objective, const weft::optim::Adam& adam,
            const weft::parallel::Recipe& recipe) {
    return Type(device, communicator, std::move(objective), adam, recipe);
  }

  //! Calls `train(strategy)` on every rank, and returns what it does on the first.
  template <class Train>
  static int launch(const Options& options, const Train& train) {
    int result = 0;
    weft::comm::launch_threads(options.devices, weft::comm::default_timeout,
                               [&](weft::comm::ThreadCommunicator& communicator) {
                                 Distributed strategy(communicator, options.threads);
                                 const int ended = train(strategy);
                                 if (strategy.is_root()) result = ended;
                               });
    return result;
  }

  weft::comm::ThreadCommunicator communicator;
  weft::Cpu device;
};

}  // namespace translation
