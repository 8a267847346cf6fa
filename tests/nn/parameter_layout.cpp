// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/parameter_layout.hpp>

#include <weft/nn/criteria.hpp>
#include <weft/nn/generator.hpp>
#include <weft/nn/language_model.hpp>
#include <weft/nn/parameter_groups.hpp>
#include <weft/nn/transformer.hpp>
#include <weft/parallel/chunked.hpp>
#include <weft/parallel/objective.hpp>

#include "../message_of.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace parameter_layout_tests {

using namespace weft;
using namespace weft::nn;

namespace {

constexpr TransformerShape small(Tie tie, Positions positions, bool bias) {
  return {.d_model = 6,
          .heads = 2,
          .d_ff = 5,
          .encoder_layers = 2,
          .decoder_layers = 3,
          .attention_bias = bias,
          .positions = positions,
          .tie = tie};
}

template <TransformerShape S>
auto transformer() {
  using Loss = Chunked<Generator<S>, CrossEntropy>;
  return parallel::Objective<Transformer<S>, Loss>(Transformer<S>({11, 11, 7}));
}

template <bool Tied>
auto language_model() {
  constexpr LanguageModelShape shape{
      .d_model = 6, .heads = 2, .d_ff = 5, .layers = 2, .generator_bias = true, .tie = Tied};
  using Loss = Chunked<LanguageModelGenerator<shape>, CrossEntropy>;
  return parallel::Objective<LanguageModel<shape>, Loss>(LanguageModel<shape>(11, 7));
}

//! As PyTorch's nn.Transformer with a generator that has a bias.
constexpr TransformerShape with_final_norms{.d_model = 6,
                                            .heads = 2,
                                            .d_ff = 5,
                                            .encoder_layers = 2,
                                            .decoder_layers = 1,
                                            .norm = Norm::post,
                                            .final_norms = true,
                                            .generator_bias = true,
                                            .positions = Positions::sinusoidal_halves};

//! Calls `f(name, objective)` for models that tie, learn and leave out what can be.
template <class F>
void for_models(F f) {
  f("nothing tied", transformer<small(Tie::none, Positions::sinusoidal, false)>());
  f("the target tied", transformer<small(Tie::target, Positions::learned, true)>());
  f("all tied", transformer<small(Tie::all, Positions::sinusoidal, true)>());
  f("no positions", transformer<small(Tie::all, Positions::none, false)>());
  f("final norms", transformer<with_final_norms>());
  f("language model", language_model<false>());
  f("tied language model", language_model<true>());
}

struct TwoOfOneName {
  Parameter gain{.shape = {3}}, bias{.shape = {3}};
  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("gain", self.gain);
    visit("gain", self.bias);
  }
};

struct OneTwice {
  Parameter gain{.shape = {3}}, bias{.shape = {3}, .trained = false}, none{.shape = {0, 3}},
      nothing = none;
  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("gain", self.gain);
    visit("none", self.none);
    visit("nothing", self.nothing);
    visit("bias", self.bias);
    visit("offset", self.bias);
  }
};

//! A weight, a use of it, and a use of that use.
struct TiedToAUse {
  Parameter weight{.shape = {3}}, use, another;
  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("weight", self.weight);
    visit.tie(self.use, self.weight);
    visit.tie(self.another, self.use);
  }
};

}  // namespace

TEST_CASE("no two parameters have one name") {
  for_models([](const char* model, const auto& objective) {
    INFO(model);
    std::set<std::string> names;
    for (const auto& [name, parameter] : named_parameters(objective)) {
      INFO(name);
      CHECK(names.insert(name).second);
      CHECK(name.find("..") == std::string::npos);
    }
    CHECK(names.contains("encoder.layers.1.self_attention.query.weight"));
  });
}

TEST_CASE("parameters of one name, and one that is shown twice, are refused") {
  const auto message = [](auto module) {
    ParameterLayout layout;
    place_trained(module, layout);
    place_others(module, layout);
    return testing::message_of<ArgumentError>([&] { check_members(module); });
  };
  CHECK(message(TwoOfOneName()) == "members: two parameters are shown as \"gain\"");
  CHECK(message(OneTwice()) ==
        "members: one parameter is shown twice, as \"bias\" and as \"offset\"");
}

TEST_CASE("trained parameters fill the front of both buffers in order of declaration") {
  for_models([](const char* model, const auto& objective) {
    INFO(model);
    const ParameterLayout& layout = objective.layout();
    index_t end = 0;
    int slot = 0;
    for (const auto& [name, p] : named_parameters(objective)) {
      if (!p.trained) continue;
      INFO(name);
      CHECK(p.value_offset == end);
      CHECK(p.gradient_offset == end);
      CHECK(p.slot == slot++);
      end += p.size();
    }
    CHECK(end == layout.trained);
    CHECK(end == parameter_count(objective));
  });
}

TEST_CASE("computed tables fill the rest of the values") {
  for_models([](const char* model, const auto& objective) {
    INFO(model);
    index_t end = objective.layout().trained;
    for (const auto& [name, p] : named_parameters(objective)) {
      if (p.trained) continue;
      INFO(name);
      CHECK(p.value_offset == end);
      end += p.size();
    }
    CHECK(end == objective.layout().values);
  });
}

