// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/parallel/distributed_optimizer.hpp>

#include <weft/comm/launch.hpp>
#include <weft/core/philox.hpp>
#include <weft/optim/adam.hpp>
#include <weft/optim/sgd.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <latch>
#include <numeric>
#include <string>
#include <vector>

#include "../message_of.hpp"

namespace distributed_optimizer_tests {

using namespace weft;
using comm::ThreadCommunicator;
using parallel::LossSum;
using testing::message_of;

namespace {

constexpr index_t n = 3 * ops::block_size + 5;
constexpr comm::Timeout patience{60.0};
constexpr parallel::BucketSizes small_buckets{ops::block_size * 4, 4};

//! Random numbers for a rank and an update.
std::vector<float> numbers(std::uint32_t rank, std::uint32_t update) {
  std::vector<float> values(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    values[i] = static_cast<float>(philox({i, rank, update, 0}, RandomKey(3, 1))[0]) / 4e9f - 0.5f;
  }
  return values;
}

LossSum loss_of(std::uint32_t rank) {
  return {Sum<of::Loss>(1.5 * (1 + rank)), Count<of::Tokens>(10 + static_cast<index_t>(rank))};
}

//! The values of every rank after some updates.
template <class Optimizer>
std::vector<std::vector<float>> trained(int ranks, double clip_norm = 0.0) {
  std::vector<std::vector<float>> values(static_cast<std::size_t>(ranks));
  comm::launch_threads(ranks, patience, [&](ThreadCommunicator& communicator) {
    Cpu device;
    const auto rank = static_cast<std::uint32_t>(communicator.rank());
    // Every rank has first values of its own: rank 0's count.
    DistributedOptimizer<Optimizer> optimizer(device, communicator, Optimizer(), numbers(rank, 100),
                                              clip_norm, small_buckets);
    for (std::uint32_t update = 0; update < 4; ++update) {
      auto gradients = numbers(rank, update);
      optimizer.step(gradients, loss_of(rank), 0.01);
    }
    values[rank].assign(optimizer.values().begin(), optimizer.values().end());
  });
  return values;
}

}  // namespace

TEMPLATE_TEST_CASE("a step is that of one optimizer by the mean gradient of all ranks", "",
                   optim::Adam, optim::Sgd) {
  const int ranks = GENERATE(1, 2, 3, 4);
  const double clip_norm = GENERATE(0.0, 0.3);
  Cpu device;
  nn::ParameterLayout layout;
  layout.trained = layout.values = layout.gradients = n;
  parallel::TrainingState<TestType, Cpu> alone(device, layout, numbers(0, 100), TestType());
  const parallel::Recipe recipe{.lanes = ranks, .micro_batches = ranks, .clip_norm = clip_norm};
  const auto on_all = [&](const auto& f) { f(device, 0, 1); };
  for (std::uint32_t update = 0; update < 4; ++update) {
    std::vector<std::vector<float>> gradients;
    std::vector<float*> lanes;
    LossSum loss;
    for (std::uint32_t rank = 0; rank < static_cast<std::uint32_t>(ranks); ++rank) {
      gradients.push_back(numbers(rank, update));
      loss += loss_of(rank);
    }
    for (auto& gradient : gradients) lanes.push_back(gradient.data());
    static_cast<void>(alone.update(on_all, recipe, lanes, loss, 0.01));
  }
  const auto expected = to_host(alone.values());
  for (const auto& values : trained<TestType>(ranks, clip_norm)) CHECK(values == expected);
}

TEST_CASE(
    "what a step reports is of all ranks, and a gradient that is not finite changes nothing") {
  std::vector<int> right(3);
  comm::launch_threads(3, patience, [&](ThreadCommunicator& communicator) {
    Cpu device;
    const auto rank = static_cast<std::uint32_t>(communicator.rank());
    DistributedOptimizer<optim::Sgd> optimizer(device, communicator, optim::Sgd(), numbers(0, 0));
    std::vector<float> gradients(n, 1.0f);
    const auto good = optimizer.step(gradients, loss_of(rank), 0.1);
    const bool reports = good.loss.loss.value() == 9.0 && good.loss.tokens.value() == 33 &&
                         std::abs(good.gradient_norm - std::sqrt(9.0 * n) / 33) < 1e-9;
    const auto before = to_host(optimizer.state().values());
    gradients.assign(n, rank == 1 ? NAN : 1.0f);
    const auto bad = optimizer.step(gradients, loss_of(rank), 0.1);
    right[rank] = reports && bad.skipped && optimizer.state().skipped() == 1 &&
                          to_host(optimizer.state().values()) == before
                      ? 1
                      : 0;
  });
  CHECK(right == std::vector<int>{1, 1, 1});
}

TEST_CASE("a state that one rank has read becomes that of all") {
  std::vector<int> same(2);
  comm::launch_threads(2, patience, [&](ThreadCommunicator& communicator) {
    Cpu device;
    DistributedOptimizer<optim::Adam> optimizer(device, communicator, optim::Adam(), numbers(0, 0));
    if (communicator.rank() == 1) {
      optimizer.state().set_counters(17, 2);
      optimizer.state().set_buffer(1, numbers(0, 7));
      optimizer.values()[3] = 8.0f;
    }
    optimizer.broadcast_state(1);
    same[static_cast<std::size_t>(communicator.rank())] =
        optimizer.state().updates() == 17 && optimizer.state().skipped() == 2 &&
                optimizer.values()[3] == 8.0f &&
                to_host(optimizer.state().buffer(1)) == numbers(0, 7)
            ? 1
            : 0;
  });
  CHECK(same == std::vector<int>{1, 1});
}

TEST_CASE("over a narrow wire plain descent is off by what rounding allows") {
  std::vector<double> excess(3);
  comm::launch_threads(3, patience, [&](ThreadCommunicator& communicator) {
    Cpu device;
    const auto rank = static_cast<std::uint32_t>(communicator.rank());
    DistributedOptimizer<optim::Sgd> exact(device, communicator, optim::Sgd(), numbers(0, 0));
    DistributedOptimizer<optim::Sgd> narrow(device, communicator, optim::Sgd(), numbers(0, 0), 0.0,
                                            small_buckets, parallel::Wire::bfloat16);
    auto gradients = numbers(rank, 1), same = gradients;
    exact.step(gradients, loss_of(rank), 1.0);
    narrow.step(same, loss_of(rank), 1.0);
    // Two of three numbers below 0.58 and their sum are rounded, each by at most 2^-8 of itself;
    // the mean is over 33.
    const double bound = 0x1p-8 * (2 * 0.58 + 3 * 0.58 + 0.01) / 33;
    for (std::size_t i = 0; i < n; ++i) {
      const double off = std::abs(exact.values()[i] - narrow.values()[i]);
      excess[rank] = std::max(excess[rank], off / bound);
    }
  });
  for (const double most : excess) {
    CHECK(most <= 1.0);
    CHECK(most > 0.1);
  }
}

TEST_CASE("gradients for other values, and ranks with other values, are refused") {
  Cpu device;
  const auto said = weft::testing::message_of<comm::RankError>([&] {
    comm::launch_threads(1, patience, [&](ThreadCommunicator& communicator) {
      DistributedOptimizer<optim::Sgd> optimizer(device, communicator, optim::Sgd(), numbers(0, 0));
      std::vector<float> gradients(7);
      optimizer.step(gradients, {}, 0.1);
    });
    return 0;
  });
  CHECK(said == text("rank 0: DistributedOptimizer: 7 gradients for ", n, " values"));
  CHECK_THAT(weft::testing::message_of<comm::RankError>([&] {
               comm::launch_threads(2, patience, [&](ThreadCommunicator& communicator) {
                 Cpu cpu;
                 const std::vector<float> values(communicator.rank() == 0 ? 8 : 9);
                 const DistributedOptimizer<optim::Sgd> optimizer(cpu, communicator, optim::Sgd(),
                                                                  values);
               });
               return 0;
             }),
             Catch::Contains("values"));
}

TEST_CASE("a rank whose step fails ends all: its next gradients would be added to others'") {
  std::vector<std::string> said(2);
  std::vector<float> sums(2);
  CHECK_THROWS_AS(
      comm::launch_threads(2, patience,
                           [&](ThreadCommunicator& communicator) {
                             Cpu cpu;
                             const auto rank = static_cast<std::size_t>(communicator.rank());
                             DistributedOptimizer<optim::Sgd> optimizer(
                                 cpu, communicator, optim::Sgd(), std::vector<float>(2));
                             for (const float gradient : {1.0f, 10.0f}) {
                               std::vector<float> gradients(rank == 1 && said[1].empty() ? 3 : 2,
                                                            gradient);
                               try {
                                 optimizer.step(gradients, {}, 0.1);
                                 sums[rank] = gradients[0];
                               } catch (const ShapeError& error) {  // and goes on
                                 said[1] = error.message();
                               }
                             }
                           }),
      comm::CommunicatorAborted);
  CHECK(said[1] == "DistributedOptimizer: 3 gradients for 2 values");
  CHECK(sums == std::vector<float>{0.0f, 0.0f});  // it was 11 for 1 + 10
}

TEST_CASE("ranks with other rates or optimizers are refused, before any has updated") {
  const auto error = [](auto settings_of, auto rate_of) {
    std::vector<std::string> said(2);
    comm::launch_threads(2, patience, [&](ThreadCommunicator& communicator) {
      Cpu cpu;
      const auto rank = static_cast<std::size_t>(communicator.rank());
      said[rank] = weft::testing::message_of<comm::RanksDiffer>([&] {
        DistributedOptimizer<optim::Adam> optimizer(
            cpu, communicator, optim::Adam(settings_of(rank)), std::vector<float>(2));
        std::vector<float> gradients(2, 1.0f);
        optimizer.step(gradients, {Sum<of::Loss>(1.0), Count<of::Tokens>(1)}, rate_of(rank));
        return 0;
      });
    });
    CHECK(said[0] == said[1]);
    return said[0];
  };
  const auto same = [](std::size_t) { return optim::AdamSettings(); };
  const auto rate = [](std::size_t rank) { return rank == 0 ? 1.0 : 0.1; };
  CHECK(error(same, rate) == "the ranks differ: rank 0 was given the learning rate 1, rank 1 0.1");
  CHECK(error([](std::size_t rank) { return optim::AdamSettings{.beta2 = rank == 0 ? 0.9 : 0.5}; },
              [](std::size_t) { return 1.0; }) ==
        "the ranks differ: rank 0 has optimizer Adam: beta1 0.9, beta2 0.9, epsilon 1e-08, "
        "weight_decay 0, rank 1 has optimizer Adam: beta1 0.9, beta2 0.5, epsilon 1e-08, "
        "weight_decay 0");
}

TEST_CASE("the rate is scaled by the number of ranks") {
  STATIC_REQUIRE(parallel::scaled_rate(0.001, 4) == 0.004);
}

TEST_CASE("nobody reads the gradients of a step that has failed") {
  std::latch freed(1);
  std::vector<std::string> messages(3);
  const std::vector<float> values(1 << 22, 1.0f);  // memory that goes back to the system
  CHECK_THROWS_AS(
      comm::launch_threads(
          3, patience,
          [&](ThreadCommunicator& communicator) {
            Cpu device;
            DistributedOptimizer<optim::Sgd> optimizer(device, communicator, optim::Sgd(), values);
            if (communicator.rank() == 2) throw Error("no gradients here");
            if (communicator.rank() == 1) freed.wait();
            auto& message = messages[static_cast<std::size_t>(communicator.rank())];
            {
              std::vector<float> gradients(values.size(), 0.5f);
              message = message_of([&] { return optimizer.step(gradients, loss_of(0), 0.01); });
            }
            if (communicator.rank() == 0) {
              freed.count_down();
              message_of([&] { comm::barrier(communicator); });  // the other has tried
            }
          }),
      comm::RankError);
  CHECK(messages[0] == "rank 2 failed: no gradients here");
  CHECK(messages[1] == messages[0]);
}

}  // namespace distributed_optimizer_tests
