// expect: one of your own has all that comm::Communicator asks for
// names: split
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/comm/self.hpp>
#include <weft/parallel/distributed_data_parallel.hpp>
#include <weft/weft.hpp>

#include <optional>

using namespace weft;

struct Alone : comm::SelfCommunicator {
  static std::optional<Alone> split(int, int);
};

constexpr nn::TransformerShape shape{.d_model = 32, .heads = 4, .d_ff = 64};
using Model = nn::Transformer<shape>;
using Loss = Chunked<nn::Generator<shape>, nn::LabelSmoothing>;
using Train = DistributedDataParallel<Model, Loss, Zero<0>, optim::Adam, Cpu, Alone>;

void alone(Cpu& device, Alone& communicator, const Model& model) {
  Train train(device, communicator, Train::Objective(model), optim::Adam(), {.seed = 1});
}
