// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
// The time that a schedule takes, beside its simulation. The stages sleep: four of them are busy at
// once on however few cores.
#include <weft/parallel/schedule/simulate.hpp>

#include <weft/comm/launch.hpp>
#include <weft/parallel/pipeline_parallel.hpp>
#include <weft/parallel/pipeline_trace.hpp>
#include <weft/parallel/schedule/gpipe.hpp>
#include <weft/parallel/schedule/one_forward_one_backward.hpp>
#include <weft/parallel/schedule/zero_bubble.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <vector>

#include "small_pipes.hpp"

namespace simulated_time_tests {

using namespace weft;
using namespace weft::testing;
using namespace weft::parallel;

namespace {

//! Hands rows on, after a while; so does its backward pass, and the gradient of its weight.
struct Sleeper {
  nn::Parameter weight{.shape = {1}};

  static constexpr int sleep_us = 15'000;
  static void work() { std::this_thread::sleep_for(std::chrono::microseconds(sleep_us)); }

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("weight", self.weight);
  }

  template <class D>
  struct Saved {};

  template <class D>
  [[nodiscard]] nn::Result<Rows<pipe_channels, D>, Saved<D>> forward(
      nn::Context<D>&, const Rows<pipe_channels, D>& x) const {
    work();
    return {x, {}};
  }
  template <class D>
  [[nodiscard]] Rows<pipe_channels, D> backward(nn::Context<D>& ctx, Saved<D>&&,
                                                const Rows<pipe_channels, D>& dy) const {
    work();
    ctx.gradient(weight, [](View<float> dw, ops::Write) {
      work();
      dw.data[0] = 0.0f;
    });
    return dy;
  }
};

using First = nn::Sequential<PipeEmbedding, Sleeper>;
using Model = Pipe<GPipe<1>, First, Sleeper, Sleeper, Sleeper>;
using Loss = PipeLoss<false>;

struct Measured {
  double seconds;    // from the first begin to the last end
  double simulated;  // of the same works, at their mean costs
  bool is_quiet;     // whether these are at most a twentieth above the sleeps
};

Measured measure(const TableView& table) {
  std::vector<Trace> traces;
  comm::launch_threads(4, comm::Timeout(60), [&](comm::ThreadCommunicator& communicator) {
    Cpu cpu;
    PipelineParallel<Model, Loss> strategy(
        cpu, communicator,
        Objective<Model, Loss>(
            Model(First(PipeEmbedding(small_vocabulary, 24, 0.2f), {}), {}, {}, {}),
            nn::LabelSmoothing(0.1f), 5),
        optim::Adam(), {.micro_batches = table.micro_batches}, table);
    const auto batch = random_translations(table.micro_batches, 1);
    (void)strategy.step(WordsBatch(batch), 0.002);
    Trace mine;
    strategy.record(&mine);
    (void)strategy.step(WordsBatch(batch), 0.002);
    auto all = gathered_traces(communicator, mine);
    if (communicator.rank() == 0) traces = std::move(all);
  });
  double begin = traces[0][0].begin_s, end = begin, sums[3] = {};
  int counts[3] = {};
  for (const Trace& trace : traces) {
    for (const TraceEvent& event : trace) {
      begin = std::min(begin, event.begin_s);
      end = std::max(end, event.end_s);
      const int work = static_cast<int>(event.action.work());
      sums[work] += event.end_s - event.begin_s - event.waited_s;
      ++counts[work];
    }
  }
  const auto microseconds = [&](Work work) {
    const int i = static_cast<int>(work);
    return counts[i] == 0 ? 0 : static_cast<int>(std::lround(1e6 * sums[i] / counts[i]));
  };
  const Costs costs{microseconds(Work::forward), microseconds(Work::backward),
                    microseconds(Work::weight_gradients)};
  std::vector<int> ends(static_cast<std::size_t>(table.places()));
  std::vector<int> next(static_cast<std::size_t>(table.ranks));
  const int slept = 3 * Sleeper::sleep_us;
  return {end - begin, 1e-6 * simulate(table, costs, table.micro_batches, ends, next),
          20 * costs.all() <= 21 * slept};
}

//! Measures again, a few times, where other programs let sleepers oversleep.
Measured measure_in_quiet(const TableView& table) {
  Measured measured = measure(table);
  for (int again = 0; again < 4 && !measured.is_quiet; ++again) measured = measure(table);
  return measured;
}

}  // namespace

TEST_CASE("four stages take the time that their schedule's simulation says", "[slow]") {
  const auto check = [](const TableView& table) {
    const Measured measured = measure_in_quiet(table);
    CAPTURE(table.splits_backward, measured.seconds, measured.simulated);
    CHECK(measured.seconds > 0.95 * measured.simulated);
    CHECK(measured.seconds < 1.15 * measured.simulated);
    return measured;
  };
  check(table_of<GPipe<8>, 4>.view());
  const Measured one_f_one_b = check(table_of<OneForwardOneBackward<8>, 4>.view());
  const Measured zero_bubble = check(table_of<ZeroBubble<8>, 4>.view());
  // (8 + 3) 45 ms, and 8 x 45 ms + 3 x 30 ms - 3 x 15 ms: nine elevenths.
  CHECK(zero_bubble.simulated / one_f_one_b.simulated == Approx(9.0 / 11.0).epsilon(0.05));
  CHECK(zero_bubble.seconds < 0.93 * one_f_one_b.seconds);
}

}  // namespace simulated_time_tests
