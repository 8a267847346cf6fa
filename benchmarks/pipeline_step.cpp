// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// Training steps of two stages of equal size, each on a rank of one thread, with 8 micro-batches;
// and of the same model on one device of one thread. The first rank prints a JSON line: median
// seconds of a step, the loss of the first, the most memory that each process had, and with two
// ranks the share of the time in which each waited.
//
//     pipeline_step SCHEDULE SEQUENCES LENGTH REPEATS RANKS     (ranks that are threads: 1 or 2)
//     mpirun -n 2 pipeline_step SCHEDULE SEQUENCES LENGTH REPEATS
//
// SCHEDULE: gpipe, 1f1b, zero-bubble

#include <weft/comm/launch_ranks.hpp>
#include <weft/core/clock.hpp>
#include <weft/core/philox.hpp>
#include <weft/data/token_rows.hpp>
#include <weft/nn/criteria.hpp>
#include <weft/nn/embedding.hpp>
#include <weft/nn/encoder.hpp>
#include <weft/nn/generator.hpp>
#include <weft/nn/layer_norm.hpp>
#include <weft/nn/layer_stack.hpp>
#include <weft/nn/sequential.hpp>
#include <weft/parallel/chunked.hpp>
#include <weft/parallel/gradient_accumulation.hpp>
#include <weft/parallel/pipeline_parallel.hpp>
#include <weft/parallel/schedule/gpipe.hpp>
#include <weft/parallel/schedule/one_forward_one_backward.hpp>
#include <weft/parallel/schedule/zero_bubble.hpp>
#include <weft/train/device_batch.hpp>

#include <nlohmann/json.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

using namespace weft;

namespace {

constexpr index_t C = 512, vocabulary = 256;
constexpr int micro_batches = 8;
using Layer = nn::EncoderLayer<C, 8, 2048>;
using First = nn::Sequential<nn::Embedding<C>, nn::LayerStack<Layer, 4, C, false>>;
using Last = nn::LayerStack<Layer, 4, C, true>;
using Model = Pipe<OneForwardOneBackward<micro_batches>, First, Last>;
using Loss = Chunked<nn::BasicGenerator<C>, nn::LabelSmoothing>;

parallel::Objective<Model, Loss> objective() {
  const Layer layer(nn::Dropouts::everywhere(0.1f), true);
  return parallel::Objective<Model, Loss>(Model(First(nn::Embedding<C>(vocabulary, 1024, 0.1f),
                                                      nn::LayerStack<Layer, 4, C, false>(layer)),
                                                Last(layer)),
                                          nn::LabelSmoothing(0.1f), Loss::whole);
}

//! Sequences of random tokens, each token's label the next one.
struct RandomTokens {
  data::TokenRows rows;

  RandomTokens(index_t sequences, index_t length) {
    for (index_t i = 0; i < sequences; ++i) {
      for (index_t t = 0; t < length; ++t) {
        const auto number = static_cast<std::uint32_t>(i * length + t);
        rows.tokens.push_back(
            static_cast<token_t>(philox({number, 0, 0, 0}, RandomKey(1, 1))[0] % vocabulary));
      }
      rows.end_row();
    }
  }
  [[nodiscard]] index_t size() const { return rows.size(); }
  [[nodiscard]] std::uint64_t fingerprint() const { return rows.fingerprint(); }
  template <class D>
  [[nodiscard]] parallel::MicroBatch<TokenSequences<D>, D> part(D& device, Range range) const {
    auto input = train::to_sequences(device, rows, range);
    return {input, input.ids};
  }
};

const parallel::TableView& table_of(const std::string& schedule) {
  static const parallel::TableView tables[] = {
      parallel::table_of<GPipe<micro_batches>, 2>.view(),
      parallel::table_of<OneForwardOneBackward<micro_batches>, 2>.view(),
      parallel::table_of<ZeroBubble<micro_batches>, 2>.view()};
  const std::string names[] = {"gpipe", "1f1b", "zero_bubble"};
  const auto found = std::ranges::find(names, schedule) - std::begin(names);
  if (found == std::ssize(names)) throw ArgumentError("no schedule is called " + schedule);
  return tables[found];
}

struct Times {
  double median_s;
  double waiting;  // the median share
  double first_loss;
};

double peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

template <class Strategy>
Times measure(Strategy& strategy, const RandomTokens& batch, int repeats) {
  std::vector<double> seconds, waiting;
  double first_loss = 0.0;
  for (int repeat = 0; repeat < repeats + 1; ++repeat) {  // the first warms up
    const double begin = monotonic_seconds();
    const auto report = strategy.step(batch, 1e-4);
    if (repeat == 0) {
      first_loss = mean(report.loss.loss, report.loss.tokens).value();
      continue;
    }
    seconds.push_back(monotonic_seconds() - begin);
    waiting.push_back(report.exposed_s / seconds.back());
  }
  std::ranges::sort(seconds);
  std::ranges::sort(waiting);
  return {seconds[seconds.size() / 2], waiting[waiting.size() / 2], first_loss};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: see the head of pipeline_step.cpp\n");
    return 2;
  }
  const std::string schedule = argv[1];
  const RandomTokens batch(std::atol(argv[2]), std::atol(argv[3]));
  const int repeats = std::atoi(argv[4]);
  const auto environment = comm::read_environment();
  const int ranks = argc > 5 ? std::atoi(argv[5]) : environment.size;
  const parallel::Recipe recipe{.lanes = 1, .micro_batches = micro_batches};
  nlohmann::json line{{"suite", "pipeline_step"},
                      {"ranks", ranks},
                      {"sequences", batch.size()},
                      {"length", std::atol(argv[3])},
                      {"schedule", ranks > 1 ? schedule : "one device"}};
  if (ranks == 1) {
    Cpu device;
    GradientAccumulation<Model, Loss> strategy(device, objective(), optim::Adam(), recipe);
    const Times times = measure(strategy, batch, repeats);
    line["median_s"] = times.median_s;
    line["first_loss"] = times.first_loss;
    line["peak_bytes"] = peak_bytes();
    std::printf("%s\n", line.dump().c_str());
    return 0;
  }
  comm::launch_ranks(
      environment, ranks, comm::default_timeout, [&](comm::AnyCommunicator& communicator) {
        Cpu device;
        PipelineParallel<Model, Loss, Zero<0>, optim::Adam, Cpu, comm::AnyCommunicator> strategy(
            device, communicator, objective(), optim::Adam(), recipe, table_of(schedule));
        const Times times = measure(strategy, batch, repeats);
        std::array<double, 2> waiting{}, peak{};
        const auto rank = static_cast<std::size_t>(communicator.rank());
        waiting[rank] = times.waiting;
        peak[rank] = peak_bytes();
        comm::all_reduce(communicator, std::span<double>(waiting), {"all_reduce", "figures"});
        comm::all_reduce(communicator, std::span<double>(peak), {"all_reduce", "figures"});
        if (communicator.rank() != 0) return;
        line["median_s"] = times.median_s;
        line["first_loss"] = times.first_loss;
        line["peak_bytes"] = peak;
        line["waiting"] = waiting;
        std::printf("%s\n", line.dump().c_str());
      });
}
