// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Cuts a Sequential into the stages of a Pipe.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <tuple>
#include <utility>

#include <weft/core/index.hpp>
#include <weft/nn/parameter.hpp>
#include <weft/nn/sequential.hpp>
#include <weft/parallel/pipe.hpp>

namespace weft::parallel {

//! Where stages begin, and at the end how many modules there are: the cut whose dearest stage is
//! cheapest. The last stage bears `behind` on top. Every stage gets a module.
template <int stages, std::size_t n>
requires(stages >= 1 && stages <= static_cast<int>(n))
    [[nodiscard]] constexpr std::array<int, static_cast<std::size_t>(stages) + 1> balanced_cuts(
        const std::array<index_t, n>& costs, index_t behind = 0) {
  constexpr int modules = static_cast<int>(n);
  index_t before[n + 1] = {};  // the costs of all modules in front of one
  for (std::size_t i = 0; i < n; ++i) before[i + 1] = before[i] + costs[i];
  // dearest[s][i]: of modules from i on, in s + 1 stages; cut[s][i]: where the first of them ends.
  index_t dearest[stages][n + 1] = {};
  int cut[stages][n + 1] = {};
  for (int i = 0; i < modules; ++i) {
    dearest[0][i] = before[modules] - before[i] + behind;
    cut[0][i] = modules;
  }
  for (int s = 1; s < stages; ++s) {
    for (int i = 0; i + s < modules; ++i) {
      dearest[s][i] = -1;
      for (int end = i + 1; end + s <= modules; ++end) {
        const index_t cost = std::max(before[end] - before[i], dearest[s - 1][end]);
        if (dearest[s][i] >= 0 && cost >= dearest[s][i]) continue;
        dearest[s][i] = cost;
        cut[s][i] = end;
      }
    }
  }
  std::array<int, static_cast<std::size_t>(stages) + 1> begins{};
  for (int s = 0; s < stages; ++s) {
    begins[static_cast<std::size_t>(s) + 1] =
        cut[stages - 1 - s][begins[static_cast<std::size_t>(s)]];
  }
  return begins;
}

namespace detail {

//! How often each row is multiplied with a parameter that is trained: for the output, and for the
//! gradients of the input and of the parameter. With those of an nn::Frozen it is once.
inline constexpr index_t products_of_trained = 3;

struct CountProducts : nn::detail::Visitor {
  index_t count = 0;
  constexpr void parameter(const char*, const nn::Parameter& p) {
    if (!p.computed) count += p.size() * (p.trained ? products_of_trained : 1);
  }
};

//! What a module costs: products with its parameters for every row. Those whose number is known at
//! run time, as an embedding's, do not count, nor do look-ups.
template <class Module>
inline constexpr index_t cost_of = [] {
  const auto module = Module();
  CountProducts counter;
  nn::visit_members(module, counter);
  return counter.count;
}();

template <int stages, index_t behind, class... Ms>
inline constexpr auto cuts_of = balanced_cuts<stages>(std::array{cost_of<Ms>...},
                                                      products_of_trained* behind);

//! Modules `begin` to `end - 1`. (Their types are named: of one that is a Sequential itself its
//! copy would be deduced, and its modules would count as the model's.)
template <int begin, int end, class... Ms>
[[nodiscard]] constexpr auto slice(const nn::Sequential<Ms...>& model) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    constexpr auto first = static_cast<std::size_t>(begin);
    return nn::Sequential<std::tuple_element_t<first + I, std::tuple<Ms...>>...>(
        std::get<first + I>(model.modules)...);
  }
  (std::make_index_sequence<static_cast<std::size_t>(end - begin)>{});
}

template <class... Ms>
inline constexpr int count_of = static_cast<int>(sizeof...(Ms));

template <class Model>
concept IsSequential = requires(const Model& model) {
  []<class... Ms>(const nn::Sequential<Ms...>&) {}(model);
};

}  // namespace detail

//! Cuts a model into a Pipe of `stages` stages that cost about the same. `loss_parameters` is what
//! the loss behind it multiplies each row with, channels x vocabulary for a generator: the last
//! stage bears it.
//!
//!     const nn::Sequential model(embedding, layer, layer, layer, layer, norm);
//!     auto pipe = split<OneForwardOneBackward<8>, 2, 256 * 28'782>(model);
template <Schedule S, int stages, index_t loss_parameters = 0, class... Ms>
[[nodiscard]] constexpr auto split(const nn::Sequential<Ms...>& model) {
  static_assert(stages > 0 && stages <= detail::count_of<Ms...>,
                "a model cannot be split into more stages than it has modules: one would be empty");
  constexpr bool are_known = (std::default_initializable<Ms> && ...);
  static_assert(are_known,
                "split asks each module how many parameters it has when it compiles: it needs a "
                "constexpr default constructor, as nn::Embedding has one for no words");
  if constexpr (stages > 0 && stages <= detail::count_of<Ms...> && are_known) {
    constexpr auto cuts = detail::cuts_of<stages, loss_parameters, Ms...>;
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return make_pipe<S>(detail::slice<cuts[I], cuts[I + 1]>(model)...);
    }
    (std::make_index_sequence<static_cast<std::size_t>(stages)>{});
  }
}

//! For another model: an error that says what is taken.
template <Schedule S, int stages, index_t loss_parameters = 0, class Model>
requires(!detail::IsSequential<Model>) constexpr void split(const Model&) {
  static_assert(sizeof(Model) == 0,
                "split takes an nn::Sequential; nn::steps_of(transformer) makes one of a "
                "Transformer");
}

}  // namespace weft::parallel

namespace weft {
using parallel::split;
}
