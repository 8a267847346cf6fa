// expect: means do not add up: add the sums, add the counts, then call mean once
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/core/sum_count.hpp>

using namespace weft;

double mean_of_means() {
  const auto first = mean(Sum<of::Loss>(6), Count<of::Tokens>(3));
  const auto second = mean(Sum<of::Loss>(6), Count<of::Tokens>(1));
  return (first + second).value() / 2;
}
