// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/parallel/primitives.hpp>

#include <catch2/catch.hpp>

#include <numeric>
#include <vector>

namespace primitives_tests {

using namespace weft;
using namespace weft::parallel;

namespace {

Tensor<float> numbers(Cpu& device, Shape shape, float first = 1.0f) {
  std::vector<float> values(static_cast<std::size_t>(shape.size()));
  std::iota(values.begin(), values.end(), first);
  return to_device<float>(device, values, shape);
}

double inner(const Tensor<float>& a, const Tensor<float>& b) {
  const auto x = to_host(a), y = to_host(b);
  return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
}

}  // namespace

TEST_CASE("scatter cuts as PyTorch's chunk: larger pieces first, perhaps fewer than devices") {
  const DeviceGroup<Cpu> group(4);
  const auto rows_of = [&](index_t rows) {
    std::vector<index_t> sizes;
    for (const auto& piece : scatter(group, numbers(group[0], {rows, 3}))) {
      sizes.push_back(piece.shape()[0]);
    }
    return sizes;
  };
  CHECK(rows_of(8) == std::vector<index_t>{2, 2, 2, 2});
  CHECK(rows_of(7) == std::vector<index_t>{2, 2, 2, 1});
  CHECK(rows_of(5) == std::vector<index_t>{2, 2, 1});
  CHECK(rows_of(1) == std::vector<index_t>{1});
  CHECK(rows_of(0) == std::vector<index_t>{0});
}

TEST_CASE("each piece lies on its own device, in order") {
  const DeviceGroup<Cpu> group(3);
  const auto pieces = scatter(group, numbers(group[0], {3, 2}));
  REQUIRE(pieces.size() == 3);
  for (int index = 0; index < 3; ++index) {
    const auto& piece = pieces[static_cast<std::size_t>(index)];
    CHECK(&piece.device() == &group[index]);
    CHECK(to_host(piece) ==
          std::vector<float>{static_cast<float>(2 * index + 1), static_cast<float>(2 * index + 2)});
  }
}

TEST_CASE("gather undoes scatter") {
  const DeviceGroup<Cpu> group(3);
  for (const index_t rows : {0, 1, 2, 3, 4, 10}) {
    const auto whole = numbers(group[0], {rows, 2, 2});
    const auto joined = gather(group[1], scatter(group, whole));
    CHECK(joined.shape() == whole.shape());
    CHECK(to_host(joined) == to_host(whole));
    CHECK(&joined.device() == &group[1]);
  }
}

TEST_CASE("gather is the adjoint of scatter") {
  const DeviceGroup<Cpu> group(3);
  const auto x = numbers(group[0], {5, 2});
  std::vector<Tensor<float>> y;
  double left = 0.0;
  for (const auto& piece : scatter(group, x)) {
    y.push_back(numbers(piece.device(), piece.shape(), static_cast<float>(3 * y.size()) - 2.0f));
    left += inner(piece, y.back());
  }
  CHECK(left == inner(x, gather(group[0], y)));  // small whole numbers: exact
}

TEST_CASE("reduce_add is the adjoint of broadcast") {
  const DeviceGroup<Cpu> group(5);
  const auto x = numbers(group[0], {4});
  std::vector<Tensor<float>> y;
  double left = 0.0;
  for (const auto& copy : broadcast(group, x)) {
    y.push_back(numbers(copy.device(), {4}, static_cast<float>(y.size() * y.size())));
    left += inner(copy, y.back());
  }
  CHECK(left == inner(x, reduce_add(group[0], y)));
}

TEST_CASE("devices that share memory share what is replicated") {
  const DeviceGroup<Cpu> group(3);
  const auto values = numbers(group[0], {6});
  for (const auto& replica : replicate(group, values)) CHECK(replica.data() == values.data());
}

TEST_CASE("pieces that do not fit are refused with their shapes") {
  Cpu device;
  CHECK_THROWS_WITH(gather(device, std::vector{numbers(device, {1, 2}), numbers(device, {1, 3})}),
                    Catch::Contains("(1, 2)") && Catch::Contains("(1, 3)"));
  CHECK_THROWS_AS(gather(device, std::vector<Tensor<float>>{}), ArgumentError);
  CHECK_THROWS_WITH(gather(device, std::vector{numbers(device, {})}),
                    Catch::Contains("gather: single numbers have no dimension 0"));
  CHECK_THROWS_AS(reduce_add(device, std::vector<Tensor<float>>{}), ArgumentError);
  CHECK_THROWS_AS(reduce_add(device, std::vector{numbers(device, {2}), numbers(device, {3})}),
                  ShapeError);
}

}  // namespace primitives_tests
