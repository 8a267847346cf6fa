// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// A module declares its parameters and has forward and backward. Here: y = x * gain, a gain a
// channel. It composes with others, and the compiler counts the parameters.
//
//     build/examples/course/02_your_own_module
//
// Prints:
//   57 parameters
//     0.weight (8, 4) at 0
//     0.bias (8) at 32
//     1.gain (8) at 40
//     2.weight (1, 8) at 48
//     2.bias (1) at 56
//   the gradient agrees with central differences: yes

#include <weft/nn/initialize.hpp>
#include <weft/nn/linear.hpp>
#include <weft/nn/parameter_layout.hpp>
#include <weft/nn/sequential.hpp>
#include <weft/ops/rows.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

using namespace weft;

template <index_t C>
struct Gain {
  nn::Parameter gain{.shape = {C}, .initializer = nn::Initializer::constant(1.0f)};

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("gain", self.gain);
  }

  template <class D>
  struct Saved {  // what backward needs: kept by the caller, not by the module
    Tensor<float, D> x;
  };

  template <class D>
  nn::Result<Rows<C, D>, Saved<D>> forward(nn::Context<D>& ctx, const Rows<C, D>& x) const {
    const Rows<C, D> y{ctx.empty(x.values.shape()), x.layout};
    multiply(x.values, ctx.value(gain), y.values);
    return {y, {x.values}};
  }

  template <class D>
  Rows<C, D> backward(nn::Context<D>& ctx, Saved<D>&& saved, const Rows<C, D>& dy) const {
    ctx.gradient(gain, [x = saved.x, dy = dy.values](View<float> dgain, ops::Write write) {
      if (write == ops::Write::replace) std::fill_n(dgain.data, C, 0.0f);
      for (index_t i = 0; i < x.size(); ++i) dgain.data[i % C] += x.data()[i] * dy.data()[i];
    });
    const Rows<C, D> dx{ctx.empty(dy.values.shape()), dy.layout};
    multiply(dy.values, ctx.value(gain), dx.values);
    return dx;
  }

 private:
  static void multiply(View<const float> x, View<const float> g, View<float> y) {
    for (index_t i = 0; i < x.size(); ++i) y.data[i] = x.data[i] * g.data[i % C];
  }
};

using Model = nn::Sequential<nn::Linear<4, 8>, Gain<8>, nn::Linear<8, 1>>;
static_assert(nn::parameter_count(Model()) == 4 * 8 + 8 + 8 + 8 + 1);

int main() {
  Model model;
  nn::ParameterLayout layout;
  nn::place_trained(model, layout);
  std::printf("%lld parameters\n", static_cast<long long>(nn::parameter_count(model)));
  for (const auto& [name, p] : nn::named_parameters(model)) {
    std::printf("  %s %s at %lld\n", name.c_str(), to_text(p.shape).c_str(),
                static_cast<long long>(p.value_offset));
  }

  // The sum of the outputs of three rows, and its gradient.
  Cpu device;
  auto values = nn::initial_values(layout, /*seed=*/1, model);
  const std::vector<index_t> lengths{3};
  const std::vector<float> inputs{1, 2, 3, 4, 0, -1, 1, 0, 2, 2, -2, 1};
  const Rows<4> x{to_device<float>(device, inputs, {3, 4}), make_layout<Cpu>(device, lengths)};
  nn::Gradients<Cpu> gradients(device, layout);
  const auto sum_of_outputs = [&] {
    nn::Context<Cpu> ctx(device, values.data(), gradients, RandomKey());
    double sum = 0.0;
    for (const float y : to_host(model.forward(ctx, x).output.values)) sum += y;
    return sum;
  };
  {
    nn::Context<Cpu> ctx(device, values.data(), gradients, RandomKey());
    auto [y, saved] = model.forward(ctx, x);
    const std::vector<float> ones(3, 1.0f);
    (void)model.backward(ctx, std::move(saved),
                         Rows<1>{to_device<float>(device, ones, {3, 1}), x.layout});
  }
  bool agrees = true;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float before = values[i], h = 1e-2f;
    values[i] = before + h;
    const double above = sum_of_outputs();
    values[i] = before - h;
    const double below = sum_of_outputs();
    values[i] = before;
    agrees = agrees && std::abs((above - below) / (2.0 * h) - gradients.data()[i]) < 1e-2;
  }
  std::printf("the gradient agrees with central differences: %s\n", agrees ? "yes" : "no");
}
