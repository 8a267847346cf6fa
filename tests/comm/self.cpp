// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/comm/self.hpp>

#include <weft/comm/collectives.hpp>

#include <catch2/catch.hpp>

#include <vector>

namespace self_tests {

using namespace weft;
using namespace weft::comm;

TEST_CASE("alone, collectives change nothing") {
  SelfCommunicator self;
  std::vector<double> values{1.5, -2.0};
  all_reduce(self, std::span(values));
  broadcast(self, std::span(values), 0);
  barrier(self);
  CHECK(values == std::vector<double>{1.5, -2.0});
  CHECK(all_gather(self, std::span<const double>(values)) == values);
  CHECK(reduce_scatter(self, std::span<const double>(values)) == values);
  CHECK(self.split(3, 0).size() == 1);
}

TEST_CASE("alone, there is nobody to send to") {
  SelfCommunicator self;
  const float value = 1.0f;
  const std::vector<Message> messages{send_to(1, &value, 1)};
  SelfCommunicator::Transfer transfer;
  CHECK_THROWS_WITH(self.post(messages, {"send"}, transfer), Catch::Contains("rank 1"));
}

}  // namespace self_tests
