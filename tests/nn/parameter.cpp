// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/parameter.hpp>

#include <weft/nn/parameter_layout.hpp>

#include <catch2/catch.hpp>

#include <array>
#include <string>
#include <tuple>
#include <vector>

namespace parameter_tests {

using namespace weft;
using namespace weft::nn;

namespace {

struct Leaf {
  Parameter weight{.shape = {2, 3}};
  Parameter table{.shape = {100}, .trained = false};

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("weight", self.weight);
    visit("table", self.table);
  }
};

struct Tree {
  std::array<Leaf, 2> list;
  std::tuple<Leaf, Leaf> pair;
  Leaf unnamed, tied;

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("list", self.list);
    visit("", self.pair);
    visit("", self.unnamed);
    visit.tie(self.tied.weight, self.unnamed.weight);
  }
};

static_assert(parameter_count(Leaf()) == 6);
static_assert(parameter_count(Tree()) == 5 * 6);
static_assert(parameter_count(Leaf(), Tree()) == 6 * 6);
static_assert(parameter_count() == 0);

}  // namespace

TEST_CASE("names are paths of members and numbers") {
  std::vector<std::string> names;
  for (const auto& [name, parameter] : named_parameters(Tree())) {
    if (parameter.trained) names.push_back(name);
  }
  CHECK(names == std::vector<std::string>{"list.0.weight", "list.1.weight", "0.weight", "1.weight",
                                          "weight"});
}

TEST_CASE("parameters declared in a row can be used as one") {
  Parameter weight{.shape = {4, 3}};
  weight.value_offset = 100;
  weight.gradient_offset = 200;
  weight.slot = 7;
  Parameter second = weight, third = weight;
  second.value_offset += 12;
  third.value_offset += 24;
  const Parameter three = joined(weight, second, third);
  CHECK(three.shape == Shape{12, 3});
  CHECK(three.value_offset == 100);
  CHECK(three.gradient_offset == 200);
  CHECK(three.slot == 7);
  CHECK(three.slots == 3);
  const Parameter bias{.shape = {4}};
  CHECK(joined(bias, bias).shape == Shape{8});
  const Parameter taller{.shape = {6, 3}};
  CHECK(joined(taller, Parameter{.shape = {4, 3}}).shape == Shape{10, 3});
  weight.trained = second.trained = false;
  CHECK(joined(weight, second).slots == 2);
  CHECK_THROWS_WITH(joined(bias, bias, Parameter{.shape = {4}, .trained = false}),
                    Catch::Contains("some of 3 parameters of (4)"));
}

TEST_CASE("parameters that do not lie in a row, or have other columns, are not used as one") {
  Parameter first{.shape = {4, 3}};
  first.value_offset = 100;
  Parameter far = first;
  far.value_offset = 116;
  const auto fault =
      Catch::Contains("which have to be vectors or have as many columns, and be shown one after");
  CHECK_THROWS_WITH(joined(first, far), fault);
  CHECK_THROWS_WITH(joined(first, first), fault);
  CHECK_THROWS_WITH(joined(Parameter{.shape = {4, 3}}, Parameter{.shape = {3, 4}}),
                    fault && Catch::Contains("parameters of (4, 3) and (3, 4)"));
}

}  // namespace parameter_tests
