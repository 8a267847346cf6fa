// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
// Trains on one device; `--micro-batches` accumulates gradients.

#include "../common/device.hpp"
#include "one_process.hpp"
#include "program.hpp"

#include <weft/parallel/gradient_accumulation.hpp>

struct Single : translation::OneProcess<Single> {
  static constexpr const char* name = "single";
  using Type = weft::GradientAccumulation<translation::Model, translation::Loss, weft::optim::Adam,
                                          examples::Device>;

  Single(int /*devices*/, int threads) : device(threads) {}

  static int most_devices() { return 1; }
  Type make(Type::Objective objective, const weft::optim::Adam& adam,
            const weft::parallel::Recipe& recipe) {
    return Type(device, std::move(objective), adam, recipe);
  }

  examples::Device device;
};

int main(int argc, char** argv) { return translation::run<Single>(argc, argv); }
