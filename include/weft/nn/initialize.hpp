// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The first values of parameters.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>
#include <vector>

#include <weft/core/philox.hpp>
#include <weft/nn/parameter.hpp>
#include <weft/nn/parameter_layout.hpp>

namespace weft::nn {

namespace detail {

//! Uniform in (0, 1), from 32 random bits.
inline double unit(std::uint32_t bits) { return (static_cast<double>(bits) + 0.5) / 4294967296.0; }

//! Makes each element what `f` returns for four random words of its own.
template <class F>
void for_each_random(std::span<float> values, RandomKey key, std::uint32_t stream, F f) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto low = static_cast<std::uint32_t>(i);
    const auto high = static_cast<std::uint32_t>(static_cast<std::uint64_t>(i) >> 32);
    values[i] = f(philox({low, high, stream, 0}, key));
  }
}

inline void fill_sinusoids(std::span<float> values, index_t C, bool in_halves) {
  const index_t sines = (C + 1) / 2;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto position = static_cast<double>(static_cast<index_t>(i) / C);
    const index_t channel = static_cast<index_t>(i) % C;
    const bool is_sine = in_halves ? channel < sines : channel % 2 == 0;
    const index_t pair = in_halves ? channel - (is_sine ? 0 : sines) : channel / 2;
    const double exponent = static_cast<double>(2 * pair) / static_cast<double>(C);
    const double angle = position / std::pow(10000.0, exponent);
    values[i] = static_cast<float>(is_sine ? std::sin(angle) : std::cos(angle));
  }
}

}  // namespace detail

//! Fills `values` with a parameter's first values. They depend on the seed and on the parameter's
//! number among those that are trained, in order of declaration, and on nothing else; where it is
//! frozen on the place of its values. So what stands behind a module begins otherwise if that is
//! frozen.
inline void initialize(const Parameter& parameter, std::uint64_t seed, std::span<float> values) {
  const RandomKey key(seed, 0);
  const auto stream = parameter.trained ? static_cast<std::uint32_t>(parameter.slot)
                                        : ~static_cast<std::uint32_t>(parameter.value_offset);
  const Initializer& init = parameter.initializer;
  const auto uniform = [&](double bound) {
    detail::for_each_random(values, key, stream, [bound](const auto& words) {
      return static_cast<float>(bound * (2.0 * detail::unit(words[0]) - 1.0));
    });
  };
  switch (init.kind) {
    case Initializer::Kind::constant:
      for (float& value : values) value = init.scale;
      break;
    case Initializer::Kind::uniform:
      uniform(init.scale);
      break;
    case Initializer::Kind::xavier_uniform:
      uniform(init.scale * std::sqrt(6.0 / static_cast<double>(parameter.shape.rows() +
                                                               parameter.shape.columns())));
      break;
    case Initializer::Kind::normal:  // Box and Muller
      detail::for_each_random(values, key, stream, [&](const auto& words) {
        const double radius = std::sqrt(-2.0 * std::log(detail::unit(words[0])));
        return static_cast<float>(static_cast<double>(init.scale) * radius *
                                  std::cos(2.0 * std::numbers::pi * detail::unit(words[1])));
      });
      break;
    case Initializer::Kind::sinusoids:
      detail::fill_sinusoids(values, parameter.shape.columns(), false);
      break;
    case Initializer::Kind::sinusoids_in_halves:
      detail::fill_sinusoids(values, parameter.shape.columns(), true);
      break;
    case Initializer::Kind::frequencies:
      for (index_t i = 0; i < std::ssize(values); ++i) {
        values[static_cast<std::size_t>(i)] = init.rotary.frequency(i, std::ssize(values));
      }
      break;
  }
}

namespace detail {

struct InitializeAll : Visitor {
  std::uint64_t seed;
  std::span<float> values;

  InitializeAll(std::uint64_t s, std::span<float> to) : seed(s), values(to) {}

  [[gnu::noinline]] void parameter(const char*, const Parameter& p) {
    expect_placed(p);
    initialize(p, seed,
               values.subspan(static_cast<std::size_t>(p.value_offset),
                              static_cast<std::size_t>(p.size())));
  }
};

}  // namespace detail

//! The whole value buffer of modules that have their places, for a seed.
//!
//! **Errors.** Error if a parameter has none.
template <class... Modules>
[[nodiscard]] std::vector<float> initial_values(const ParameterLayout& layout, std::uint64_t seed,
                                                const Modules&... modules) {
  std::vector<float> values(static_cast<std::size_t>(layout.values));
  detail::InitializeAll visitor(seed, values);
  (visit_members(modules, visitor), ...);
  return values;
}

}  // namespace weft::nn
