// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/parallel/pipeline_parallel.hpp>

#include <weft/comm/launch.hpp>
#include <weft/core/clock.hpp>
#include <weft/nn/layer_stack.hpp>
#include <weft/parallel/gradient_accumulation.hpp>
#include <weft/parallel/schedule/gpipe.hpp>
#include <weft/parallel/schedule/interleaved.hpp>
#include <weft/parallel/schedule/one_forward_one_backward.hpp>
#include <weft/parallel/schedule/zero_bubble.hpp>

#include <catch2/catch.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../message_of.hpp"
#include "small_pipes.hpp"

namespace pipeline_parallel_tests {

using namespace weft;
using namespace weft::testing;
using comm::ThreadCommunicator;
using parallel::Recipe;
using parallel::Recompute;
using parallel::Shard;
using parallel::TableView;

namespace {

constexpr comm::Timeout patience{60.0};
const optim::Adam decaying_adam({.weight_decay = 0.1});

//! What a training leaves.
struct PipeOutcome {
  std::vector<double> losses;
  std::vector<double> norms;
  std::vector<float> values;
  double evaluated = 0.0;

  friend bool operator==(const PipeOutcome&, const PipeOutcome&) = default;
};

template <class Strategy>
PipeOutcome train_on_words(Strategy& strategy, int updates) {
  PipeOutcome outcome;
  for (int update = 0; update < updates; ++update) {
    const auto batch =
        random_translations(update % 4 == 3 ? 2 : 13, static_cast<std::uint32_t>(update));
    const auto report = strategy.step(WordsBatch(batch), 0.002);
    outcome.losses.push_back(report.loss.loss.value());
    outcome.norms.push_back(report.gradient_norm);
  }
  const auto batch = random_translations(13, 1000);
  outcome.evaluated = strategy.evaluate(WordsBatch(batch)).loss.value();
  [[maybe_unused]] const auto whole = strategy.whole_values();
  outcome.values = to_host(strategy.state().values());
  return outcome;
}

//! A Pipe of so many stages; it runs other tables too.
template <int stages, bool tied>
using Small = decltype(small_pipe_objective<GPipe<1>, stages, tied>());

constexpr Recipe recipe_of(int replicas, int micro_batches) {
  return {.seed = 5,
          .lanes = replicas,
          .micro_batches = index_t{replicas} * micro_batches,
          .clip_norm = 1.0};
}

template <int stages, bool tied, bool frozen = false>
PipeOutcome on_one_device(const Recipe& recipe, int updates) {
  using Model = std::remove_cvref_t<decltype(std::declval<Small<stages, tied>>().model())>;
  Cpu device;
  GradientAccumulation<Model, PipeLoss<tied>> single(
      device, small_pipe_objective<GPipe<1>, stages, tied, frozen>(), decaying_adam, recipe);
  return train_on_words(single, updates);
}

//! Whether each rank ends as one device does.
template <int stages, bool tied = false, Shard shard = Zero<0>, bool frozen = false>
std::vector<int> ends_alike(const TableView& table, int replicas, const PipeOutcome& expected,
                            int updates, Recompute recompute = Recompute::never) {
  using Model = std::remove_cvref_t<decltype(std::declval<Small<stages, tied>>().model())>;
  std::vector<int> alike(static_cast<std::size_t>(table.ranks * replicas));
  comm::launch_threads(table.ranks * replicas, patience, [&](ThreadCommunicator& communicator) {
    Cpu cpu;
    PipelineParallel<Model, PipeLoss<tied>, shard> strategy(
        cpu, communicator, small_pipe_objective<GPipe<1>, stages, tied, frozen>(), decaying_adam,
        recipe_of(replicas, table.micro_batches), table, recompute, {2 * ops::block_size * 4, 4});
    alike[static_cast<std::size_t>(communicator.rank())] =
        train_on_words(strategy, updates) == expected ? 1 : 0;
  });
  return alike;
}

//! Compares all schedules, on as many ranks as there are stages, or half as many.
template <int stages, int M>
void expect_one_answer() {
  constexpr int updates = 20;
  const auto expected = on_one_device<stages, false>(recipe_of(1, M), updates);
  const auto check = [&](const TableView& table) {
    CAPTURE(stages, table.ranks, M, table.splits_backward);
    CHECK(ends_alike<stages>(table, 1, expected, updates) ==
          std::vector<int>(static_cast<std::size_t>(table.ranks), 1));
  };
  check(parallel::table_of<GPipe<M>, stages>.view());
  check(parallel::table_of<OneForwardOneBackward<M>, stages>.view());
  check(parallel::table_of<ZeroBubble<M>, stages>.view());
  check(parallel::table_of<Interleaved<M, 1>, stages>.view());
  if constexpr (stages % 2 == 0) {
    check(parallel::table_of<Interleaved<M, 2>, stages / 2>.view());
  }
}

}  // namespace

TEMPLATE_TEST_CASE_SIG("every schedule gives the bits of one device that accumulates", "",
                       ((int stages), stages), 1, 2, 3, 4, 8) {
  expect_one_answer<stages, 1>();
  expect_one_answer<stages, 2>();
  expect_one_answer<stages, 3>();
  expect_one_answer<stages, 8>();
}

TEST_CASE("replicas of a pipeline give the bits of one device with a lane for each") {
  constexpr int updates = 6;
  for (const int replicas : {2, 3}) {
    const auto check = [&]<int stages>(const TableView& table) {
      const auto expected =
          on_one_device<stages, false>(recipe_of(replicas, table.micro_batches), updates);
      const std::vector<int> all(static_cast<std::size_t>(table.ranks * replicas), 1);
      CAPTURE(replicas, table.ranks);
      CHECK(ends_alike<stages>(table, replicas, expected, updates) == all);
      CHECK(ends_alike<stages, false, Zero<1>>(table, replicas, expected, updates) == all);
    };
    check.template operator()<2>(parallel::table_of<OneForwardOneBackward<3>, 2>.view());
    check.template operator()<4>(parallel::table_of<ZeroBubble<3>, 4>.view());
    check.template operator()<4>(parallel::table_of<Interleaved<3, 2>, 2>.view());
  }
}

TEST_CASE("a weight that the first and the last stage share is one weight") {
  constexpr int updates = 6;
  for (const int replicas : {1, 2}) {
    const auto table = parallel::table_of<OneForwardOneBackward<3>, 2>.view();
    const auto expected = on_one_device<2, true>(recipe_of(replicas, 3), updates);
    const std::vector<int> all(static_cast<std::size_t>(2 * replicas), 1);
    CHECK(ends_alike<2, true>(table, replicas, expected, updates) == all);
    CHECK(ends_alike<2, true, Zero<1>>(table, replicas, expected, updates) == all);
  }
}

TEST_CASE("a weight that the first and the last stage share may be frozen") {
  constexpr int updates = 6;
  const auto table = parallel::table_of<OneForwardOneBackward<3>, 2>.view();
  for (const int replicas : {1, 2}) {
    const auto expected = on_one_device<2, true, true>(recipe_of(replicas, 3), updates);
    const std::vector<int> all(static_cast<std::size_t>(2 * replicas), 1);
    CHECK(ends_alike<2, true, Zero<0>, true>(table, replicas, expected, updates) == all);
    CHECK(ends_alike<2, true, Zero<1>, true>(table, replicas, expected, updates) == all);
  }
}

TEST_CASE("stages that compute their forward again give the same bits") {
  constexpr int updates = 6;
  const auto expected = on_one_device<3, false>(recipe_of(1, 4), updates);
  for (const Recompute recompute : {Recompute::except_last, Recompute::always}) {
    for (const TableView& table : {parallel::table_of<OneForwardOneBackward<4>, 3>.view(),
                                   parallel::table_of<ZeroBubble<4>, 3>.view()}) {
      CHECK(ends_alike<3>(table, 1, expected, updates, recompute) == std::vector<int>(3, 1));
    }
  }
}

namespace {

//! The most bytes that rank 0 of four, with three layers each, held in an update of 32
//! micro-batches, and between updates.
std::pair<index_t, index_t> memory_of_first_rank(const TableView& table, Recompute recompute) {
  using Layers = nn::LayerStack<PipeLayer, 3, pipe_channels, false>;
  using First = nn::Sequential<PipeEmbedding, Layers>;
  using Model = Pipe<GPipe<1>, First, Layers, Layers, Layers>;
  const Layers layers{PipeLayer(pipe_dropouts, true)};
  const First first(PipeEmbedding(small_vocabulary, 24, 0.2f), layers);
  std::pair<index_t, index_t> bytes;
  comm::launch_threads(4, patience, [&](ThreadCommunicator& communicator) {
    Cpu cpu;
    PipelineParallel<Model, PipeLoss<false>> strategy(
        cpu, communicator,
        parallel::Objective<Model, PipeLoss<false>>(Model(first, layers, layers, layers),
                                                    nn::LabelSmoothing(0.1f), 5),
        optim::Adam(), recipe_of(1, 32), table, recompute);
    const auto batch = random_translations(32 * 40, 1);
    const index_t before = cpu.memory().statistics().live;
    (void)strategy.step(WordsBatch(batch), 0.002);
    if (communicator.rank() == 0) bytes = {cpu.memory().statistics().peak, before};
  });
  return bytes;
}

}  // namespace

TEST_CASE("a rank holds the activations that its table says, or inputs and one micro-batch's") {
  const auto activations = [](const TableView& table, Recompute recompute) {
    const auto [peak, before] = memory_of_first_rank(table, recompute);
    return static_cast<double>(peak - before);
  };
  const auto all = parallel::table_of<GPipe<32>, 4>.view();
  const auto few = parallel::table_of<OneForwardOneBackward<32>, 4>.view();
  const double of_all = activations(all, Recompute::never);
  CAPTURE(of_all, activations(few, Recompute::never), activations(all, Recompute::always));
  CHECK(activations(few, Recompute::never) < of_all / 6);
  CHECK(activations(all, Recompute::always) < of_all / 6);
}

TEST_CASE("a pipeline that cannot run is refused with what it lacks") {
  using Model = std::remove_cvref_t<decltype(std::declval<Small<2, false>>().model())>;
  const auto refusal = [](int ranks, const Recipe& recipe, const TableView& table) {
    std::vector<std::string> said(static_cast<std::size_t>(ranks));
    comm::launch_threads(ranks, patience, [&](ThreadCommunicator& communicator) {
      Cpu cpu;
      said[static_cast<std::size_t>(communicator.rank())] = message_of<ArgumentError>([&] {
        PipelineParallel<Model, PipeLoss<false>> strategy(
            cpu, communicator, small_pipe_objective<GPipe<1>, 2>(), optim::Adam(), recipe, table);
        return strategy.rank();
      });
    });
    CHECK(said == std::vector<std::string>(said.size(), said.front()));
    return said.front();
  };
  const auto two = parallel::table_of<GPipe<3>, 2>.view();
  CHECK(refusal(3, recipe_of(1, 3), two) ==
        "a Pipe on 2 ranks needs these for each replica, not 3 in all");
  CHECK(refusal(1, recipe_of(1, 3), parallel::table_of<GPipe<3>, 1>.view()) ==
        "a Pipe of 2 stages cannot run a table of 1");
  parallel::Table<2, 4> halved{.stages = 2, .micro_batches = 3};
  for (int rank = 0; rank < 2; ++rank) {
    for (const auto work : {parallel::Work::forward, parallel::Work::backward}) {
      for (int m = 0; m < 2; ++m) halved.add(rank, {work, rank, m});
    }
  }
  CHECK(refusal(2, recipe_of(1, 3), halved.view()) ==
        "the table of a pipeline: rank 0: forward of micro-batch 2 in stage 0 is missing");
  const std::string needs =
      ": needs a lane for each replica, and no more micro-batches in it than the table has";
  CHECK(refusal(2, recipe_of(1, 4), two) ==
        "a recipe of 1 lanes and 4 micro-batches, for 1 replicas of a pipeline whose table has 3" +
            needs);
  CHECK(refusal(4, recipe_of(1, 3), two) ==
        "a recipe of 1 lanes and 3 micro-batches, for 2 replicas of a pipeline whose table has 3" +
            needs);
}

TEST_CASE("stages that a rank has apart in one block are refused on all ranks") {
  using First = nn::Sequential<PipeEmbedding, PipeLayer>;
  using Model = Pipe<Interleaved<2, 2>, First, PipeNorm, PipeNorm, PipeLayer>;
  std::vector<std::string> said(2);
  comm::launch_threads(2, patience, [&](ThreadCommunicator& communicator) {
    Cpu cpu;
    const Model model(First(PipeEmbedding(small_vocabulary, 24, 0.2f), PipeLayer()), {}, {}, {});
    said[static_cast<std::size_t>(communicator.rank())] = message_of<ArgumentError>([&] {
      PipelineParallel<Model, PipeLoss<false>> strategy(
          cpu, communicator,
          parallel::Objective<Model, PipeLoss<false>>(model, nn::LabelSmoothing(0.1f), 5),
          optim::Adam(), recipe_of(1, 2));
      return strategy.rank();
    });
  });
  CHECK(said[1] == said[0]);
  CHECK_THAT(said[0], Catch::StartsWith("the stages of rank "));
}

namespace {

//! The order in which rank 0 of two works on so many sentences, in micro-batches of which there are
//! eight.
std::string order_of_first_rank(index_t sentences) {
  std::string order;
  comm::launch_threads(2, patience, [&](ThreadCommunicator& communicator) {
    Cpu cpu;
    using Model = std::remove_cvref_t<decltype(std::declval<Small<2, false>>().model())>;
    PipelineParallel<Model, PipeLoss<false>> strategy(
        cpu, communicator, small_pipe_objective<GPipe<1>, 2>(), optim::Adam(), recipe_of(1, 8),
        parallel::table_of<OneForwardOneBackward<8>, 2>.view());
    parallel::Trace trace;
    strategy.record(&trace);
    const auto batch = random_translations(sentences, 1);
    (void)strategy.step(WordsBatch(batch), 0.002);
    if (communicator.rank() > 0) return;
    for (const parallel::TraceEvent& event : trace) {
      order += event.action.work() == parallel::Work::forward ? 'F' : 'B';
      order += std::to_string(event.action.micro_batch());
    }
  });
  return order;
}

}  // namespace

TEST_CASE("a batch of few sentences takes the first turns of the table") {
  CHECK(order_of_first_rank(8) == "F0F1B0F2B1F3B2F4B3F5B4F6B5F7B6B7");
  CHECK(order_of_first_rank(3) == "F0F1B0F2B1B2");
  CHECK(order_of_first_rank(1) == "F0B0");
}

namespace {

//! A layer that counts its forward passes, and fails in one of them.
struct Counting {
  std::shared_ptr<std::atomic<int>> calls = std::make_shared<std::atomic<int>>(0);
  int fails_in = 0;  // 0: in none

