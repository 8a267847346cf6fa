// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Parameters, and how they come to lie in one contiguous buffer.
//!
//! A module declares its members once:
//!
//!     template <class Self, class Visit>
//!     static constexpr void members(Self& self, Visit&& visit) {
//!       visit("weight", self.weight);
//!       visit("dropout", self.dropout);
//!     }
//!
//! From this one list come the number of parameters (at compile time), their names, their places in
//! the buffers, and the operation numbers of dropout.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/shape.hpp>
#include <weft/nn/rotary.hpp>

namespace weft::nn {

//! How a parameter starts.
struct Initializer {
  //! The distribution.
  enum class Kind {
    constant,
    normal,
    uniform,
    xavier_uniform,
    sinusoids,
    sinusoids_in_halves,
    frequencies
  };

  Kind kind = Kind::constant;  //!< which distribution
  float scale = 0.0f;          //!< the constant, standard deviation, half width, or gain
  Rotary rotary = no_rotary;   //!< of frequencies

  //! The same everywhere.
  static constexpr Initializer constant(float value) { return {Kind::constant, value}; }
  //! Normal of mean 0 and this standard deviation.
  static constexpr Initializer normal(float deviation) { return {Kind::normal, deviation}; }
  //! Uniform in -bound to bound.
  static constexpr Initializer uniform(float bound) { return {Kind::uniform, bound}; }
  //! Uniform in +-gain sqrt(6 / (rows + columns)).
  static constexpr Initializer xavier_uniform(float gain = 1.0f) {
    return {Kind::xavier_uniform, gain};
  }
  //! Row t, columns 2i and 2i + 1: sin and cos of t / 10000^(2i / C).
  static constexpr Initializer sinusoids() { return {Kind::sinusoids, 0.0f}; }
  //! The same numbers, all sines of a row before all cosines.
  static constexpr Initializer sinusoids_in_halves() { return {Kind::sinusoids_in_halves, 0.0f}; }
  //! Element i of n: the frequency of pair i of n.
  static constexpr Initializer frequencies(Rotary rotary) {
    return {Kind::frequencies, 0.0f, rotary};
  }
};

//! A place in the value buffer, a place in the gradient buffer, and a shape. It holds no numbers.
//!
//! A weight that two modules share has two `Parameter`s with one place for the value and two for
//! gradients: each use accumulates on its own, and the sum is made once at the end of an update,
//! so that it does not depend on which device works on which use.
struct Parameter {
  Shape shape;                   //!< (rows, columns), or (columns)
  Initializer initializer{};     //!< how it starts
  bool trained = true;           //!< false: no gradient is computed, no optimizer sees it
  bool computed = false;         //!< a table that is computed once and never saved
  float rate_scale = 1.0f;       //!< an update's learning rate is multiplied by it
  float decay_scale = 1.0f;      //!< so is the optimizer's weight decay
  index_t value_offset = -1;     //!< in elements from the start of the value buffer
  index_t gradient_offset = -1;  //!< in elements from the start of the gradient buffer
  int slot = -1;                 //!< the number among all places for gradients
  int slots = 1;                 //!< how many follow each other, if several were joined

  //! How many numbers it has.
  [[nodiscard]] constexpr index_t size() const { return shape.size(); }
};

//! Matrices of as many columns, or vectors, declared one after the other, as one: three projections
//! are then one product.
//!
//! **Errors.** ArgumentError if some of them are trained and others not, since they lie apart then;
//! if they have other columns; and if they were placed, but not one after the other.
constexpr Parameter joined(const Parameter& first, const auto&... others) {
  Parameter all = first;
  const auto add = [&](const Parameter& next) {
    if (next.trained != first.trained) {
      throw ArgumentError(text("some of ", 1 + sizeof...(others), " parameters of ", first.shape,
                               " that are used as one are trained, others not: freeze all of "
                               "them, or none"));
    }
    const index_t end = first.value_offset + all.size();
    if (next.shape.with_first(1) != first.shape.with_first(1) ||
        (first.value_offset >= 0 && next.value_offset != end)) {
      throw ArgumentError(text("parameters of ", first.shape, " and ", next.shape,
                               " are used as one, which have to be vectors or have as many "
                               "columns, and be shown one after the other by members()"));
    }
    ++all.slots;
    all.shape = all.shape.with_first(all.shape[0] + next.shape[0]);
  };
  (add(others), ...);
  return all;
}

//! A place where elements are dropped: its probability and the operation numbers of its masks.
struct DropoutSite {
  //! The number of a place whose module was not placed.
  static constexpr std::uint32_t unnumbered = ~std::uint32_t{0};

