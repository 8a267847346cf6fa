// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/parallel/distributed_data_parallel.hpp>

#include <weft/comm/decorators.hpp>
#include <weft/comm/launch.hpp>
#include <weft/device/device_group.hpp>
#include <weft/ops/check_finite.hpp>
#include <weft/parallel/data_parallel.hpp>
#include <weft/parallel/gradient_accumulation.hpp>
#include <weft/testing/small_translation.hpp>
#include <weft/train/device_batch.hpp>

#include "../message_of.hpp"
#include "outcome.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace distributed_data_parallel_tests {

using namespace weft;
using namespace weft::testing;
using comm::ThreadCommunicator;
using parallel::Shard;

namespace {

constexpr comm::Timeout patience{60.0};
//! So small that the model has many buckets, all but the first of two blocks.
constexpr parallel::BucketSizes small_buckets{2 * ops::block_size * 4, 4};

Outcome on_one_device(const parallel::Recipe& recipe) {
  Cpu device;
  GradientAccumulation<SmallModel, SmallLoss> strategy(device, small_objective(), optim::Adam(),
                                                       recipe);
  return train_on_small_batches(strategy);
}

template <Shard shard>
using Distributed = DistributedDataParallel<SmallModel, SmallLoss, shard>;

//! What every rank ends with.
template <Shard shard>
std::vector<Outcome> on_ranks(int ranks, const parallel::Recipe& recipe,
                              parallel::Exchange exchange = {}) {
  std::vector<Outcome> outcomes(static_cast<std::size_t>(ranks));
  comm::launch_threads(ranks, patience, [&](ThreadCommunicator& communicator) {
    Cpu device;
    Distributed<shard> strategy(device, communicator, small_objective(), optim::Adam(), recipe,
                                small_buckets, exchange);
    outcomes[static_cast<std::size_t>(communicator.rank())] = train_on_small_batches(strategy);
  });
  return outcomes;
}

constexpr parallel::Recipe recipe_of(index_t lanes) {
  return {.seed = 5, .lanes = lanes, .micro_batches = 8, .clip_norm = 1.0};
}

}  // namespace

TEST_CASE("any number of ranks gives the bits of one device that accumulates") {
  const auto lanes = GENERATE(as<index_t>(), 1, 2, 3, 8);
  const auto recipe = recipe_of(lanes);
  const auto expected = on_one_device(recipe);
  for (const int ranks : {1, 2, 3, 4, 8}) {
    CAPTURE(lanes, ranks);
    for (const auto& outcome : on_ranks<Zero<0>>(ranks, recipe)) CHECK(outcome == expected);
    for (const auto& outcome : on_ranks<Zero<1>>(ranks, recipe)) CHECK(outcome == expected);
    for (const auto& outcome : on_ranks<Zero<2>>(ranks, recipe)) CHECK(outcome == expected);
    for (const auto& outcome : on_ranks<Zero<3>>(ranks, recipe)) CHECK(outcome == expected);
    for (const auto& outcome : on_ranks<Zero<3>>(ranks, recipe, {.reshard_after_forward = false})) {
      CHECK(outcome == expected);
    }
  }
}