  template <class Self, class Visit>
  static constexpr void members(Self&, Visit&&) {}

  template <class D>
  struct Saved {};

  template <class D>
  [[nodiscard]] nn::Result<Rows<pipe_channels, D>, Saved<D>> forward(
      nn::Context<D>&, const Rows<pipe_channels, D>& x) const {
    if (++*calls == fails_in) throw DataError("the third micro-batch");
    return {x, {}};
  }
  template <class D>
  [[nodiscard]] Rows<pipe_channels, D> backward(nn::Context<D>&, Saved<D>&&,
                                                const Rows<pipe_channels, D>& dy) const {
    return dy;
  }
};

}  // namespace

TEST_CASE("stages compute again what their rank would have to keep") {
  // How often the first and the last of two stages compute the forward of eight micro-batches.
  const auto forwards = [](Recompute recompute) {
    using First = nn::Sequential<PipeEmbedding, PipeLayer, Counting>;
    using Last = nn::Sequential<Counting, PipeNorm>;
    using Model = Pipe<OneForwardOneBackward<8>, First, Last>;
    const Counting first, last;
    comm::launch_threads(2, patience, [&](ThreadCommunicator& communicator) {
      Cpu cpu;
      const Model model(First(PipeEmbedding(small_vocabulary, 24, 0.2f), PipeLayer(), first),
                        Last(last, PipeNorm()));
      PipelineParallel<Model, PipeLoss<false>> strategy(
          cpu, communicator,
          parallel::Objective<Model, PipeLoss<false>>(model, nn::LabelSmoothing(0.1f), 5),
          optim::Adam(), recipe_of(1, 8), Model::table(), recompute);
      const auto batch = random_translations(16, 1);
      (void)strategy.step(WordsBatch(batch), 0.002);
    });
    return std::pair(first.calls->load(), last.calls->load());
  };
  CHECK(forwards(Recompute::never) == std::pair(8, 8));
  CHECK(forwards(Recompute::except_last) == std::pair(16, 8));
  CHECK(forwards(Recompute::always) == std::pair(16, 16));
}

TEST_CASE("a stage that throws ends all stages, and its rank is named") {
  using First = nn::Sequential<PipeEmbedding, PipeLayer>;
  using Model = Pipe<OneForwardOneBackward<8>, First, Counting, PipeNorm>;
  std::atomic<int> told = 0;
  const double begin = monotonic_seconds();
  try {
    comm::launch_threads(3, patience, [&](ThreadCommunicator& communicator) {
      Cpu cpu;
      const Model model(First(PipeEmbedding(small_vocabulary, 24, 0.2f), PipeLayer()),
                        Counting{.fails_in = 3}, {});
      PipelineParallel<Model, PipeLoss<false>> strategy(
          cpu, communicator,
          parallel::Objective<Model, PipeLoss<false>>(model, nn::LabelSmoothing(0.1f), 5),
          optim::Adam(), recipe_of(1, 8));
      const auto batch = random_translations(16, 1);
      try {
        (void)strategy.step(WordsBatch(batch), 0.002);
      } catch (const comm::CommunicatorAborted& error) {
        if (error.culprit() == 1 && error.message() == "rank 1 failed: the third micro-batch") {
          ++told;
        }
        throw;
      }
    });
    FAIL("nothing was thrown");
  } catch (const comm::RankError& error) {
    CHECK(error.message() == "rank 1: the third micro-batch");
  }
  CHECK(told == 2);
  CHECK(monotonic_seconds() - begin < 10.0);
}

TEST_CASE("all parameters of a pipeline are there until the last holder has gone, and no longer") {
  using Model = std::remove_cvref_t<decltype(std::declval<Small<2, true>>().model())>;
  std::vector<std::string> faults(2);
  comm::launch_threads(2, patience, [&](ThreadCommunicator& communicator) {
    Cpu device;
    PipelineParallel<Model, PipeLoss<true>> strategy(
        device, communicator, small_pipe_objective<GPipe<1>, 2, true>(), optim::Adam(),
        recipe_of(1, 2), parallel::table_of<GPipe<2>, 2>.view());
    std::string& fault = faults[static_cast<std::size_t>(communicator.rank())];
    const auto values = [&] { return to_host(strategy.state().values()); };
    const auto batch = random_translations(13, 1);
    const auto step = [&] { return strategy.step(WordsBatch(batch), 0.01); };
    const auto own = values();
    std::vector<float> all;
    {
      const auto outer = strategy.whole_values();
      all = values();
      if (all == own) fault = "nothing was gathered";
      { const auto inner = strategy.whole_values(); }
      if (values() != all) fault = "given back too early";
      if (!message_of(step).starts_with("step: what whole_values() returned")) fault = "updated";
    }
    if (values() == all) fault = "not given back";
    (void)step();
  });
  CHECK(faults == std::vector<std::string>(2));
}

}  // namespace pipeline_parallel_tests
