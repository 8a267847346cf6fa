// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What goes from one stage of a pipeline to the next.
#pragma once

#include <utility>

#include <weft/core/index.hpp>
#include <weft/core/shape.hpp>
#include <weft/tensor/sequences.hpp>
#include <weft/tensor/tensor.hpp>

namespace weft::parallel {

//! How a type of value is sent: `numbers` go over the link, and the rest is worked out, on the
//! other side, from the micro-batch, which every rank has.
//!
//! **Semantics.** `shape(input)` is that of the numbers which a stage makes of this input of the
//! model; `of(numbers, input)` is the value again. A type of your own is sent once you specialise
//! this for it.
template <class Value>
struct StageValue;

//! Rows of the sequences that the model reads.
template <index_t C, class D>
struct StageValue<Rows<C, D>> {
  [[nodiscard]] static Shape shape(const TokenSequences<D>& input) {
    return {input.layout->rows(), C};
  }
  [[nodiscard]] static Rows<C, D> of(Tensor<float, D> numbers, const TokenSequences<D>& input) {
    return {std::move(numbers), input.layout};
  }
  [[nodiscard]] static const Tensor<float, D>& numbers(const Rows<C, D>& rows) {
    return rows.values;
  }
};

}  // namespace weft::parallel
