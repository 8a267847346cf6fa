// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
// Trains on several logical devices of this process.

#include "../common/device.hpp"
#include "one_process.hpp"
#include "program.hpp"

#include <weft/parallel/data_parallel.hpp>

struct Parallel : translation::OneProcess<Parallel> {
  static constexpr const char* name = "data_parallel";
  using Type = weft::DataParallel<translation::Model, translation::Loss, weft::optim::Adam,
                                  examples::Device>;

  Parallel(int devices, int threads) : group(devices, threads) {}

  static int most_devices() { return 1024; }
  Type make(Type::Objective objective, const weft::optim::Adam& adam,
            const weft::parallel::Recipe& recipe) {
    return Type(group, std::move(objective), adam, recipe);
  }

  weft::DeviceGroup<examples::Device> group;
};

int main(int argc, char** argv) { return translation::run<Parallel>(argc, argv); }
