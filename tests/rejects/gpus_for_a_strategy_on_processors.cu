// expect: the device is of another type than the strategy's, which is Cpu if it is not named
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/cuda.cuh>

using namespace weft;

constexpr nn::TransformerShape shape{.d_model = 32, .heads = 4, .d_ff = 64};
using Model = nn::Transformer<shape>;
using Loss = Chunked<nn::Generator<shape>, nn::LabelSmoothing>;
using Train = DataParallel<Model, Loss>;

void on_gpus(const DeviceGroup<Cuda>& gpus, const Model& model) {
  Train train(gpus, Train::Objective(model), optim::Adam(), {.seed = 1});
}
