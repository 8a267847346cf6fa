// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
// Encoder-decoder models in stages: what several layers read goes with the rows.
#include <weft/parallel/pipeline_parallel.hpp>

#include <weft/comm/launch.hpp>
#include <weft/nn/translation_steps.hpp>
#include <weft/parallel/gradient_accumulation.hpp>
#include <weft/parallel/schedule/gpipe.hpp>
#include <weft/parallel/schedule/interleaved.hpp>
#include <weft/parallel/schedule/one_forward_one_backward.hpp>
#include <weft/parallel/schedule/zero_bubble.hpp>
#include <weft/parallel/split.hpp>
#include <weft/testing/small_translation.hpp>
#include <weft/train/device_batch.hpp>

#include <catch2/catch.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace translation_pipelines_tests {

using namespace weft;
using namespace weft::testing;
using parallel::Recompute;
using parallel::TableView;

namespace {

constexpr nn::TransformerShape shape{
    .d_model = 24, .heads = 3, .d_ff = 40, .encoder_layers = 2, .decoder_layers = 3};
using Loss = Chunked<nn::BasicGenerator<24, true>, nn::LabelSmoothing>;

nn::Transformer<shape> model() {
  return nn::Transformer<shape>({small_vocabulary, small_vocabulary, 24},
                                {.residual = 0.2f, .attention = 0.1f, .activation = 0.15f});
}

//! The eight steps in so many stages; the schedule is a table's.
template <int stages>
auto objective() {
  auto pipe = split<GPipe<1>, stages>(nn::steps_of(model()));
  return parallel::Objective<decltype(pipe), Loss>(std::move(pipe), nn::LabelSmoothing(0.1f), 5);
}
template <int stages>
using ModelOf = std::remove_cvref_t<decltype(objective<stages>().model())>;

constexpr parallel::Recipe recipe_of(int replicas) {
  return {.seed = 5, .lanes = replicas, .micro_batches = index_t{3} * replicas, .clip_norm = 1.0};
}

struct Ended {
  std::vector<double> losses;
  std::vector<float> values;

  friend bool operator==(const Ended&, const Ended&) = default;
};

template <class Strategy>
Ended trained(Strategy& strategy) {
  Ended ended;
  for (std::uint32_t update = 0; update < 6; ++update) {
    const auto batch = random_translations(update == 3 ? 2 : 13, update);
    ended.losses.push_back(strategy.step(train::DeviceBatch(batch), 0.002).loss.loss.value());
  }
  const auto batch = random_translations(13, 1000);
  ended.losses.push_back(strategy.evaluate(train::DeviceBatch(batch)).loss.value());
  [[maybe_unused]] const auto whole = strategy.whole_values();
  ended.values = to_host(strategy.state().values());
  return ended;
}

Ended on_one_device(int replicas) {
  Cpu device;
  GradientAccumulation<ModelOf<1>, Loss> strategy(device, objective<1>(), optim::Adam(),
                                                  recipe_of(replicas));
  return trained(strategy);
}

template <int stages>
void expect_one_answer(const TableView& table, int replicas, const Ended& expected,
                       Recompute recompute = Recompute::never) {
  const int ranks = table.ranks * replicas;
  std::vector<int> alike(static_cast<std::size_t>(ranks));
  comm::launch_threads(ranks, comm::Timeout{60.0}, [&](comm::ThreadCommunicator& communicator) {
    Cpu device;
    PipelineParallel<ModelOf<stages>, Loss> strategy(device, communicator, objective<stages>(),
                                                     optim::Adam(), recipe_of(replicas), table,
                                                     recompute);
    alike[static_cast<std::size_t>(communicator.rank())] = trained(strategy) == expected ? 1 : 0;
  });
  CAPTURE(stages, replicas, table.splits_backward);
  CHECK(alike == std::vector<int>(alike.size(), 1));
}

}  // namespace

TEST_CASE("encoder and decoder in stages give the bits of one device") {
  const auto expected = on_one_device(1);
  CHECK(expected.values.size() > 20'000);
  expect_one_answer<2>(parallel::table_of<GPipe<3>, 2>.view(), 1, expected);
  expect_one_answer<4>(parallel::table_of<OneForwardOneBackward<3>, 4>.view(), 1, expected);
  expect_one_answer<4>(parallel::table_of<Interleaved<3, 2>, 2>.view(), 1, expected);
  expect_one_answer<8>(parallel::table_of<ZeroBubble<3>, 8>.view(), 1, expected);
  expect_one_answer<8>(parallel::table_of<OneForwardOneBackward<3>, 8>.view(), 1, expected,
                       Recompute::always);
}

TEST_CASE("so do replicas of them") {
  expect_one_answer<4>(parallel::table_of<OneForwardOneBackward<3>, 4>.view(), 2, on_one_device(2));
}

}  // namespace translation_pipelines_tests
