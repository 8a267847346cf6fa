// expect: the communicator is of another type than the strategy's, which is
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/comm/self.hpp>
#include <weft/parallel/distributed_data_parallel.hpp>
#include <weft/weft.hpp>

using namespace weft;

constexpr nn::TransformerShape shape{.d_model = 32, .heads = 4, .d_ff = 64};
using Model = nn::Transformer<shape>;
using Loss = Chunked<nn::Generator<shape>, nn::LabelSmoothing>;
using Train = DistributedDataParallel<Model, Loss>;

void alone(Cpu& device, comm::SelfCommunicator& communicator, const Model& model) {
  Train train(device, communicator, Train::Objective(model), optim::Adam(), {.seed = 1});
}
