// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What the programs whose strategy has ranks have in common.
#pragma once

#include "../common/device.hpp"
#include "../common/ranks.hpp"
#include "model.hpp"
#include "options.hpp"

#include <weft/comm/any_communicator.hpp>
#include <weft/comm/check_same.hpp>
#include <weft/comm/collectives.hpp>
#include <weft/comm/self.hpp>
#include <weft/parallel/distributed_data_parallel.hpp>

#include <utility>

namespace translation {

//! Ranks that `mpirun` or `srun` started, or threads of this process; outside of training one.
template <weft::parallel::Shard shard>
struct Distributed {
  static constexpr const char* name = shard == weft::Zero<0>   ? "distributed"
                                      : shard == weft::Zero<1> ? "zero1"
                                      : shard == weft::Zero<2> ? "zero2"
                                                               : "zero3";
  static constexpr const char* unit = "ranks";
  using Communicator = weft::comm::AnyCommunicator;
  using Type = weft::DistributedDataParallel<Model, Loss, shard, weft::optim::Adam,
                                             examples::Device, Communicator>;

  Distributed(int /*ranks*/, int threads)
      : Distributed(Communicator(weft::comm::SelfCommunicator()), threads, {}) {}
  Distributed(Communicator of_rank, int threads, weft::Exchange exchange_of_ranks)
      : communicator(std::move(of_rank)),
        device(threads, examples::local_index(communicator)),
        exchange(exchange_of_ranks) {}

  static int default_devices() { return examples::environment().size; }
  static int most_devices() { return 1024; }
  //! Whether this process does what is not training: the first of those that a launcher started.
  static bool is_first_process() { return examples::environment().rank == 0; }
  bool is_root() const { return communicator.rank() == 0; }
  void wait_for_all() { weft::comm::barrier(communicator); }
  void check_same(const weft::comm::Facts& facts) { weft::comm::check_same(communicator, facts); }

  Type make(typename Type::Objective objective, const weft::optim::Adam& adam,
            const weft::parallel::Recipe& recipe) {
    return Type(device, communicator, std::move(objective), adam, recipe, {}, exchange);
  }

  //! Calls `train(strategy)` on every rank, and returns what examples::launch does.
  template <class Train>
  static int launch(const Options& options, const Train& train) {
    return examples::launch(options.devices, options.timeout_s, [&](Communicator& communicator) {
      Distributed strategy(communicator, options.threads, options.exchange);
      return train(strategy);
    });
  }

  Communicator communicator;
  examples::Device device;
  weft::Exchange exchange;
};

}  // namespace translation