TEMPLATE_TEST_CASE_SIG("what a rank sends is what the formula says", "", ((int stage), stage), 0, 1,
                       2) {
  const auto recipe = recipe_of(4);
  const auto objective = small_objective();
  const index_t gradients = objective.layout().gradients, trained = objective.layout().trained;
  constexpr int ranks = 4;
  const index_t blocks = ops::block_count(trained);
  index_t all = 0;
  std::vector<comm::Traffic> traffic(ranks);
  comm::launch_threads(ranks, patience, [&](ThreadCommunicator& communicator) {
    Cpu device;
    auto& sent = traffic[static_cast<std::size_t>(communicator.rank())];
    auto counted = comm::counting(communicator, sent);
    DistributedDataParallel<SmallModel, SmallLoss, Zero<stage>, optim::Adam, Cpu,
                            comm::Observed<ThreadCommunicator>>
        strategy(device, counted, small_objective(), optim::Adam(), recipe, small_buckets);
    sent = {};
    strategy.step(train::DeviceBatch(random_translations(13, 1)), 0.002);
  });
  for (const auto& sent : traffic) all += sent.bytes;
  // Each gradient goes from 3 ranks to its owner, each sum or new parameter from there to 3; so do
  // the blocks' sums of squares, and the losses of 8 micro-batches, with their counts, and four
  // numbers of what each rank was given, to all.
  const index_t expected = (ranks - 1) * (gradients * 4 + trained * 4 + blocks * 8) +
                           ranks * (ranks - 1) * (8 * 2 + 4 * ranks) * index_t{8};
  CHECK(all == expected);
}

TEST_CASE("the fast order has the bits of the canonical one where each rank has one lane") {
  const parallel::Exchange fast{.order = parallel::Order::fast};
  const auto expected = on_one_device(recipe_of(4));
  for (const auto& outcome : on_ranks<Zero<0>>(4, recipe_of(4), fast)) CHECK(outcome == expected);
  for (const auto& outcome : on_ranks<Zero<2>>(4, recipe_of(4), fast)) CHECK(outcome == expected);
}

TEST_CASE("in the fast order a rank sends one sum, and what it adds differs by rounding") {
  // Rank 1 has lanes 1 and 2, which the tree does not join; ranks 3 and more have none.
  const auto recipe = recipe_of(3);
  const auto reference = on_one_device(recipe);
  const double eps = static_cast<double>(std::numeric_limits<float>::epsilon());
  for (const int ranks : {2, 5}) {
    const auto outcomes = on_ranks<Zero<0>>(ranks, recipe, {.order = parallel::Order::fast});
    for (const auto& outcome : outcomes) CHECK(outcome == outcomes[0]);
    CHECK(outcomes[0].losses[0] == reference.losses[0]);
    // Each element is a sum of three numbers in another order: two roundings of what is at most
    // the sum of their sizes. The norm of those is at most three times the largest lane's.
    CHECK(std::abs(outcomes[0].norms[0] / reference.norms[0] - 1.0) < 100 * eps);
  }
  for (const auto order : {parallel::Order::canonical, parallel::Order::fast}) {
    std::vector<comm::Traffic> traffic(2);
    comm::launch_threads(2, patience, [&](ThreadCommunicator& communicator) {
      Cpu device;
      auto& sent = traffic[static_cast<std::size_t>(communicator.rank())];
      auto counted = comm::counting(communicator, sent);
      DistributedDataParallel<SmallModel, SmallLoss, Zero<2>, optim::Adam, Cpu,
                              comm::Observed<ThreadCommunicator>>
          strategy(device, counted, small_objective(), optim::Adam(), recipe, small_buckets,
                   {.order = order});
      sent = {};
      strategy.step(train::DeviceBatch(random_translations(13, 1)), 0.002);
    });
    const auto layout = small_objective().layout();
    const parallel::ShardPlan plan(parallel::plan_buckets(layout, small_buckets), layout.trained,
                                   2);
    index_t of_rank_0 = 0;  // gradients that rank 1 sends to rank 0, tied uses included
    for (std::size_t b = 0; b < plan.size(); ++b) {
      const Range piece = plan.piece(b, 0);
      of_rank_0 += piece.size();
      for (const nn::TiedGradient& use : layout.tied) {
        of_rank_0 += std::max<index_t>(
            0, std::min(piece.end, use.to + use.size) - std::max(piece.begin, use.to));
      }
    }
    const index_t sums = order == parallel::Order::fast ? 1 : 2;
    index_t values = 0, squares = 0;
    for (std::size_t b = 0; b < plan.size(); ++b) {
      values += plan.piece(b, 1).size();
      squares += plan.blocks(b, 1).size();
    }
    CHECK(traffic[1].bytes == 4 * (sums * of_rank_0 + values) + 8 * squares + 8 * (8 * 2 + 4 * 2));
  }
}

