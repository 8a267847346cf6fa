// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The concept of a module, and what a module reads and writes.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include <weft/core/index.hpp>
#include <weft/device/cpu.hpp>
#include <weft/nn/context.hpp>
#include <weft/nn/parameter.hpp>

namespace weft::nn {

//! A function with parameters (or none) that also knows its gradients.
//!
//! **Semantics.** A module is an immutable value. It holds places of parameters, not their numbers,
//! and keeps nothing of a call: one module serves every replica, and any number of micro-batches
//! are under way at once.
//!
//! `members(self, visit)` shows each member once, and always in the same order: it is the order of
//! the parameters in the buffers, and numbers the masks of dropout.
//!
//! `forward(ctx, inputs...)` returns a `Result`: the output, and a `Saved<D>` with what the
//! backward pass needs. In training `backward(ctx, std::move(saved), doutput)`, called once with a
//! context of the same values and key, hands the gradient of each parameter to the context and
//! returns that of the input (void, if the input has none). In evaluation nothing is dropped, and
//! there is no backward pass.
//!
//! Outputs may share their elements with inputs, and gradients with gradients: nobody writes to a
//! tensor that was handed to it or that it has handed on.
template <class M>
concept Module = std::copyable<M> &&
    requires(const M& m, M& placed, detail::Walk<detail::Visitor>& visit) {
  M::members(m, visit);
  M::members(placed, visit);
};

namespace detail {

//! The types of a `forward` of one input.
template <class Forward>
struct ForwardTypes;

template <class M, class D, class X, class Y, class S>
struct ForwardTypes<Result<Y, S> (M::*)(Context<D>&, X) const> {
  using Input = std::remove_cvref_t<X>;
  using Output = Y;
  using Saved = S;
};

template <class M, class D>
using ForwardOf = ForwardTypes<decltype(&M::template forward<D>)>;

}  // namespace detail

//! What a module reads, and what it writes, on a device of type D.
template <class M, class D = Cpu>
using InputOf = typename detail::ForwardOf<M, D>::Input;
//! What a module writes, on a device of type D.
template <class M, class D = Cpu>
using OutputOf = typename detail::ForwardOf<M, D>::Output;

//! What a module's backward pass returns: the gradient of its input, or void.
template <class M, class D = Cpu>
using InputGradientOf = decltype(std::declval<const M&>().backward(
    std::declval<Context<D>&>(), std::declval<typename M::template Saved<D>>(),
    std::declval<const OutputOf<M, D>&>()));

//! A module with one `forward`, of one input, that is a template over the device alone:
//!
//!     template <class D>
//!     Result<Output, Saved<D>> forward(Context<D>& ctx, const Input& x) const;
//!
//! **Semantics.** What it reads and writes can be told from this signature, so that modules which
//! follow each other are checked without a word from their authors.
template <class M, class D = Cpu>
concept UnaryModule = Module<M> &&
    requires(const M& m, Context<D>& ctx, const InputOf<M, D>& x,
             typename M::template Saved<D>&& saved, const OutputOf<M, D>& dy) {
  { m.forward(ctx, x) } -> std::same_as<Result<OutputOf<M, D>, typename M::template Saved<D>>>;
  m.backward(ctx, std::move(saved), dy);
};

namespace detail {

template <class M, class D>
concept SavesItsOwn = std::same_as < typename ForwardOf<M, D>::Saved,
typename M::template Saved < D >> ;

}  // namespace detail

//! Compiles if M is a UnaryModule; otherwise the first error says which part it lacks.
template <class M, class D = Cpu>
struct CheckModule {
  //! whether nothing is missing
  static constexpr bool has_all = UnaryModule<M, D>;
  //! whether its forward pass is as it should be
  static constexpr bool has_forward = has_all || detail::SavesItsOwn<M, D>;
  //! whether its Saved<D> is a plain value, which is made empty, kept and moved
  static consteval bool saves_value() {
    if constexpr (has_all) {
      return std::default_initializable<typename M::template Saved<D>> &&
             std::movable<typename M::template Saved<D>>;
    }
    return true;
  }
  //! whether its backward pass returns what the module before takes
  static consteval bool returns_gradient() {
    if constexpr (has_all) {
      using Gradient = InputGradientOf<M, D>;
      return std::is_void_v<Gradient> || std::same_as<Gradient, InputOf<M, D>>;
    }
    return true;
  }
  //! whether it returns nothing, as an embedding's does
  static consteval bool returns_nothing() {
    if constexpr (has_all) return std::is_void_v<InputGradientOf<M, D>>;
    return false;
  }

  static_assert(has_all || Module<M>,
                "a module needs a static members(self, visit) that shows each of its parameters "
                "and modules, and must be copyable");
  static_assert(
      has_forward || !requires { &M::forward; },
      "a module's forward must be a template over the device, so that it runs on any: "
      "template <class D> Result<Output, Saved<D>> forward(Context<D>&, const Input&) "
      "const");
  static_assert(has_forward,
                "a module among others needs one forward, of one input, that is const and a "
                "template over the device alone, and returns a Result of its output and its "
                "Saved<D>; a decoder's layer, which reads the encoder's output too, is an "
                "nn::DecoderStep there");
  static_assert(
      saves_value(),
      "a module's Saved<D> must be a plain value, which can be made without arguments and "
      "moved: an aggregate of tensors, say, with neither references nor constants");
  static_assert(returns_gradient(),
                "a module's backward must return the gradient of its input, of the input's type, "
                "or nothing where there is no module before it");
  static_assert(has_all || !has_forward || !Module<M>,
                "a module that is trained needs a backward pass: backward(ctx, Saved<D>&& saved, "
                "const Output& doutput) const, for what its forward saves and returns");
};

//! How many modules are still to read a part of a value that several of them do, as layers of a
//! decoder read an encoder's output; values that one module reads have no such part.
template <class Value>
inline constexpr index_t readers_left = -1;

//! Whether as many modules read the value between them as it was made for.
template <class Before, class After>
inline constexpr bool readers_agree =
    readers_left<OutputOf<Before>> == readers_left<InputOf<After>>;

//! Whether `After` reads what `Before` writes.
template <class Before, class After>
inline constexpr bool modules_meet = std::same_as<OutputOf<Before>, InputOf<After>>;

}  // namespace weft::nn
