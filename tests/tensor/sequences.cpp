// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/tensor/sequences.hpp>

#include <catch2/catch.hpp>
#include <span>
#include <vector>

#include "../message_of.hpp"

namespace sequences_tests {

using namespace weft;
using weft::testing::message_of;

namespace {

using Lengths = std::vector<index_t>;
using Ids = std::vector<std::uint32_t>;

std::vector<std::pair<std::uint32_t, std::uint32_t>> keys_of(const LayoutPointer<>& layout) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (const RowKey key : to_host(layout->keys)) pairs.emplace_back(key.sequence, key.position);
  return pairs;
}

}  // namespace

TEST_CASE("sequences lie end to end, and a row is known by its sequence and position") {
  Cpu device;
  const auto layout = make_layout(device, Lengths{2, 0, 3}, Ids{7, 8, 5});
  CHECK(layout->offsets == Lengths{0, 2, 2, 5});
  CHECK((layout->sequences() == 3 && layout->rows() == 5 && layout->longest == 3));
  CHECK((layout->begin(2) == 2 && layout->length(0) == 2 && layout->length(1) == 0));
  CHECK(keys_of(layout) == std::vector<std::pair<std::uint32_t, std::uint32_t>>{
                               {7, 0}, {7, 1}, {5, 0}, {5, 1}, {5, 2}});
}

TEST_CASE("sequences are numbered from the first id on") {
  Cpu device;
  CHECK(keys_of(make_layout(device, Lengths{1, 2}, 40)) ==
        std::vector<std::pair<std::uint32_t, std::uint32_t>>{{40, 0}, {41, 0}, {41, 1}});
  CHECK(keys_of(make_layout(device, Lengths{1})) ==
        std::vector<std::pair<std::uint32_t, std::uint32_t>>{{0, 0}});
}

TEST_CASE("positions count from each sequence's first one on") {
  Cpu device;
  const auto layout = make_layout(device, Lengths{1, 2}, Ids{7, 8}, Lengths{30, 4});
  CHECK(layout->offsets == Lengths{0, 1, 3});
  CHECK(layout->longest == 31);
  CHECK(keys_of(layout) ==
        std::vector<std::pair<std::uint32_t, std::uint32_t>>{{7, 30}, {8, 4}, {8, 5}});
}

TEST_CASE("no sequences at all are a layout too") {
  Cpu device;
  const auto layout = make_layout(device, Lengths{});
  CHECK((layout->sequences() == 0 && layout->rows() == 0 && layout->longest == 0));
  CHECK(layout->keys.size() == 0);
}

TEST_CASE("lengths and ids that do not fit are refused") {
  Cpu device;
  CHECK(message_of<ShapeError>([&] { return make_layout(device, Lengths{1, 2}, Ids{1}); }) ==
        "layout: 2 lengths and 1 ids");
  CHECK(message_of<ShapeError>([&] {
          return make_layout(device, Lengths{1, 2}, Ids{1, 2}, Lengths{5});
        }) == "layout: 2 lengths and 1 first positions");
  CHECK(message_of<ShapeError>([&] { return make_layout(device, Lengths{1, -2}); }) ==
        "layout: a length of -2");
  CHECK(message_of<ShapeError>([&] {
          return make_layout(device, Lengths{1, 2}, Ids{1, 2}, Lengths{5, -1});
        }) == "layout: a first position of -1");
}

}  // namespace sequences_tests
