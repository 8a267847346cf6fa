// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// Logits are the largest array of a translation model. `Chunked` makes them for a few positions of
// each sentence at a time: less memory, the same loss and gradients.
//
//     build/examples/course/05_chunked_loss
//
// Prints:
//   a chunk of 4 positions needs less than a fifth of the memory of all 64 at once: yes
//   the losses agree to a millionth: yes

#include <weft/nn/criteria.hpp>
#include <weft/nn/generator.hpp>
#include <weft/nn/initialize.hpp>
#include <weft/parallel/chunked.hpp>

#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

using namespace weft;

constexpr index_t C = 16, V = 4000, B = 4, T = 64;
using Generator = nn::BasicGenerator<C>;
using Loss = Chunked<Generator, nn::LabelSmoothing>;

//! The loss of B sentences of T positions, and the most memory that was in use.
std::pair<double, index_t> loss_and_memory(index_t chunk) {
  Loss loss(Generator(V), nn::LabelSmoothing(0.1f), chunk);
  nn::ParameterLayout layout;
  nn::place_trained(loss, layout);
  const auto values = nn::initial_values(layout, /*seed=*/1, loss);

  Cpu device;
  nn::Gradients<Cpu> gradients(device, layout);
  std::vector<float> numbers(static_cast<std::size_t>(B * T * C));
  std::vector<token_t> words(static_cast<std::size_t>(B * T));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::sin(static_cast<float>(i));
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<token_t>(37 * i % V);
  const std::vector<index_t> lengths(B, T);
  const Rows<C> x{to_device<float>(device, numbers, {B * T, C}),
                  make_layout<Cpu>(device, lengths)};
  const auto labels = to_device<token_t>(device, words, {B * T});

  nn::Context<Cpu> ctx(device, values.data(), gradients, RandomKey());
  device.memory().reset_peak();
  const auto before = device.memory().statistics().live;
  const auto sum = loss.forward(ctx, x, labels).output;
  return {sum.loss.value(), device.memory().statistics().peak - before};
}

int main() {
  const auto [whole_loss, whole_memory] = loss_and_memory(Loss::whole);
  const auto [chunk_loss, chunk_memory] = loss_and_memory(4);
  std::printf("a chunk of 4 positions needs less than a fifth of the memory of all 64 at once: %s\n",
              5 * chunk_memory < whole_memory ? "yes" : "no");
  std::printf("the losses agree to a millionth: %s\n",
              std::abs(chunk_loss - whole_loss) < 1e-6 * whole_loss ? "yes" : "no");
}