  float probability = 0.0f;              //!< of dropping an element
  std::uint32_t operations = 1;          //!< attention takes one a head
  std::uint32_t operation = unnumbered;  //!< the first of its numbers
};

namespace detail {

//! Whether T holds numbered modules.
template <class T>
inline constexpr bool is_numbered = false;
template <class T, std::size_t N>
inline constexpr bool is_numbered<std::array<T, N>> = true;
template <class... Ts>
inline constexpr bool is_numbered<std::tuple<Ts...>> = true;

//! Walks over the members of a module and tells a visitor of each leaf.
template <class Visitor>
class Walk {
 public:
  constexpr explicit Walk(Visitor& visitor) : visitor_(visitor) {}

  template <class Member>
  constexpr void operator()(const char* name, Member& member) {
    using Type = std::remove_const_t<Member>;
    static_assert(
        (requires { visitor_.parameter(name, member); } || !std::same_as<Type, Parameter>)&&(
            requires { visitor_.dropout(member); } || !std::same_as<Type, DropoutSite>),
        "a module's members shows a constant to who gives it a place: it is a template over the "
        "module too, template <class Self, class Visit> static constexpr void members(Self& self, "
        "Visit&& visit)");
    if constexpr (std::same_as<Type, Parameter>) {
      visitor_.parameter(name, member);
    } else if constexpr (std::same_as<Type, DropoutSite>) {
      visitor_.dropout(member);
    } else if constexpr (is_numbered<Type>) {
      visitor_.enter(name);
      int index = 0;
      std::apply([&](auto&... elements) { (inside(index++, elements), ...); }, member);
      visitor_.leave();
    } else {
      inside(name, member);
    }
  }

  //! The layers of a stack, each of them a unit (see `ParameterLayout::units`); `first` is the
  //! number of the first.
  template <class Layers, class Number>
  constexpr void units(const char* name, Layers& layers, Number& first) {
    visitor_.begin_units(first);
    visitor_.enter(name);
    int index = 0;
    for (auto& layer : layers) {
      visitor_.begin_unit();
      inside(index++, layer);
      visitor_.end_unit();
    }
    visitor_.leave();
  }

  //! A module that goes through its stacks in an order of its own: their layers are no units.
  template <class Member>
  constexpr void whole(const char* name, Member& member) {
    visitor_.begin_whole();
    (*this)(name, member);
    visitor_.end_whole();
  }

  //! A use of a parameter that is declared elsewhere.
  template <class Use>
  constexpr void tie(Use& use, const Parameter& source) {
    visitor_.tie(use, source);
  }

 private:
  template <class Name, class Member>
  constexpr void inside(Name name, Member& member) {
    static_assert(
        requires { std::remove_const_t<Member>::members(member, *this); },
        "what a module's members shows is a Parameter, a DropoutSite or a module, or an "
        "array or a tuple of modules");
    visitor_.enter(name);
    std::remove_const_t<Member>::members(member, *this);
    visitor_.leave();
  }

  Visitor& visitor_;
};

//! A visitor that does nothing; others override what they need.
struct Visitor {
  constexpr void enter(const char*) {}
  constexpr void enter(int) {}
  constexpr void leave() {}
  constexpr void parameter(const char*, const Parameter&) {}
  constexpr void dropout(const DropoutSite&) {}
  constexpr void begin_units(int) {}
  constexpr void begin_unit() {}
  constexpr void end_unit() {}
  constexpr void begin_whole() {}
  constexpr void end_whole() {}
  constexpr void tie(const Parameter&, const Parameter&) {}
};

}  // namespace detail

//! Shows each member of a module to a visitor (see `detail::Visitor`).
template <class Module, class Visitor>
constexpr void visit_members(Module& module, Visitor& visitor) {
  detail::Walk<Visitor> walk(visitor);
  std::remove_const_t<Module>::members(module, walk);
}

namespace detail {

struct CountParameters : Visitor {
  index_t count = 0;
  constexpr void parameter(const char*, const Parameter& p) { count += p.trained ? p.size() : 0; }
};

}  // namespace detail

//! How many numbers are trained, tied weights counted once. A constant expression for a constant
//! module.
template <class... Modules>
[[nodiscard]] constexpr index_t parameter_count(const Modules&... modules) {
  detail::CountParameters counter;
  (visit_members(modules, counter), ...);
  return counter.count;
}

}  // namespace weft::nn
