// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What goes from one stage of a pipeline to the next.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include <weft/core/index.hpp>
#include <weft/core/shape.hpp>
#include <weft/nn/transformer.hpp>
#include <weft/nn/translation_steps.hpp>
#include <weft/tensor/sequences.hpp>
#include <weft/tensor/tensor.hpp>

namespace weft::parallel {

//! The arrays of a value, or of a gradient.
template <std::size_t n, class D>
using StageNumbers = std::array<Tensor<float, D>, n>;

//! How a value between stages is sent: the numbers in it, and how it is put together again by a
//! rank that knows the micro-batch's input.
//!
//! A type of your own needs a specialisation with these members; a gradient has the same type, and
//! what of it is no number may be left out.
template <class Value>
struct StageValue;

namespace detail {

//! The layout of what the model reads.
template <class Input>
[[nodiscard]] const auto& layout_of(const Input& input) {
  static_assert(
      requires { input.layout->rows(); },
      "stages hand on a row for each of what the model reads, whose type needs a member layout, as "
      "TokenSequences and Rows have; or a type of your own is handed on, with a StageValue");
  return input.layout;
}

}  // namespace detail

//! Rows of sequences: one for each of the input, be it tokens or rows.
template <index_t C, class D>
struct StageValue<Rows<C, D>> {
  static constexpr std::size_t arrays = 1;  //!< how many are sent

  //! Their shapes, which every rank knows from the input.
  template <class Input>
  [[nodiscard]] static std::array<Shape, 1> shapes(const Input& input) {
    return {Shape{detail::layout_of(input)->rows(), C}};
  }
  //! The value of numbers that were received.
  template <class Input>
  [[nodiscard]] static Rows<C, D> of(StageNumbers<1, D> numbers, const Input& input) {
    return {std::move(numbers[0]), detail::layout_of(input)};
  }
  //! What is sent of a value.
  [[nodiscard]] static StageNumbers<1, D> numbers(const Rows<C, D>& rows) { return {rows.values}; }
};

//! The source's rows; every rank has the target's tokens.
template <index_t C, class D>
struct StageValue<nn::Encoding<C, D>> {
  static constexpr std::size_t arrays = 1;  //!< how many are sent

  //! Their shapes, which every rank knows from the input.
  [[nodiscard]] static std::array<Shape, 1> shapes(const nn::TranslationInput<D>& input) {
    return {Shape{input.source.layout->rows(), C}};
  }
  //! The value of numbers that were received.
  [[nodiscard]] static nn::Encoding<C, D> of(StageNumbers<1, D> numbers,
                                             const nn::TranslationInput<D>& input) {
    return {{std::move(numbers[0]), input.source.layout}, input.target};
  }
  //! What is sent of a value.
  [[nodiscard]] static StageNumbers<1, D> numbers(const nn::Encoding<C, D>& value) {
    return {value.rows.values};
  }
};

//! The target's rows, and the source's as long as there are readers.
template <index_t C, index_t readers, class D>
struct StageValue<nn::Decoding<C, readers, D>> {
  static constexpr std::size_t arrays = readers > 0 ? 2 : 1;  //!< how many are sent

  //! Their shapes, which every rank knows from the input.
  [[nodiscard]] static std::array<Shape, arrays> shapes(const nn::TranslationInput<D>& input) {
    std::array<Shape, arrays> all{Shape{input.target.layout->rows(), C}};
    if constexpr (readers > 0) all[1] = Shape{input.source.layout->rows(), C};
    return all;
  }
  //! The value of numbers that were received.
  [[nodiscard]] static nn::Decoding<C, readers, D> of(StageNumbers<arrays, D> numbers,
                                                      const nn::TranslationInput<D>& input) {
    nn::Decoding<C, readers, D> value{{std::move(numbers[0]), input.target.layout}, {}};
    if constexpr (readers > 0) value.memory = {std::move(numbers[1]), input.source.layout};
    return value;
  }
  //! What is sent of a value.
  [[nodiscard]] static StageNumbers<arrays, D> numbers(const nn::Decoding<C, readers, D>& value) {
    StageNumbers<arrays, D> all{value.rows.values};
    if constexpr (readers > 0) all[1] = value.memory.values;
    return all;
  }
};

}  // namespace weft::parallel
