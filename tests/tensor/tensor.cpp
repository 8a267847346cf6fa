// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/tensor/tensor.hpp>

#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

#include "../message_of.hpp"

namespace tensor_tests {

using namespace weft;
using weft::testing::message_of;

namespace {

Tensor<float> counting(Cpu& device, Shape shape) {
  std::vector<float> values(static_cast<std::size_t>(shape.size()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return to_device<float>(device, values, shape);
}

index_t live(const Cpu& device) { return device.memory().statistics().live; }

}  // namespace

TEST_CASE("elements go to a device and come back") {
  Cpu device;
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  const auto tensor = to_device<float>(device, values, {2, 3});
  CHECK((tensor.shape() == Shape{2, 3} && tensor.rows() == 2 && tensor.columns() == 3));
  CHECK(&tensor.device() == &device);
  CHECK(to_host(tensor) == values);
  CHECK(to_host(device, View<const float>(tensor)) == values);
  CHECK(reinterpret_cast<std::uintptr_t>(tensor.data()) % 64 == 0);
}

TEST_CASE("an array without elements is an array") {
  Cpu device;
  const auto tensor = to_device<float>(device, {}, {0, 3});
  CHECK_FALSE(tensor.empty());
  CHECK(to_host(tensor).empty());
  CHECK(tensor.slice(0, 0).shape() == Shape{0, 3});
  CHECK(Tensor<float>().empty());
}

TEST_CASE("a wrong number of values is refused") {
  Cpu device;
  const std::vector<float> values{1, 2, 3};
  CHECK(message_of<ShapeError>([&] { return to_device<float>(device, values, {2, 2}); }) ==
        "to_device: 3 values for the shape (2, 2)");
}

TEST_CASE("copies and slices share elements") {
  Cpu device;
  const auto tensor = counting(device, {4, 3});
  const Tensor<float> copy = tensor;
  const auto part = tensor.slice(1, 3);
  CHECK(part.shape() == Shape{2, 3});
  CHECK(to_host(part) == std::vector<float>{3, 4, 5, 6, 7, 8});
  part.data()[0] = -1.0f;
  CHECK(tensor.data()[3] == -1.0f);
  CHECK(copy.data()[3] == -1.0f);
  CHECK(part.slice(1, 2).data() == tensor.data() + 6);
}

TEST_CASE("a slice is taken along the first axis, whatever the rank") {
  Cpu device;
  CHECK(to_host(counting(device, {5}).slice(2, 4)) == std::vector<float>{2, 3});
  const auto three = counting(device, {3, 2, 2}).slice(1, 2);
  CHECK((three.shape() == Shape{1, 2, 2} && three.data()[0] == 4.0f));
  const auto four = counting(device, {2, 2, 1, 3}).slice(1, 2);
  CHECK((four.shape() == Shape{1, 2, 1, 3} && four.data()[0] == 6.0f));
}

TEST_CASE("memory lives as long as the last tensor that shares it, and no longer") {
  Cpu device;
  auto part = counting(device, {4, 3}).slice(3, 4);
  const auto other = counting(device, {4, 3});  // would take the memory, were it free
  CHECK(to_host(part) == std::vector<float>{9, 10, 11});
  const index_t before = live(device);
  part = Tensor<float>();
  CHECK(live(device) < before);
}

TEST_CASE("a device whose tensors are gone has nothing live") {
  Cpu device;
  {
    const auto tensor = counting(device, {4, 3});
    const auto part = tensor.slice(1, 2);
    CHECK(live(device) > 0);
  }
  CHECK(live(device) == 0);
}

TEST_CASE("a warm pool serves tensors without asking the system") {
  Cpu device;
  static_cast<void>(counting(device, {1000, 1000}));
  const index_t before = device.memory().statistics().system_requests;
  for (index_t n = 1; n < 200; ++n) {
    const Tensor<float> a(device, {n, 1000}), b(device, {200 - n, 1000});
  }
  CHECK(device.memory().statistics().system_requests == before);
}

TEST_CASE("a slice outside the first axis is refused") {
  Cpu device;
  const auto tensor = counting(device, {4, 3});
  CHECK(message_of<ShapeError>([&] { return tensor.slice(1, 5); }) ==
        "slice: rows 1 to 5 of (4, 3)");
  CHECK(message_of<ShapeError>([&] { return tensor.slice(-1, 2); }) ==
        "slice: rows -1 to 2 of (4, 3)");
  CHECK(message_of<ShapeError>([&] { return tensor.slice(3, 2); }) ==
        "slice: rows 3 to 2 of (4, 3)");
  CHECK(message_of<ShapeError>([&] { return counting(device, {}).slice(0, 0); }) ==
        "slice: rows 0 to 0 of ()");
}

TEST_CASE("another shape of the same size shows the same elements") {
  Cpu device;
  const auto tensor = counting(device, {4, 3});
  const auto flat = tensor.reshaped({2, 6});
  CHECK(flat.shape() == Shape{2, 6});
  CHECK(flat.data() == tensor.data());
  CHECK(message_of<ShapeError>([&] { return tensor.reshaped({5, 2}); }) ==
        "reshape: (4, 3) into (5, 2)");
}

}  // namespace tensor_tests
