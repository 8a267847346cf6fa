// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The strategies whose ranks have stages of the model.
#pragma once

#include "../common/device.hpp"
#include "../common/ranks.hpp"
#include "model.hpp"
#include "options.hpp"

#include <weft/comm/any_communicator.hpp>
#include <weft/comm/check_same.hpp>
#include <weft/optim/sgd.hpp>
#include <weft/parallel/pipeline_parallel.hpp>
#include <weft/parallel/split.hpp>

#include <algorithm>
#include <utility>

namespace language_model {

//! Stages on two ranks, and as many replicas of that as there are pairs of ranks, which `mpirun` or
//! `srun` started, or which are threads of this process. `Named` has the strategy's name.
template <class Named, weft::parallel::Schedule S, weft::parallel::Shard shard = weft::Zero<0>>
struct Pipeline : Named {
  static constexpr int ranks_of_pipeline = 2;
  static constexpr weft::index_t micro_batches = S::micro_batches;
  using Model =
      decltype(weft::split<S, ranks_of_pipeline * S::stages_of_rank, generator_parameters>(
          std::declval<Layers>()));
  using Communicator = weft::comm::AnyCommunicator;
  using Type =
      weft::PipelineParallel<Model, Loss, shard, weft::optim::Sgd, examples::Device, Communicator>;

  Pipeline(Communicator of_rank, int threads)
      : communicator(std::move(of_rank)), device(threads, examples::local_index(communicator)) {}

  static int default_ranks() { return std::max(examples::environment().size, Named::ranks); }
  bool is_root() const { return communicator.rank() == 0; }
  weft::index_t replicas() const { return communicator.size() / ranks_of_pipeline; }
  void check_same(const weft::comm::Facts& facts) { weft::comm::check_same(communicator, facts); }

  Type make(const ModelOptions& model, weft::index_t chunk, const weft::parallel::Recipe& recipe,
            weft::parallel::Recompute recompute) {
    auto pipe = weft::split<S, Model::stages, generator_parameters>(make_layers(model));
    return Type(device, communicator,
                typename Type::Objective(std::move(pipe), weft::nn::CrossEntropy(), chunk),
                weft::optim::Sgd(), recipe, Model::table(), recompute);
  }

  //! Calls `train(strategy)` on every rank, and returns what examples::launch does.
  template <class Train>
  static int launch(const Options& options, const Train& train) {
    return examples::launch(options.ranks, options.timeout_s, [&](Communicator& communicator) {
      Pipeline strategy(communicator, options.threads);
      return train(strategy);
    });
  }

  Communicator communicator;
  examples::Device device;
};

}  // namespace language_model