TEST_CASE("a narrow wire carries half the bytes, and all ranks end with the same bits") {
  const auto recipe = recipe_of(4);
  const parallel::Exchange narrow{.wire = parallel::Wire::bfloat16};
  const auto reference = on_one_device(recipe);
  const auto replicas = on_ranks<Zero<0>>(4, recipe, narrow);
  const auto sharded = on_ranks<Zero<2>>(4, recipe, narrow);
  for (const auto& outcome : replicas) CHECK(outcome == replicas[0]);
  for (const auto& outcome : sharded) CHECK(outcome == sharded[0]);
  CHECK(replicas[0].losses[0] == reference.losses[0]);
  // Lanes that are sent are rounded by at most 2^-8 of themselves; their norms add up to less than
  // three times the norm of the sum here.
  CHECK(std::abs(replicas[0].norms[0] / reference.norms[0] - 1.0) < 3 * 0x1p-8);
  CHECK(replicas[0].norms[0] != reference.norms[0]);
  CHECK(std::abs(replicas[0].evaluated / reference.evaluated - 1.0) < 0.01);

  std::vector<comm::Traffic> traffic(4);
  comm::launch_threads(4, patience, [&](ThreadCommunicator& communicator) {
    Cpu device;
    auto& sent = traffic[static_cast<std::size_t>(communicator.rank())];
    auto counted = comm::counting(communicator, sent);
    DistributedDataParallel<SmallModel, SmallLoss, Zero<0>, optim::Adam, Cpu,
                            comm::Observed<ThreadCommunicator>>
        strategy(device, counted, small_objective(), optim::Adam(), recipe, small_buckets, narrow);
    sent = {};
    strategy.step(train::DeviceBatch(random_translations(13, 1)), 0.002);
  });
  index_t all = 0;
  for (const auto& sent : traffic) all += sent.bytes;
  const auto layout = small_objective().layout();
  const index_t blocks = ops::block_count(layout.trained);
  CHECK(all ==
        3 * (2 * layout.gradients + 2 * layout.trained + 8 * blocks) + 4 * 3 * 8 * (8 * 2 + 4 * 4));
}

