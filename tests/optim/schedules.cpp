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

TEST_CASE("a linear decay is PyTorch's LinearLR behind a linear warm-up") {
  check(LinearDecay{.peak = 0.05, .updates = 100, .warmup = 20}, {{1, 0.0025},
                                                                  {19, 0.0475},
                                                                  {20, 0.050000000000000003},
                                                                  {21, 0.049375000000000002},
                                                                  {60, 0.024999999999999981},
                                                                  {99, 0.0006249999999999999},
                                                                  {100, 0},
                                                                  {130, 0}});
  check(LinearDecay{.peak = 0.5, .updates = 10, .last = 0.1}, {{1, 0.46000000000000002},
                                                               {5, 0.29999999999999999},
                                                               {10, 0.099999999999999978},
                                                               {11, 0.099999999999999978}});
}

TEST_CASE("a cosine decay is PyTorch's CosineAnnealingLR behind a linear warm-up") {
  check(CosineDecay{.peak = 0.003, .updates = 100, .warmup = 20}, {{1, 0.00015},
                                                                   {20, 0.0030000000000000001},
                                                                   {21, 0.0029988435543610845},
                                                                   {60, 0.0015000000000000002},
                                                                   {90, 0.0001141807012330699},
                                                                   {100, 0},
                                                                   {130, 0}});
  check(CosineDecay{.peak = 0.5, .updates = 10, .last = 0.1}, {{1, 0.49021130325903073},
                                                               {5, 0.3000000000000001},
                                                               {9, 0.1097886967409693},
                                                               {10, 0.10000000000000001},
                                                               {11, 0.10000000000000001}});
}

TEST_CASE("a decay ends with its last rate to the bit, and a warm-up with the highest") {
  for (const double last : {0.0, 1e-5}) {
    CHECK(LinearDecay{.peak = 3e-4, .updates = 77, .warmup = 7, .last = last}(77) == last);
    CHECK(CosineDecay{.peak = 3e-4, .updates = 77, .warmup = 7, .last = last}(77) == last);
    CHECK(LinearDecay{.peak = 3e-4, .updates = 77, .warmup = 7, .last = last}(7) == 3e-4);
    CHECK(CosineDecay{.peak = 3e-4, .updates = 77, .warmup = 7, .last = last}(7) == 3e-4);
  }
}

TEST_CASE("a decay without an update after its warm-up is refused") {
  CHECK(message_of<ArgumentError>(
            [] { return LinearDecay{.peak = 1.0, .updates = 10, .warmup = 10}(1); }) ==
        "LinearDecay: 10 updates of warm-up, of 10 in all: needs 0 or more, and fewer than all");
  CHECK(message_of<ArgumentError>(
            [] { return CosineDecay{.peak = 1.0, .updates = 10, .warmup = -1}(1); }) ==
        "CosineDecay: -1 updates of warm-up, of 10 in all: needs 0 or more, and fewer than all");
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
