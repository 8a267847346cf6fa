// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The strategy of one device.
#pragma once

#include "../common/device.hpp"
#include "model.hpp"
#include "options.hpp"

#include <weft/comm/check_same.hpp>
#include <weft/optim/sgd.hpp>
#include <weft/parallel/gradient_accumulation.hpp>

namespace language_model {

struct Single {
  static constexpr const char* name = "single";
  static constexpr int ranks_of_pipeline = 0;
  static constexpr weft::index_t micro_batches = 8;  // as the pipelines have
  using Type = weft::GradientAccumulation<Layers, Loss, weft::optim::Sgd, examples::Device>;

  explicit Single(int threads) : device(threads, /*index=*/0) {}

  static int default_ranks() { return 1; }
  static bool is_root() { return true; }
  static weft::index_t replicas() { return 1; }
  static void check_same(const weft::comm::Facts&) {}

  Type make(const ModelOptions& model, weft::index_t chunk, const weft::parallel::Recipe& recipe,
            weft::parallel::Recompute /*stages keep all*/) {
    return Type(device, Type::Objective(make_layers(model), weft::nn::CrossEntropy(), chunk),
                weft::optim::Sgd(), recipe);
  }

  //! Calls `train(strategy)`, and returns what it does.
  template <class Train>
  static int launch(const Options& options, const Train& train) {
    Single strategy(options.threads);
    return train(strategy);
  }

  examples::Device device;
};

}  // namespace language_model