TEST_CASE("sharded parameters of layers are sent twice, or once if kept, and the rest once") {
  const bool reshards = GENERATE(true, false);
  constexpr int ranks = 4;
  const auto recipe =
      parallel::Recipe{.seed = 5, .lanes = ranks, .micro_batches = ranks, .clip_norm = 1.0};
  const auto layout = small_objective().layout();
  std::vector<comm::Traffic> traffic(ranks);
  comm::launch_threads(ranks, patience, [&](ThreadCommunicator& communicator) {
    Cpu device;
    auto& sent = traffic[static_cast<std::size_t>(communicator.rank())];
    auto counted = comm::counting(communicator, sent);
    DistributedDataParallel<SmallModel, SmallLoss, Zero<3>, optim::Adam, Cpu,
                            comm::Observed<ThreadCommunicator>>
        strategy(device, counted, small_objective(), optim::Adam(), recipe, small_buckets,
                 {.reshard_after_forward = reshards});
    sent = {};
    strategy.step(train::DeviceBatch(random_translations(13, 1)), 0.002);
  });
  index_t all = 0;
  for (const auto& sent : traffic) all += sent.bytes;
  // Which blocks are there is worked out once more, block by block: the rest first, then the layers
  // forth and back, of which each goes when the next is there, unless it is kept from forth to
  // back. Blocks have one owner.
  const auto blocks_of = [](Range unit) {
    return Range{unit.begin / ops::block_size, ops::block_count(unit.end)};
  };
  std::vector<int> uses(static_cast<std::size_t>(ops::block_count(layout.trained)));
  index_t gathered = 0;
  const auto use = [&](Range unit, int change) {
    for (index_t b = blocks_of(unit).begin; b < blocks_of(unit).end; ++b) {
      int& count = uses[static_cast<std::size_t>(b)];
      if (change > 0 && count == 0) {
        gathered += std::min(ops::block_size, layout.trained - b * ops::block_size);
      }
      count += change;
    }
  };
  index_t end = 0;
  for (const Range unit : layout.units) {
    if (unit.begin > end) use({end, unit.begin}, 1);
    end = unit.end;
  }
  if (layout.trained > end) use({end, layout.trained}, 1);
  const auto n = static_cast<index_t>(layout.units.size());
  const auto unit_at = [&](index_t place) {
    return layout.units[static_cast<std::size_t>(place < n ? place : 2 * n - 1 - place)];
  };
  use(unit_at(0), 1);
  for (index_t place = 0; place < 2 * n; ++place) {
    if (place + 1 < (reshards ? 2 * n : n)) use(unit_at(place + 1), 1);
    if (reshards || place >= n) use(unit_at(place), -1);
  }
  const index_t blocks = ops::block_count(layout.trained);
  const index_t expected = (ranks - 1) * (layout.gradients * 4 + gathered * 4 + blocks * 8) +
                           ranks * (ranks - 1) * ranks * (2 + 4) * index_t{8};
  CHECK(all == expected);
  CHECK(gathered <= (reshards ? 2 : 1) * layout.trained + 2 * n * ops::block_size);
}

TEST_CASE("ranks with less to do take part in what the others need") {
  // Three micro-batches on two lanes, and lanes and sentences for one rank only.
  for (const index_t sentences : {1, 2, 13}) {
    const parallel::Recipe recipe{.seed = 5, .lanes = 2, .micro_batches = 3};
    Cpu device;
    GradientAccumulation<SmallModel, SmallLoss> single(device, small_objective(), optim::Adam(),
                                                       recipe);
    std::vector<float> expected;
    double loss = 0.0;
    for (std::uint32_t update = 0; update < 3; ++update) {
      (void)single.step(train::DeviceBatch(random_translations(sentences, update)), 0.002);
    }
    expected = to_host(single.state().values());
    loss = single.evaluate(train::DeviceBatch(random_translations(sentences, 9))).loss.value();
    for (const int ranks : {2, 3}) {
      std::vector<int> same(static_cast<std::size_t>(ranks));
      comm::launch_threads(ranks, patience, [&](ThreadCommunicator& communicator) {
        Cpu cpu;
        Distributed<Zero<3>> strategy(cpu, communicator, small_objective(), optim::Adam(), recipe,
                                      small_buckets);
        for (std::uint32_t update = 0; update < 3; ++update) {
          strategy.step(train::DeviceBatch(random_translations(sentences, update)), 0.002);
        }
        const auto sum = strategy.evaluate(train::DeviceBatch(random_translations(sentences, 9)));
        const auto whole = strategy.whole_values();
        same[static_cast<std::size_t>(communicator.rank())] =
            to_host(strategy.state().values()) == expected && sum.loss.value() == loss ? 1 : 0;
      });
      CAPTURE(sentences, ranks);
      CHECK(same == std::vector<int>(static_cast<std::size_t>(ranks), 1));
    }
  }
}

