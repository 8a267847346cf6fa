// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/device/device_group.hpp>

#include <catch2/catch.hpp>

#include "../message_of.hpp"

namespace device_group_tests {

using namespace weft;
using weft::testing::message_of;

TEST_CASE("a group's devices are numbered and alike") {
  const DeviceGroup<Cpu> group(3, 2);
  REQUIRE(group.size() == 3);
  for (int index = 0; index < group.size(); ++index) {
    CHECK(group[index].index() == index);
    CHECK(group[index].threads() == 2);
  }
  CHECK(&group[0] != &group[1]);
  CHECK(&group[1] != &group[2]);
}

TEST_CASE("a device has one thread unless more are asked for") {
  CHECK(DeviceGroup<Cpu>(1)[0].threads() == 1);
}

TEST_CASE("a group without devices, or of devices without threads, is refused") {
  CHECK(message_of<ArgumentError>([] { return DeviceGroup<Cpu>(0).size(); }) ==
        "device group: 0 devices");
  CHECK(message_of<ArgumentError>([] { return DeviceGroup<Cpu>(-2).size(); }) ==
        "device group: -2 devices");
  CHECK(message_of<ArgumentError>([] { return DeviceGroup<Cpu>(2, 0).size(); }) ==
        "Team: needs at least one thread, not 0");
}

}  // namespace device_group_tests
