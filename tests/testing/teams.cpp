// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/testing/teams.hpp>

#include <catch2/catch.hpp>
#include <vector>

#include <weft/testing/random.hpp>

namespace teams_tests {

using namespace weft;
using namespace weft::testing;

TEST_CASE("a sum whose order follows the team is found out, one that does not is not") {
  const auto x = random_values(10000, 1);
  const auto sum_in_parts = [&](Cpu& device, index_t parts) {
    const auto sums = to_device<float>(device, std::vector<float>(3, 0.0f), {3});
    for (index_t part = 0; part < parts; ++part) {
      float sum = 0.0f;
      for (index_t i = 10000 * part / parts; i < 10000 * (part + 1) / parts; ++i) {
        sum += x[static_cast<std::size_t>(i)];
      }
      sums.data()[0] += sum;
    }
    return std::vector{sums};
  };
  CHECK(team_difference([&](Cpu& device) { return sum_in_parts(device, 3); }) == "");
  CHECK(team_difference([&](Cpu& device) { return sum_in_parts(device, device.threads()); })
            .starts_with("result 0 on 1 and 2 threads: element 0 of (3) is "));
}

}  // namespace teams_tests