TEST_CASE("batches that are accumulated give every strategy the same bits") {
  const auto accumulating = [](auto& strategy) {
    for (std::uint32_t update = 0; update < 3; ++update) {
      strategy.accumulate(train::DeviceBatch(random_translations(13, 10 * update)));
      strategy.accumulate(train::DeviceBatch(random_translations(2, 10 * update + 1)));
      strategy.step(train::DeviceBatch(random_translations(9, 10 * update + 2)), 0.002);
    }
    [[maybe_unused]] const auto whole = strategy.whole_values();
    return to_host(strategy.state().values());
  };
  for (const index_t lanes : {1, 3, 4}) {
    const auto recipe = recipe_of(lanes);
    Cpu device;
    GradientAccumulation<SmallModel, SmallLoss> single(device, small_objective(), optim::Adam(),
                                                       recipe);
    const auto expected = accumulating(single);
    for (const int many : {2, 3}) {
      const DeviceGroup<Cpu> group(many);
      DataParallel<SmallModel, SmallLoss> parallel(group, small_objective(), optim::Adam(), recipe);
      CHECK(accumulating(parallel) == expected);
      std::vector<int> same(static_cast<std::size_t>(many));
      comm::launch_threads(many, patience, [&](ThreadCommunicator& communicator) {
        Cpu cpu;
        Distributed<Zero<0>> replicas(cpu, communicator, small_objective(), optim::Adam(), recipe,
                                      small_buckets);
        Distributed<Zero<3>> shards(cpu, communicator, small_objective(), optim::Adam(), recipe,
                                    small_buckets);
        same[static_cast<std::size_t>(communicator.rank())] =
            accumulating(replicas) == expected && accumulating(shards) == expected ? 1 : 0;
      });
      CHECK(same == std::vector<int>(static_cast<std::size_t>(many), 1));
    }
  }
}

TEST_CASE("only the last of an update's batches is reduced") {
  std::vector<comm::Traffic> traffic(2);
  std::vector<index_t> in_step(2);
  comm::launch_threads(2, patience, [&](ThreadCommunicator& communicator) {
    Cpu device;
    const auto rank = static_cast<std::size_t>(communicator.rank());
    auto counted = comm::counting(communicator, traffic[rank]);
    DistributedDataParallel<SmallModel, SmallLoss, Zero<0>, optim::Adam, Cpu,
                            comm::Observed<ThreadCommunicator>>
        strategy(device, counted, small_objective(), optim::Adam(), recipe_of(2), small_buckets);
    traffic[rank] = {};
    strategy.accumulate(train::DeviceBatch(random_translations(13, 1)));
    const index_t accumulated = traffic[rank].messages;
    strategy.step(train::DeviceBatch(random_translations(13, 2)), 0.002);
    in_step[rank] = accumulated == 0 ? traffic[rank].messages : 0;
  });
  CHECK(in_step[0] > 0);
  CHECK(in_step[1] > 0);
}

TEST_CASE("a rank that fails in a step takes the others with it, and nobody hangs") {
  const auto recipe = recipe_of(3);
  const auto program = [&](ThreadCommunicator& communicator) {
    Cpu device;
    auto flaky = comm::failing(communicator, communicator.rank() == 1 ? 20 : 1 << 20);
    DistributedDataParallel<SmallModel, SmallLoss, Zero<2>, optim::Adam, Cpu,
                            comm::Observed<ThreadCommunicator>>
        strategy(device, flaky, small_objective(), optim::Adam(), recipe, small_buckets);
    for (std::uint32_t update = 0; update < 50; ++update) {
      strategy.step(train::DeviceBatch(random_translations(13, update)), 0.002);
    }
  };
  CHECK_THROWS_WITH(comm::launch_threads(3, patience, program),
                    Catch::Contains("rank 1: injected failure in"));
}

TEST_CASE("ranks whose devices multiply with other precisions are told so") {
  std::vector<std::string> said(2), said_in_evaluate(2);
  comm::launch_threads(2, patience, [&](ThreadCommunicator& communicator) {
    Cpu device;
    Distributed<Zero<0>> strategy(device, communicator, small_objective(), optim::Adam(),
                                  recipe_of(2), small_buckets);
    const auto rank = static_cast<std::size_t>(communicator.rank());
    const auto translations = random_translations(13, 1);
    const train::DeviceBatch batch(translations);
    if (rank == 1) device.set_product_precision(ProductPrecision::bfloat16);
    said[rank] = message_of<comm::RanksDiffer>([&] { return strategy.step(batch, 0.5); });
    said_in_evaluate[rank] =
        message_of<comm::RanksDiffer>([&] { return strategy.evaluate(batch); });
  });
  CHECK(said[0] ==
        "the ranks differ: rank 0 was given a device whose product precision is float32, rank 1 "
        "bfloat16");
  CHECK(said[1] == said[0]);
  CHECK(said_in_evaluate == said);
}

