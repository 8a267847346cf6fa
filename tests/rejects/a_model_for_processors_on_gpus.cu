// expect: a module's forward must be a template over the device, so that it runs on any
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/cuda.cuh>

using namespace weft;

struct OnProcessors {
  template <class Self, class Visit>
  static constexpr void members(Self&, Visit&&) {}

  template <class D>
  struct Saved {};

  nn::Result<Rows<8>, Saved<Cpu>> forward(nn::Context<Cpu>&, const Rows<8>& x) const {
    return {x, {}};
  }
  Rows<8> backward(nn::Context<Cpu>&, Saved<Cpu>&&, const Rows<8>& dy) const { return dy; }
};

using Loss = Chunked<nn::BasicGenerator<8>, nn::CrossEntropy>;
using Train = DataParallel<OnProcessors, Loss, optim::Adam, Cuda>;

int devices(const Train& strategy) { return strategy.devices(); }
