// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// A module of one's own, checked by central differences, takes part in a model: it is placed,
// named, saved and trained as weft's own are, by any strategy.
//
//     build/examples/guides/guide_write_a_module
//
// Prints:
//   the gradient agrees with central differences: yes
//     0.weight (24, 16)
//     1.branch.gate.weight (40, 16)
//     1.branch.up.weight (40, 16)
//     1.branch.down.weight (16, 40)
//     2.weight (16)
//     2.bias (16)
//   the loss fell to less than half: yes
//   two devices end with the bits of one: yes

#include "reversal.hpp"

// [include]
#include "gated_feed_forward.hpp"

#include <weft/nn/initialize.hpp>
#include <weft/nn/parameter_layout.hpp>
#include <weft/testing/gradient_check.hpp>
#include <weft/testing/matrix.hpp>
#include <weft/testing/random.hpp>
#include <weft/weft.hpp>

#include <cstdio>
#include <span>
#include <utility>
#include <vector>

using namespace weft;
// [include]

const char* said(bool holds) { return holds ? "yes" : "no"; }

// [check]
//! Whether the gradients of <y, dy> with respect to all parameters, and to x, are those of central
//! differences.
template <class Module>
bool gradient_agrees(Module module) {
  Cpu device;
  nn::ParameterLayout layout;
  nn::place_trained(module, layout);  // where each parameter lies in the buffers
  nn::place_others(module, layout);   // and tables, behind what is trained
  auto values = nn::initial_values(layout, /*seed=*/1, module);
  nn::Gradients<Cpu> gradients(device, layout);

  const std::vector<index_t> lengths{3, 0, 2};  // three sequences, five rows in all
  const Rows<8> x{testing::random_tensor(device, {5, 8}, 2), make_layout<Cpu>(device, lengths)};
  const Rows<8> dy{testing::random_tensor(device, {5, 8}, 3), x.layout};
  nn::Context<Cpu> ctx(device, values.data(), gradients, RandomKey());
  auto [y, saved] = module.forward(ctx, x);
  const Rows<8> dx = module.backward(ctx, std::move(saved), dy);

  const auto loss = [&] {
    nn::Context<Cpu> evaluation(device, values.data());
    return testing::inner(testing::matrix(module.forward(evaluation, x).output.values),
                          testing::matrix(dy.values));
  };
  const auto agrees = [&](float* numbers, const float* gradient, index_t count) {
    const auto n = static_cast<std::size_t>(count);
    return testing::gradient_difference(std::span(numbers, n), std::span(gradient, n), loss,
                                        /*noise=*/1e-5)
        .empty();
  };
  return agrees(values.data(), gradients.data(), layout.trained) &&
         agrees(x.values.data(), dx.values.data(), x.values.size());
}
// [check]

// [model]
constexpr index_t C = 16;
using Model = nn::Sequential<nn::Embedding<C>, nn::Residual<guides::GatedFeedForward<C, 40>>,
                             nn::LayerNorm<C>>;
using Loss = Chunked<nn::BasicGenerator<C>, nn::LabelSmoothing>;
// [model]

//! The model reads a sentence and is to say it; each word is told from itself alone.
struct Copying {
  data::TranslationBatch batch;

  index_t size() const { return batch.size(); }
  parallel::MicroBatch<TokenSequences<Cpu>, Cpu> part(Cpu& device, Range range) const {
    return {train::to_sequences(device, batch.source, range),
            train::to_sequences(device, batch.source, range).ids};
  }
};

struct Outcome {
  double first = 0.0, last = 0.0;
  std::vector<float> values;
};

Outcome trained_on(int devices) {
  // [train]
  const DeviceGroup<Cpu> group(devices);
  DataParallel<Model, Loss> train(
      group,
      parallel::Objective<Model, Loss>(Model(nn::Embedding<C>(24, 16, 0.0f), {}, {}),
                                       nn::LabelSmoothing(0.0f)),
      optim::Adam(), {.seed = 1, .lanes = 2, .micro_batches = 2});
  // [train]
  Outcome outcome;
  for (std::uint32_t update = 0; update < 60; ++update) {
    const auto report = train.step(Copying{course::reversal_batch(32, update)}, /*rate=*/0.01);
    outcome.last = mean(report.loss.loss, report.loss.tokens).value();
    if (update == 0) outcome.first = outcome.last;
  }
  outcome.values = to_host(train.state().values());
  return outcome;
}

int main() {
  std::printf("the gradient agrees with central differences: %s\n",
              said(gradient_agrees(guides::GatedFeedForward<8, 12>())));
  for (const auto& [name, p] :
       nn::named_parameters(Model(nn::Embedding<C>(24, 16, 0.0f), {}, {}))) {
    if (!p.computed) std::printf("  %s %s\n", name.c_str(), to_text(p.shape).c_str());
  }
  const auto one = trained_on(1), two = trained_on(2);
  std::printf("the loss fell to less than half: %s\n", said(one.last < one.first / 2));
  std::printf("two devices end with the bits of one: %s\n", said(one.values == two.values));
}