TEST_CASE("all ranks hear which module of one made a number that is not finite") {
  const ops::CheckFinite checked;
  const auto said_of = [](auto pass) {
    std::vector<std::string> said(2);
    comm::launch_threads(2, patience, [&](ThreadCommunicator& communicator) {
      Cpu device;
      Distributed<Zero<0>> strategy(device, communicator, small_objective(), optim::Adam(),
                                    recipe_of(2), small_buckets);
      const auto& spoilt = strategy.objective().model().encoder.layers[1].feed_forward.outer.bias;
      if (communicator.rank() == 1) {
        strategy.state().values().data()[spoilt.value_offset] =
            std::numeric_limits<float>::infinity();
      }
      const auto batch = random_translations(13, 1);
      said[static_cast<std::size_t>(communicator.rank())] =
          message_of<Error>([&] { return pass(strategy, train::DeviceBatch(batch)); });
    });
    return said;
  };
  const auto check = [](const std::vector<std::string>& said) {
    CHECK_THAT(said[1], Catch::StartsWith("encoder.layers.1.feed_forward"));
    CHECK(said[0] == "rank 1 failed: " + said[1]);
  };
  check(said_of([](auto& strategy, const auto& batch) { return strategy.step(batch, 0.5); }));
  check(said_of([](auto& strategy, const auto& batch) {
    strategy.accumulate(batch);
    return strategy.step(batch, 0.5);
  }));
  check(said_of([](auto& strategy, const auto& batch) { return strategy.evaluate(batch); }));
}

TEST_CASE("ranks that were given other batches or rates are told so, before any has updated") {
  const auto recipe = recipe_of(2);
  const auto error = [&](auto batch_of, auto rate_of) {
    std::vector<std::string> said(2);
    bool unchanged[2] = {};
    comm::launch_threads(2, patience, [&](ThreadCommunicator& communicator) {
      Cpu device;
      Distributed<Zero<0>> strategy(device, communicator, small_objective(), optim::Adam(), recipe,
                                    small_buckets);
      const auto rank = static_cast<std::size_t>(communicator.rank());
      const auto values = to_host(strategy.state().values());
      said[rank] = message_of<comm::RanksDiffer>(
          [&] { return strategy.step(train::DeviceBatch(batch_of(rank)), rate_of(rank)); });
      unchanged[rank] = to_host(strategy.state().values()) == values;
    });
    CHECK((unchanged[0] && unchanged[1]));
    CHECK(said[0] == said[1]);
    return said[0];
  };
  const auto one_rate = [](std::size_t) { return 0.5; };
  const std::string whole = "; each is given the whole batch, and computes its part";
  CHECK(error([](std::size_t rank) { return random_translations(13 + rank, 1); }, one_rate) ==
        "the ranks differ: rank 0 was given a batch of size 13, rank 1 14" + whole);
  CHECK_THAT(
      error([](std::size_t rank) { return random_translations(13, rank == 0 ? 1 : 2); }, one_rate),
      Catch::StartsWith("the ranks differ: rank 0 was given a batch with the fingerprint "));
  CHECK(error([](std::size_t) { return random_translations(13, 1); },
              [](std::size_t rank) { return rank == 0 ? 0.5 : 0.25; }) ==
        "the ranks differ: rank 0 was given the learning rate 0.5, rank 1 0.25");
}

