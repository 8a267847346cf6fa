// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Sequences of different lengths, laid end to end without padding.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/tensor/tensor.hpp>

namespace weft {

//! What the random numbers of a row are keyed by: never its place in a batch, which depends on how
//! the batch was split.
struct RowKey {
  std::uint32_t sequence;  //!< the sequence's number within the update
  std::uint32_t position;  //!< the position within the sequence
};

//! Which rows of a packed array (N, ...) belong to which of B sequences.
//!
//! Sequence b has the rows offsets[b] to offsets[b + 1] - 1. Sentences of 5 and 30 words are 35
//! rows here and 60 in a padded batch; every operation but attention works on rows and never
//! notices.
template <class D = Cpu>
struct SequenceLayout {
  std::vector<index_t> offsets;  //!< (B + 1), on the host
  Tensor<index_t, D> starts;     //!< the same, on the device
  Tensor<RowKey, D> keys;        //!< (N)
  index_t longest = 0;           //!< the length of the longest sequence

  //! B.
  [[nodiscard]] index_t sequences() const { return static_cast<index_t>(offsets.size()) - 1; }
  //! N, over all sequences.
  [[nodiscard]] index_t rows() const { return offsets.back(); }
  //! The first row of sequence b.
  [[nodiscard]] index_t begin(index_t b) const { return offsets[static_cast<std::size_t>(b)]; }
  //! How many rows sequence b has.
  [[nodiscard]] index_t length(index_t b) const { return begin(b + 1) - begin(b); }
};

//! Layouts are shared by all that flows through a model, and never changed.
template <class D = Cpu>
using LayoutPointer = std::shared_ptr<const SequenceLayout<D>>;

//! Lays out sequences of the given lengths, whose random numbers are keyed by `ids`. With `firsts`
//! sequence b is what follows firsts[b] rows that were read before: positions count from there, and
//! `longest` is what a table of positions has to cover.
//!
//! **Shapes.** lengths, ids: (B). firsts: (B), or empty.
//! **Errors.** ShapeError if there are not as many ids, or firsts, as lengths, or a length or a
//! first position is negative.
template <class D>
[[nodiscard]] LayoutPointer<D> make_layout(D& device, std::span<const index_t> lengths,
                                           std::span<const std::uint32_t> ids,
                                           std::span<const index_t> firsts = {}) {
  if (lengths.size() != ids.size()) {
    throw ShapeError(text("layout: ", lengths.size(), " lengths and ", ids.size(), " ids"));
  }
  if (!firsts.empty() && firsts.size() != lengths.size()) {
    throw ShapeError(
        text("layout: ", lengths.size(), " lengths and ", firsts.size(), " first positions"));
  }
  const auto first_of = [&](std::size_t b) { return firsts.empty() ? 0 : firsts[b]; };
  auto layout = std::make_shared<SequenceLayout<D>>();
  layout->offsets.reserve(lengths.size() + 1);
  layout->offsets.push_back(0);
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    if (lengths[b] < 0) throw ShapeError(text("layout: a length of ", lengths[b]));
    if (first_of(b) < 0) throw ShapeError(text("layout: a first position of ", first_of(b)));
    layout->offsets.push_back(layout->offsets.back() + lengths[b]);
    layout->longest = std::max(layout->longest, first_of(b) + lengths[b]);
  }
  std::vector<RowKey> keys;
  keys.reserve(static_cast<std::size_t>(layout->rows()));
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    for (index_t t = 0; t < lengths[b]; ++t) {
      keys.push_back({ids[b], static_cast<std::uint32_t>(first_of(b) + t)});
    }
  }
  layout->starts = to_device<index_t>(device, layout->offsets, {layout->sequences() + 1});
  layout->keys = to_device<RowKey>(device, keys, {layout->rows()});
  return layout;
}

//! The same, with the sequences numbered from `first_id` on.
template <class D>
[[nodiscard]] LayoutPointer<D> make_layout(D& device, std::span<const index_t> lengths,
                                           std::uint32_t first_id = 0) {
  std::vector<std::uint32_t> ids(lengths.size());
  std::iota(ids.begin(), ids.end(), first_id);
  return make_layout(device, lengths, std::span<const std::uint32_t>(ids));
}

//! Token numbers, a row a token.
template <class D = Cpu>
struct TokenSequences {
  Tensor<token_t, D> ids;   //!< (N)
  LayoutPointer<D> layout;  //!< of these sequences
};

//! C channels for each position of each sequence: what flows between modules.
//!
//! The number of channels is part of the type, so that modules that do not fit do not compile.
template <index_t C, class D = Cpu>
struct Rows {
  //! C, as a constant.
  static constexpr index_t channels = C;

  Tensor<float, D> values;  //!< (N, C)
  LayoutPointer<D> layout;  //!< of these rows
};

}  // namespace weft
