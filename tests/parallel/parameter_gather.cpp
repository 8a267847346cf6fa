// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/parallel/parameter_gather.hpp>

#include <weft/comm/launch.hpp>
#include <weft/device/cpu.hpp>
#include <weft/tensor/tensor.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "../message_of.hpp"

namespace parameter_gather_tests {

using namespace weft;
using namespace weft::parallel;
using comm::ThreadCommunicator;

namespace {

constexpr index_t block = ops::block_size;

//! Two layers that meet inside a block, something before and something behind them.
nn::ParameterLayout layout_of_layers() {
  nn::ParameterLayout layout;
  layout.trained = layout.values = layout.gradients = 20 * block + 77;
  layout.slots = {{0, 4 * block},
                  {4 * block, 10 * block + 5},
                  {14 * block + 5, 4 * block},
                  {18 * block + 5, 2 * block + 72}};
  layout.units = {{4 * block, 14 * block + 5}, {14 * block + 5, 18 * block + 5}};
  return layout;
}

//! Value i is i, on its owner's rank alone.
Tensor<float, Cpu> shares_of(Cpu& device, const ShardPlan& plan, int rank) {
  Tensor<float, Cpu> values(device, {plan.parameters()});
  std::fill_n(values.data(), values.size(), -1.0f);
  for (const Range piece : plan.owned(rank)) {
    for (index_t i = piece.begin; i < piece.end; ++i) values.data()[i] = static_cast<float>(i);
  }
  return values;
}

bool is_there(const float* values, Range range) {
  for (index_t i = range.begin; i < range.end; ++i) {
    if (values[i] != static_cast<float>(i)) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("in a pass each layer is there while it is entered, whoever owns it") {
  const auto layout = layout_of_layers();
  for (const auto& run :
       {std::pair{1, true}, {2, true}, {3, true}, {8, true}, {2, false}, {3, false}}) {
    const int ranks = run.first;
    const bool reshards = run.second;
    std::atomic<int> missing{0};
    comm::launch_threads(ranks, comm::Timeout(60), [&](ThreadCommunicator& communicator) {
      Cpu device;
      const ShardPlan plan(plan_buckets_of_units(layout, {3 * block * 4, block * 4}),
                           layout.trained, ranks);
      const auto values = shares_of(device, plan, communicator.rank());
      ParameterGather gather(device, communicator, layout, plan, values.data(), reshards);
      const auto expect = [&](Range range) {
        if (!is_there(values.data(), range)) ++missing;
      };
      for (index_t update = 0; update < 3; ++update) {
        gather.begin(update);
        expect({0, 4 * block});
        expect({18 * block + 5, layout.trained});
        if (communicator.rank() == 1) {
          gather.take_part(nn::Mode::train);
        } else {
          gather.begin_pass(nn::Mode::train);
          for (const int unit : {0, 1, 1, 0}) {
            gather.enter(unit);
            expect(layout.units[static_cast<std::size_t>(unit)]);
            gather.leave(unit);
          }
        }
        gather.end();
      }
      gather.acquire_all();
      expect({0, layout.trained});
      gather.release_all();
      for (const Range piece : plan.owned(communicator.rank())) expect(piece);
    });
    CAPTURE(ranks, reshards);
    CHECK(missing == 0);
  }
}

TEST_CASE("a layer without trained parameters may be entered once, or not at all") {
  auto layout = layout_of_layers();
  const Range first = layout.units[0], last = layout.units[1];
  layout.units = {first, {first.end, first.end}, last};
  std::atomic<int> missing{0};
  comm::launch_threads(3, comm::Timeout(60), [&](ThreadCommunicator& communicator) {
    Cpu device;
    const ShardPlan plan(plan_buckets_of_units(layout), layout.trained, 3);
    const auto values = shares_of(device, plan, communicator.rank());
    for (const bool reshards : {true, false}) {
      ParameterGather gather(device, communicator, layout, plan, values.data(), reshards);
      gather.begin(0);
      if (communicator.rank() == 1) {
        gather.take_part(nn::Mode::train);
      } else {
        gather.begin_pass(nn::Mode::train);
        const auto forth = communicator.rank() == 0 ? std::vector<int>{0, 1, 2, 2, 0}
                                                    : std::vector<int>{0, 2, 2, 0};
        for (const int unit : forth) {  // as the frozen layers of a teacher
          gather.enter(unit);
          if (!is_there(values.data(), layout.units[static_cast<std::size_t>(unit)])) ++missing;
          gather.leave(unit);
        }
      }
      gather.end();
    }
  });
  CHECK(missing == 0);
}

TEST_CASE("outside of passes a rank has no memory but for its share") {
  const auto layout = layout_of_layers();
  std::atomic<int> kept{0};
  comm::launch_threads(4, comm::Timeout(60), [&](ThreadCommunicator& communicator) {
    Cpu device;
    const ShardPlan plan(plan_buckets_of_units(layout), layout.trained, 4);
    const auto values = shares_of(device, plan, communicator.rank());
    ParameterGather gather(device, communicator, layout, plan, values.data());
    const auto count = [&] {
      // Pages that were given back read as zeros; whole ones of a block are three at least.
      index_t zeros = 0;
      for (index_t i = 1; i < layout.trained; ++i) zeros += values.data()[i] == 0.0f ? 1 : 0;
      const auto owned = plan.owned(communicator.rank());
      index_t mine = 0;
      for (const Range piece : owned) mine += piece.size();
      if (zeros < (layout.trained - mine) * 3 / 5) ++kept;
    };
    count();
    gather.begin(0);
    gather.take_part(nn::Mode::evaluate);
    gather.end();
    count();
  });
  CHECK(kept == 0);
}

TEST_CASE("layers in another order than the declared one are refused") {
  const auto layout = layout_of_layers();
  const auto said = weft::testing::message_of<Error>([&] {
    comm::launch_threads(1, comm::Timeout(60), [&](ThreadCommunicator& communicator) {
      Cpu device;
      const ShardPlan plan(plan_buckets_of_units(layout), layout.trained, 1);
      const auto values = shares_of(device, plan, 0);
      ParameterGather gather(device, communicator, layout, plan, values.data());
      gather.begin(0);
      gather.begin_pass(nn::Mode::train);
      gather.enter(1);
    });
    return 0;
  });
  CHECK_THAT(said, Catch::Contains("layer 1 is entered where layer 0 was expected"));
}

}  // namespace parameter_gather_tests