TEST_CASE("ranks whose models or losses differ in a setting are told so") {
  const auto error = [&](auto objective_of) {
    std::vector<std::string> said(2);
    comm::launch_threads(2, patience, [&](ThreadCommunicator& communicator) {
      Cpu device;
      const auto rank = static_cast<std::size_t>(communicator.rank());
      said[rank] = message_of<comm::RanksDiffer>([&] {
        Distributed<Zero<0>>(device, communicator, objective_of(rank), optim::Adam(), recipe_of(2));
      });
    });
    CHECK(said[0] == said[1]);
    return said[0];
  };
  const auto objective = [](float dropout, float smoothing, token_t ignored) {
    return SmallObjective(
        SmallModel({small_vocabulary, small_vocabulary, 24}, nn::Dropouts::everywhere(dropout)),
        nn::LabelSmoothing(smoothing, ignored));
  };
  CHECK_THAT(error([&](std::size_t rank) { return objective(rank == 0 ? 0.25f : 0.5f, 0.1f, -1); }),
             Catch::StartsWith("the ranks differ: rank 0 has dropout 0.25 0.25 ") &&
                 Catch::Contains("rank 1 has dropout 0.5 0.5 "));
  CHECK(error([&](std::size_t rank) { return objective(0.25f, rank == 0 ? 0.25f : 0.5f, -1); }) ==
        "the ranks differ: rank 0 has label smoothing 0.25, rank 1 has label smoothing 0.5");
  CHECK(error([&](std::size_t rank) { return objective(0.25f, 0.25f, rank == 0 ? -1 : 0); }) ==
        "the ranks differ: rank 0 has ignored label -1, rank 1 has ignored label 0");
}

TEST_CASE("ranks that accumulated other batches are told so, also of numbers that are near") {
  //! A batch that tells itself by a small number.
  struct Numbered : train::DeviceBatch {
    Numbered(const data::TranslationBatch& batch, std::uint64_t told)
        : train::DeviceBatch(batch), number(told) {}
    [[nodiscard]] std::uint64_t fingerprint() const { return number; }
    std::uint64_t number;
  };
  const auto batch = random_translations(13, 1);
  std::vector<std::string> said(2);
  comm::launch_threads(2, patience, [&](ThreadCommunicator& communicator) {
    Cpu device;
    Distributed<Zero<0>> strategy(device, communicator, small_objective(), optim::Adam(),
                                  recipe_of(2), small_buckets);
    const auto rank = static_cast<std::size_t>(communicator.rank());
    strategy.step(Numbered(batch, 16), 0.5);
    strategy.accumulate(Numbered(batch, 16 + rank));
    said[rank] =
        message_of<comm::RanksDiffer>([&] { return strategy.step(Numbered(batch, 16), 0.5); });
    strategy.step(Numbered(batch, 16), 0.5);  // nobody was ended, and nothing is left of it
  });
  CHECK_THAT(said[0], Catch::Contains("was given a batch with the fingerprint "));
  CHECK(said[0] == said[1]);
}

TEST_CASE("an update that is not finite is left out on all ranks") {
  const auto recipe = recipe_of(2);
  std::vector<int> skipped(2);
  comm::launch_threads(2, patience, [&](ThreadCommunicator& communicator) {
    Cpu device;
    Distributed<Zero<0>> strategy(device, communicator, small_objective(), optim::Adam(), recipe,
                                  small_buckets);
    const auto values = to_host(strategy.state().values());
    // On rank 1 alone: what it sends must keep rank 0 from updating too.
    if (communicator.rank() == 1) strategy.state().values().data()[0] = NAN;
    const auto report = strategy.step(train::DeviceBatch(random_translations(13, 1)), 0.002);
    const auto after = to_host(strategy.state().values());
    const bool same = std::equal(values.begin() + 1, values.end(), after.begin() + 1);
    skipped[static_cast<std::size_t>(communicator.rank())] = report.skipped && same ? 1 : 0;
  });
  CHECK(skipped == std::vector<int>{1, 1});
}

