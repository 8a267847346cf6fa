// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// The alias `Train` changes, and the first argument is a group of devices: the same updates on 1, 2
// and 4 of them end with the same bits.
//
//     build/examples/course/04_data_parallel
//
// Prints:
//   2 devices: the parameters are those of one device, bit for bit
//   4 devices: the parameters are those of one device, bit for bit

#include "reversal.hpp"

#include <weft/weft.hpp>

#include <cstdio>
#include <vector>

using namespace weft;

constexpr nn::TransformerShape shape{
    .d_model = 32, .heads = 4, .d_ff = 64, .encoder_layers = 1, .decoder_layers = 1};
using Model = nn::Transformer<shape>;
using Loss = Chunked<nn::Generator<shape>, nn::LabelSmoothing>;
using Train = DataParallel<Model, Loss>;

std::vector<float> train_on(int devices) {
  const DeviceGroup<Cpu> group(devices);
  // Four lanes of gradients, whatever the number of devices: the order of sums is the recipe's.
  Train train(group,
              Train::Objective(Model({.source_vocabulary = 24, .target_vocabulary = 24,
                                      .longest = 16},
                                     nn::Dropouts::everywhere(0.1f)),
                               nn::LabelSmoothing(0.1f)),
              optim::Adam(), {.seed = 1, .lanes = 4, .micro_batches = 8});
  for (std::uint32_t update = 0; update < 20; ++update) {
    const auto batch = course::reversal_batch(/*sentences=*/29, update);
    (void)train.step(train::DeviceBatch(batch), /*rate=*/0.005);
  }
  return to_host(train.state().values());
}

int main() {
  const auto expected = train_on(1);
  for (const int devices : {2, 4}) {
    std::printf("%d devices: the parameters are %s\n", devices,
                train_on(devices) == expected ? "those of one device, bit for bit" : "others");
  }
}
