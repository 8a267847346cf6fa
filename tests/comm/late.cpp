// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/comm/late.hpp>

#include <catch2/catch.hpp>

#include <vector>

namespace late_tests {

using namespace weft;
using comm::Message;

TEST_CASE("a rank that sends nothing is missed before one that takes nothing") {
  char byte = 0;
  const std::vector<Message> messages{comm::send_to(1, &byte, 1), comm::receive_from(2, &byte, 1),
                                      comm::send_to(3, &byte, 1), comm::receive_from(4, &byte, 1)};
  const auto missing = [&](const std::vector<int>& ended) {
    return comm::first_missing_peer(
        messages.size(), [&](std::size_t i) { return messages[i]; },
        [&](std::size_t i) { return ended[i] != 0; }, 0);
  };
  CHECK(missing({0, 0, 0, 0}) == 2);
  CHECK(missing({0, 1, 0, 0}) == 4);
  CHECK(missing({0, 1, 0, 1}) == 3);
  CHECK(missing({0, 1, 1, 1}) == 1);
  CHECK(missing({1, 1, 1, 1}) == 0);
}

TEST_CASE("a late rank is named with what it is late for and what it did last") {
  CHECK(comm::late_text(2, {"all_reduce", "bucket", 4, 91}, comm::Timeout(1.5),
                        comm::Purpose{"barrier"}) ==
        "rank 2 has not entered all_reduce of bucket 4, update 91 within 1.5 s; last seen in "
        "barrier");
}

}  // namespace late_tests
