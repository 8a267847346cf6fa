// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Modules one after the other.
#pragma once

#include <cstddef>
#include <tuple>
#include <utility>

#include <weft/core/error.hpp>
#include <weft/nn/context.hpp>
#include <weft/nn/module.hpp>
#include <weft/nn/parameter.hpp>

namespace weft::nn {

namespace detail {

//! Checks modules that follow each other; the errors name the two that do not meet.
template <class... Ms>
struct Chain;

template <class M>
struct Chain<M> {
  static_assert(sizeof(CheckModule<M>) > 0);
};

template <class Before, class After, class... Ms>
struct Chain<Before, After, Ms...> {
  static_assert(sizeof(Chain<Before>) > 0 && sizeof(Chain<After, Ms...>) > 0);
  static_assert(
      readers_agree<Before, After>,
      "what several modules read, such as an encoder's output, must be read by exactly as "
      "many as it was made for, each once");
  static_assert(modules_meet<Before, After>,
                "two modules of a Sequential do not meet: each must read what the one before it "
                "writes, with the same number of channels");
  static_assert(
      !CheckModule<After>::returns_nothing(),
      "only the first module of a Sequential may return nothing from backward: each other "
      "returns the gradient of its input, for the one before it");
};

[[noreturn, gnu::cold]] inline void throw_without_layout(std::size_t number, const char* pass) {
  throw Error(text("Sequential: module ", number, " was given rows with a layout, and its ", pass,
                   " returns some without: return {values, layout} with the same layout"));
}

//! **Errors.** Error if a module loses the layout of what it was given.
template <class Given, class Returned>
void expect_layout(const Given& given, const Returned& returned, std::size_t number,
                   const char* pass) {
  if constexpr (requires {
                  given.layout == returned.layout;
                  returned.layout == nullptr;
                }) {
    if (returned.layout == nullptr && given.layout != returned.layout) {
      throw_without_layout(number, pass);
    }
  }
}

}  // namespace detail

//! y = (last o ... o first)(x).
//!
//! The first module may read anything (token numbers, ...), each other what the one before it
//! writes. Parameters are named as in PyTorch, `0.weight`, `2.bias`, ...
//! **Errors.** Error, with its number, if a module loses the layout of the rows that it was given.
template <class... Ms>
struct Sequential {
  static_assert(sizeof...(Ms) > 0, "a Sequential needs at least one module");
  static_assert(sizeof(detail::Chain<Ms...>) > 0);

  std::tuple<Ms...> modules;  //!< in order

  constexpr Sequential() = default;
  //! Of these modules.
  constexpr explicit Sequential(const Ms&... in_order) : modules(in_order...) {}

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("", self.modules);
  }

  //! The module that reads the input.
  using First = std::tuple_element_t<0, std::tuple<Ms...>>;
  //! The module that writes the output.
  using Last = std::tuple_element_t<sizeof...(Ms) - 1, std::tuple<Ms...>>;

  //! What a tied generator shares, and its words, where the first module has them.
  [[nodiscard]] constexpr const Parameter& output_embedding() const requires
      requires(const First& first) {
    first.output_embedding();
  }
  { return std::get<0>(modules).output_embedding(); }
  //! How many words a tied generator has.
  [[nodiscard]] constexpr index_t target_vocabulary() const requires requires(const First& first) {
    first.target_vocabulary();
  }
  { return std::get<0>(modules).target_vocabulary(); }

  template <class D>
  using Input = InputOf<First, D>;
  template <class D>
  using Output = OutputOf<Last, D>;
  template <class D>
  using Saved = std::tuple<typename Ms::template Saved<D>...>;

  template <class D>
  [[nodiscard]] Result<Output<D>, Saved<D>> forward(Context<D>& ctx, const Input<D>& x) const {
    Saved<D> saved;
    auto y = forward_from<0>(ctx, x, saved);
    return {std::move(y), std::move(saved)};
  }

  //! The gradient of x, or nothing if the first module returns nothing.
  template <class D>
  InputGradientOf<First, D> backward(Context<D>& ctx, Saved<D>&& saved, const Output<D>& dy) const {
    return backward_from<sizeof...(Ms) - 1>(ctx, saved, dy);
  }

 private:
  // What one module wrote lives until the next has read it, and no longer: each step lets go of its
  // input before the steps behind it run.

  template <std::size_t I, class D, class X>
  [[nodiscard]] Output<D> forward_from(Context<D>& ctx, X x, Saved<D>& saved) const {
    auto y = forward_one<I>(ctx, std::exchange(x, {}), saved);
    if constexpr (I + 1 == sizeof...(Ms)) {
      return y;
    } else {
      return forward_from<I + 1>(ctx, std::move(y), saved);
    }
  }

  template <std::size_t I, class D, class X>
  [[nodiscard]] auto forward_one(Context<D>& ctx, const X& x, Saved<D>& saved) const {
    auto [y, saved_here] = std::get<I>(modules).forward(ctx, x);
    detail::expect_layout(x, y, I, "forward");
    if (ctx.training()) std::get<I>(saved) = std::move(saved_here);
    return std::move(y);
  }

  template <std::size_t I, class D, class Dy>
  auto backward_from(Context<D>& ctx, Saved<D>& saved, Dy dy) const {
    if constexpr (I == 0) {
      return backward_one<I>(ctx, saved, dy);
    } else {
      auto dx = backward_one<I>(ctx, saved, std::exchange(dy, {}));
      return backward_from<I - 1>(ctx, saved, std::move(dx));
    }
  }

  template <std::size_t I, class D, class Dy>
  auto backward_one(Context<D>& ctx, Saved<D>& saved, const Dy& dy) const {
    auto saved_here = std::exchange(std::get<I>(saved), {});
    if constexpr (I == 0) {  // which may return nothing
      return std::get<I>(modules).backward(ctx, std::move(saved_here), dy);
    } else {
      auto dx = std::get<I>(modules).backward(ctx, std::move(saved_here), dy);
      detail::expect_layout(dy, dx, I, "backward");
      return dx;
    }
  }
};

}  // namespace weft::nn
