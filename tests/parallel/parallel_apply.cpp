// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/parallel/parallel_apply.hpp>

#include <catch2/catch.hpp>

#include <atomic>
#include <barrier>
#include <chrono>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "../failing_allocations.hpp"
#include "../message_of.hpp"

namespace parallel_apply_tests {

using namespace weft;
using namespace weft::parallel;
using testing::message_of;

TEST_CASE("every device runs the function once, with its own index") {
  const DeviceGroup<Cpu> group(4);
  std::vector<int> calls(4, 0);
  std::vector<Cpu*> devices(4);
  parallel_apply(group, [&](Cpu& device, int index) {
    ++calls[static_cast<std::size_t>(index)];
    devices[static_cast<std::size_t>(index)] = &device;
  });
  CHECK(calls == std::vector<int>(4, 1));
  CHECK(devices == std::vector<Cpu*>{&group[0], &group[1], &group[2], &group[3]});
}

TEST_CASE("the devices run at the same time") {
  const DeviceGroup<Cpu> group(3);
  std::barrier meeting(3);  // would never open if one waited for another to end
  parallel_apply(group, [&](Cpu&, int) { meeting.arrive_and_wait(); });
  SUCCEED();
}

TEST_CASE("where memory is missing for a device's task, the others run and are waited for") {
  for (const int failing : {0, 1, 2}) {
    CAPTURE(failing);
    const DeviceGroup<Cpu> group(3);  // whose queues have no memory yet
    std::atomic<int> ended{0};
    const auto message = message_of<DeviceError>([&] {
      testing::allocations_left = 1 + failing;  // the first is for all tasks
      try {
        parallel_apply(group, [&](Cpu&, int) {
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          ++ended;
        });
      } catch (...) {
        testing::allocations_left = std::numeric_limits<long>::max();
        throw;
      }
      return 0;
    });
    CHECK(message == text("cpu:", failing, ": std::bad_alloc"));
    CHECK(ended == 2);
  }
}

TEST_CASE("the first device's exception is rethrown, with its name, once all have ended") {
  const DeviceGroup<Cpu> group(4);
  std::atomic<int> ended{0};
  const auto run = [&] {
    parallel_apply(group, [&](Cpu&, int index) {
      if (index == 2) throw ShapeError("two is wrong");
      if (index == 3) throw std::runtime_error("three is wrong");
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      ++ended;
    });
  };
  try {
    run();
    FAIL("nothing was thrown");
  } catch (const DeviceError& error) {
    CHECK(error.message() == "cpu:2: two is wrong");
    CHECK(error.device() == "cpu:2");
    CHECK_THROWS_AS(std::rethrow_exception(error.cause()), ShapeError);
  }
  CHECK(ended == 2);

  std::atomic<int> again{0};
  parallel_apply(group, [&](Cpu&, int) { ++again; });
  CHECK(again == 4);
}

TEST_CASE("a function on a device that asks for all devices is refused: it would wait for itself") {
  const DeviceGroup<Cpu> devices(2);
  std::vector<std::string> messages(2);
  parallel_apply(devices, [&](Cpu&, int index) {
    messages[static_cast<std::size_t>(index)] = message_of<ArgumentError>([&] {
      parallel_apply(devices, [](Cpu&, int) {});
      return 0;
    });
  });
  for (const auto& message : messages) {
    CHECK(message.find("would wait for itself") != std::string::npos);
  }
  std::atomic<int> calls{0};
  parallel_apply(devices, [&](Cpu&, int index) { calls += index; });
  CHECK(calls == 1);
}

}  // namespace parallel_apply_tests