TEST_CASE("no update is made while somebody holds all parameters") {
  comm::launch_threads(2, patience, [&](ThreadCommunicator& communicator) {
    Cpu device;
    Distributed<Zero<3>> strategy(device, communicator, small_objective(), optim::Adam(),
                                  recipe_of(2), small_buckets);
    const auto batch = random_translations(13, 1);
    const auto before = strategy.evaluate(train::DeviceBatch(batch)).loss.value();
    {
      const auto whole = strategy.whole_values();
      const auto values = to_host(strategy.state().values());
      const auto message =
          message_of([&] { return strategy.step(train::DeviceBatch(batch), 0.01); });
      // Both ranks must come to the checks, which throw.
      const bool evaluates_alike =
          strategy.evaluate(train::DeviceBatch(batch)).loss.value() == before;
      { const auto again = strategy.whole_values(); }
      const bool holds_all = to_host(strategy.state().values()) == values;
      if (!message.starts_with("step: what whole_values() returned still lives")) {
        throw Error(message);
      }
      if (!evaluates_alike || !holds_all) throw Error("other values");
    }
    (void)strategy.step(train::DeviceBatch(batch), 0.01);
    if (strategy.evaluate(train::DeviceBatch(batch)).loss.value() == before) {
      throw Error("no update");
    }
  });
}

TEST_CASE("an error on one rank ends all, at once and under its name") {
  data::TranslationBatch batch = random_translations(3, 1);  // the last sentence is for rank 1
  for (auto* rows : {&batch.source, &batch.target_input, &batch.target_output}) {
    rows->tokens.insert(rows->tokens.end(), 30, 5);
    rows->end_row();
  }
  batch.sentences.push_back(3);
  const auto check = [&]<parallel::Shard shard>(auto call) {
    std::vector<std::string> messages(2), later(2);
    comm::launch_threads(2, patience, [&](ThreadCommunicator& communicator) {
      Cpu device;
      Distributed<shard> strategy(device, communicator, small_objective(), optim::Adam(),
                                  {.seed = 5, .lanes = 2, .micro_batches = 4}, small_buckets);
      const auto rank = static_cast<std::size_t>(communicator.rank());
      messages[rank] = message_of([&] { return call(strategy, train::DeviceBatch(batch)); });
      // Another batch would be paired with the other rank's first one.
      later[rank] = message_of<comm::CommunicatorAborted>(
          [&] { return strategy.step(train::DeviceBatch(random_translations(13, 2)), 0.002); });
    });
    const std::string said = "embedding: a sequence of 30 tokens is longer than the 24 positions";
    const std::string heard = "rank 1 failed: " + said;
    CHECK(messages == std::vector{heard, said});
    CHECK(later == std::vector{heard, heard});
  };
  const auto step = [](auto& strategy, const auto& all) { return strategy.step(all, 0.002); };
  const auto evaluate = [](auto& strategy, const auto& all) { return strategy.evaluate(all); };
  check.template operator()<Zero<0>>(step);
  check.template operator()<Zero<0>>(evaluate);
  check.template operator()<Zero<3>>(step);
}

TEST_CASE("what was accumulated before a state was loaded is forgotten") {
  Cpu device;
  const auto recipe = recipe_of(2);
  const auto values = [&](bool accumulates) {
    GradientAccumulation<SmallModel, SmallLoss> single(device, small_objective(), optim::Adam(),
                                                       recipe);
    if (accumulates) single.accumulate(train::DeviceBatch(random_translations(13, 1)));
    single.state().count_load();
    const auto report = single.step(train::DeviceBatch(random_translations(13, 2)), 0.002);
    return std::pair(report.loss.tokens.value(), to_host(single.state().values()));
  };
  CHECK(values(true) == values(false));
}

}  // namespace distributed_data_parallel_tests
