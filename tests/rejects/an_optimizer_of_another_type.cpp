// expect: the optimizer is of another type than the strategy's, which is optim::Adam if it is not
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/weft.hpp>

using namespace weft;

constexpr nn::TransformerShape shape{.d_model = 32, .heads = 4, .d_ff = 64};
using Model = nn::Transformer<shape>;
using Loss = Chunked<nn::Generator<shape>, nn::LabelSmoothing>;
using Train = DataParallel<Model, Loss>;

void with_weight_decay(const DeviceGroup<Cpu>& devices, const Model& model) {
  Train train(devices, Train::Objective(model), optim::AdamW(), {.seed = 1});
}
