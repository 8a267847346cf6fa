// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// Generator and loss of 32 x 256 tokens over 32,000 words, forward and backward: in chunks of 5
// positions and all at once, in turn. Prints a JSON line for each with the time and with the most
// memory that was in use, without inputs, parameters and their gradients: that of the logits.
//
//     chunked_loss THREADS [REPEATS]

#include <weft/core/clock.hpp>
#include <weft/nn/criteria.hpp>
#include <weft/nn/generator.hpp>
#include <weft/nn/initialize.hpp>
#include <weft/parallel/chunked.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

using namespace weft;

namespace {

constexpr index_t B = 32, T = 256, C = 512, V = 32000;
using Generator = nn::BasicGenerator<C>;
using Objective = Chunked<Generator, nn::LabelSmoothing>;

struct Subject {
  index_t chunk;
  std::vector<double> times_ms{};
  index_t peak_bytes = 0;
  double loss = 0.0;
};

double quartile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  const int repeats = argc > 2 ? std::atoi(argv[2]) : 10;
  Objective place(Generator(V), nn::LabelSmoothing(0.1f));
  nn::ParameterLayout layout;
  nn::place_trained(place, layout);
  const auto values = nn::initial_values(layout, /*seed=*/1, place);

  Cpu device(threads);
  nn::Gradients<Cpu> gradients(device, layout);
  std::vector<float> numbers(static_cast<std::size_t>(B * T * C));
  std::vector<token_t> words(static_cast<std::size_t>(B * T));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::sin(static_cast<float>(i));
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<token_t>(37 * i % V);
  const std::vector<index_t> lengths(B, T);
  const Rows<C> x{to_device<float>(device, numbers, {B * T, C}), make_layout<Cpu>(device, lengths)};
  const auto labels = to_device<token_t>(device, words, {B * T});

  Subject subjects[] = {{5}, {Objective::whole}};
  for (int repeat = 0; repeat < repeats + 2; ++repeat) {  // the first two warm up
    for (Subject& subject : subjects) {
      Objective loss = place;
      loss.chunk = subject.chunk;
      gradients.begin();
      nn::Context<Cpu> ctx(device, values.data(), gradients, RandomKey());
      device.memory().reset_peak();
      const index_t before = device.memory().statistics().live;
      const double begin = monotonic_seconds();
      const auto [sum, saved] = loss.forward(ctx, x, labels);
      const double time_ms = 1e3 * (monotonic_seconds() - begin);
      subject.peak_bytes = device.memory().statistics().peak - before - saved.dx.size() * 4;
      subject.loss = sum.loss.value();
      if (repeat >= 2) subject.times_ms.push_back(time_ms);
    }
  }
  if (std::abs(subjects[0].loss - subjects[1].loss) > 1e-6 * subjects[1].loss) {
    std::fprintf(stderr, "the losses differ: %.9g and %.9g\n", subjects[0].loss, subjects[1].loss);
    return 1;
  }
  for (const Subject& subject : subjects) {
    std::printf(
        "{\"suite\": \"chunked_loss\", \"subject\": \"weft\", \"metric\": \"time_ms\", "
        "\"chunk\": %lld, \"threads\": %d, \"repeats\": %d, \"median\": %.2f, "
        "\"lower_quartile\": %.2f, \"upper_quartile\": %.2f, \"peak_bytes\": %lld}\n",
        static_cast<long long>(std::min(subject.chunk, T)), threads, repeats,
        quartile(subject.times_ms, 0.5), quartile(subject.times_ms, 0.25),
        quartile(subject.times_ms, 0.75), static_cast<long long>(subject.peak_bytes));
  }
}
