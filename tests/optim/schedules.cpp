// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/optim/schedules.hpp>

#include <catch2/catch.hpp>

#include <utility>
#include <vector>

#include "../message_of.hpp"

namespace schedules_tests {

using namespace weft;
using namespace weft::optim;
using weft::testing::message_of;

namespace {

using Rates = std::vector<std::pair<index_t, double>>;

template <class Schedule>
void check(const Schedule& schedule, const Rates& rates) {
  for (const auto& [update, rate] : rates) {
    CAPTURE(update);
    CHECK(schedule(update) == Approx(rate).epsilon(1e-14));
  }
}

}  // namespace

// The rates are what tests/reference/schedules.py printed.

TEST_CASE("Noam rises linearly to the warm-up's end and then falls as the inverse square root") {
  check(Noam{.d_model = 512}, {{1, 1.746928107421711e-07},
                               {2, 3.493856214843422e-07},
                               {3999, 0.0006985965501579421},
                               {4000, 0.00069877124296868428},
                               {4001, 0.00069868391293735296},
                               {20000, 0.00031250000000000001}});
  check(Noam{.d_model = 64, .factor = 2.0, .warmup = 10}, {{1, 0.0079056941504209478},
                                                           {10, 0.079056941504209471},
                                                           {11, 0.075377836144440907},
                                                           {40, 0.039528470752104743}});
}

TEST_CASE("the inverse square root is fairseq's, warm-up included") {
  check(InverseSquareRoot{.peak = 0.005, .warmup = 2000}, {{1, 2.59995e-06},
                                                           {2, 5.0999000000000001e-06},
                                                           {1999, 0.00499750005},
                                                           {2000, 0.0050000000000000001},
                                                           {2001, 0.0049987504685547737},
                                                           {8000, 0.0025000000000000001}});
  check(InverseSquareRoot{.peak = 5e-4, .warmup = 4, .initial = 0.0},
        {{1, 0.000125},
         {3, 0.00037500000000000001},
         {4, 0.00050000000000000001},
         {5, 0.00044721359549995795},
         {16, 0.00025000000000000001}});
}

TEST_CASE("without a warm-up the rates fall from the first update on") {
  check(InverseSquareRoot{.peak = 0.8, .warmup = 0}, {{1, 0.8}, {4, 0.4}, {16, 0.2}});
  check(Noam{.d_model = 4, .factor = 3.0, .warmup = 0}, {{1, 1.5}, {4, 0.75}, {9, 0.5}});
}

TEST_CASE("a decay by steps is PyTorch's StepLR") {
  check(StepDecay{.rate = 0.5, .step_size = 3}, {{1, 0.5},
                                                 {3, 0.5},
                                                 {4, 0.050000000000000003},
                                                 {6, 0.050000000000000003},
                                                 {7, 0.005000000000000001},
                                                 {30, 5.0000000000000024e-10}});
  check(StepDecay{.rate = 5.0, .step_size = 1, .gamma = 0.95},
        {{1, 5}, {2, 4.75}, {3, 4.5125000000000002}, {50, 0.40497355408796393}});
}

TEST_CASE("a constant rate does not change") { check(Constant{0.25}, {{1, 0.25}, {70000, 0.25}}); }

TEST_CASE("a decay every 0 updates is refused") {
  CHECK(message_of<ArgumentError>([] { return StepDecay{.rate = 1.0, .step_size = 0}(1); }) ==
        "StepDecay: a step size of 0");
}

TEST_CASE("the rate of a model without channels is refused") {
  CHECK(message_of<ArgumentError>([] { return Noam{.d_model = 0}(1); }) ==
        "Noam: a model of 0 channels");
}

}  // namespace schedules_tests