TEST_CASE("the places for gradients fill their buffer without gaps") {
  for_models([](const char* model, const auto& objective) {
    INFO(model);
    const ParameterLayout& layout = objective.layout();
    index_t end = 0;
    for (const auto& [offset, size] : layout.slots) {
      CHECK(offset == end);
      end += size;
    }
    CHECK(end == layout.gradients);

    index_t uses = 0;
    for (const auto& tied : layout.tied) {
      CHECK(tied.from >= layout.trained);
      CHECK(tied.to + tied.size <= layout.trained);
      uses += tied.size;
    }
    CHECK(layout.trained + uses == layout.gradients);
  });
}

TEST_CASE("each use of a tied weight shares its values and has a gradient of its own") {
  const auto objective = transformer<small(Tie::all, Positions::sinusoidal, true)>();
  const Parameter& declared = objective.model().source_embedding.weight;
  const Parameter& target = objective.model().target_embedding.weight;
  const Parameter& output = objective.loss().generator.weight;
  for (const Parameter& use : {target, output}) {
    CHECK(use.shape == declared.shape);
    CHECK(use.value_offset == declared.value_offset);
    CHECK(use.gradient_offset != declared.gradient_offset);
  }
  CHECK(target.gradient_offset != output.gradient_offset);
  CHECK(std::set{declared.slot, target.slot, output.slot}.size() == 3);

  const auto& tied = objective.layout().tied;
  REQUIRE(tied.size() == 2);
  CHECK(tied[0].from == target.gradient_offset);
  CHECK(tied[1].from == output.gradient_offset);
  CHECK(tied[0].to == declared.gradient_offset);
  CHECK(tied[1].to == declared.gradient_offset);
}

TEST_CASE("a use of a use is one of the weight, to which its gradient is added") {
  TiedToAUse module;
  ParameterLayout layout;
  place_trained(module, layout);
  place_others(module, layout);
  CHECK(module.another.value_offset == module.weight.value_offset);
  REQUIRE(layout.tied.size() == 2);
  CHECK(layout.tied[1].from == module.another.gradient_offset);
  CHECK(layout.tied[1].to == module.weight.gradient_offset);
}

TEST_CASE("all uses of a frozen weight are frozen, behind what is trained") {
  TiedToAUse module;
  module.weight.trained = false;
  ParameterLayout layout;
  place_trained(module, layout);
  place_others(module, layout);
  CHECK(layout.values == 3);
  CHECK(layout.gradients == 0);
  CHECK(layout.slots.empty());
  CHECK(layout.tied.empty());
  for (const Parameter& use : {module.use, module.another}) {
    CHECK(!use.trained);
    CHECK(use.shape == Shape{3});
    CHECK(use.value_offset == module.weight.value_offset);
  }

  constexpr TransformerShape shape = small(Tie::all, Positions::sinusoidal, true);
  Transformer<shape> model({11, 11, 7});
  freeze(model.source_embedding);
  using Loss = Chunked<Generator<shape>, CrossEntropy>;
  const parallel::Objective<Transformer<shape>, Loss> objective(model);
  const Parameter& declared = objective.model().source_embedding.weight;
  CHECK(declared.value_offset >= objective.layout().trained);
  CHECK(objective.model().target_embedding.weight.value_offset == declared.value_offset);
  CHECK(objective.loss().generator.weight.value_offset == declared.value_offset);
  CHECK(objective.layout().tied.empty());
  CHECK(objective.layout().gradients == objective.layout().trained);
}

TEST_CASE("a use that is frozen without its weight is refused") {
  TiedToAUse module;
  module.use.trained = false;
  ParameterLayout layout;
  place_trained(module, layout);
  CHECK(testing::message_of<ArgumentError>([&] { return place_others(module, layout), 0; }) ==
        "freeze: a use of a weight of (3) is frozen, which is trained elsewhere: freeze it where "
        "it is declared, and with it all uses");
}

TEST_CASE("a generator that shares only the target's embedding has that of the target") {
  const auto objective = transformer<small(Tie::target, Positions::learned, true)>();
  const auto& model = objective.model();
  CHECK(objective.loss().generator.weight.value_offset ==
        model.target_embedding.weight.value_offset);
  CHECK(model.target_embedding.weight.value_offset != model.source_embedding.weight.value_offset);
}

TEST_CASE("a probability of dropout that is none is refused where a model is placed") {
  const auto message = [](float probability) {
    FeedForward<4, 8> module(probability);
    ParameterLayout layout;
    return testing::message_of<ArgumentError>([&] { return place_trained(module, layout), 0; });
  };
  CHECK(message(0.5f) == "(no error)");
  CHECK(message(1.5f) == "dropout: a probability of 1.5, needs 0 <= p < 1");
}

TEST_CASE("no two places of dropout have one operation number") {
  for_models([](const char* model, const auto& objective) {
    INFO(model);
    struct Sites : nn::detail::Visitor {
      std::uint32_t next = 0;
      bool ascending = true;
      void dropout(const DropoutSite& site) {
        ascending = ascending && site.operation == next;
        next = site.operation + site.operations;
      }
    } sites;
    visit_members(objective, sites);
    CHECK(sites.ascending);
    CHECK(sites.next == objective.layout().operations);
  });
}

}  // namespace parameter_layout_tests
