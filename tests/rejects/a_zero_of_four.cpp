// expect: ZeRO has the stages Zero<0> to Zero<3>
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/parallel/distributed_data_parallel.hpp>
#include <weft/weft.hpp>

using namespace weft;

constexpr nn::TransformerShape shape{.d_model = 32, .heads = 4, .d_ff = 64};
using Model = nn::Transformer<shape>;
using Loss = Chunked<nn::Generator<shape>, nn::LabelSmoothing>;

using Train = DistributedDataParallel<Model, Loss, Zero<4>>;

int devices(const Train& strategy) { return strategy.devices(); }
