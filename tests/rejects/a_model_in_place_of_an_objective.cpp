// expect: a strategy takes an objective of its own type, which places the parameters of model and
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/weft.hpp>

using namespace weft;

constexpr nn::TransformerShape shape{.d_model = 32, .heads = 4, .d_ff = 64};
using Model = nn::Transformer<shape>;
using Loss = Chunked<nn::Generator<shape>, nn::LabelSmoothing>;
using Train = DataParallel<Model, Loss>;

void without_an_objective(const DeviceGroup<Cpu>& devices, const Model& model) {
  Train train(devices, model, optim::Adam(), {.seed = 1});
}
