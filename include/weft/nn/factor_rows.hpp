// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Packed rows as products read them.
#pragma once

#include <weft/core/index.hpp>
#include <weft/ops/factor.hpp>
#include <weft/tensor/sequences.hpp>

namespace weft::nn {

//! What the branch of a residual connection reads: rows that go into products alone, and are
//! rounded by whoever writes them if the device rounds factors.
template <index_t C, class D>
struct FactorRows {
  ops::Factor<D> values;    //!< (N, C)
  LayoutPointer<D> layout;  //!< of these rows
};

}  // namespace weft::nn
