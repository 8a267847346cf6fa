// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Which parameters each stage of a pipeline has, and which it reads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#include <weft/core/chunks.hpp>
#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/nn/parameter.hpp>
#include <weft/nn/parameter_layout.hpp>
#include <weft/ops/blocks.hpp>

namespace weft::parallel {

namespace detail {

//! Joins ranges that follow each other or overlap.
[[nodiscard]] inline std::vector<Range> joined_ranges(std::vector<Range> ranges) {
  std::ranges::sort(ranges, {}, &Range::begin);
  std::vector<Range> joined;
  for (const Range range : ranges) {
    if (range.size() == 0) continue;
    if (!joined.empty() && range.begin <= joined.back().end) {
      joined.back().end = std::max(joined.back().end, range.end);
    } else {
      joined.push_back(range);
    }
  }
  return joined;
}

struct FindPlaces : nn::detail::Visitor {
  std::vector<Range> trained, read;
  std::vector<int> slots;

  void parameter(const char*, const nn::Parameter& p) {
    if (p.trained) {
      trained.push_back({p.value_offset, p.value_offset + p.size()});
      slots.push_back(p.slot);
    }
    read.push_back({p.value_offset, p.value_offset + p.size()});
  }
  void tie(const nn::Parameter& use, const nn::Parameter&) {
    read.push_back({use.value_offset, use.value_offset + use.size()});
    if (use.trained) slots.push_back(use.slot);
  }
};

}  // namespace detail

//! What the ranks of a pipeline have of an objective whose model is a Pipe: stage s is on rank
//! s % ranks, and the loss is the last stage's.
class StagePlaces {
 public:
  //! Of an objective on so many ranks.
  //!
  //! **Errors.** ArgumentError if a block has parameters of two stages that a rank has apart.
  template <class Objective>
  StagePlaces(const Objective& objective, int ranks) : layout_(&objective.layout()) {
    std::vector<detail::FindPlaces> found(static_cast<std::size_t>(ranks));
    int stage = 0;
    const auto look = [&](const auto& module) {
      nn::visit_members(module, found[static_cast<std::size_t>(stage % ranks)]);
    };
    std::apply([&](const auto&... modules) { ((look(modules), ++stage), ...); },
               objective.model().modules);
    --stage;
    look(objective.loss());
    for (auto& rank : found) {
      trained_.push_back(detail::joined_ranges(std::move(rank.trained)));
      read_.push_back(detail::joined_ranges(std::move(rank.read)));
      slots_.push_back(std::move(rank.slots));
    }
    expect_blocks();
  }

  [[nodiscard]] int ranks() const { return static_cast<int>(trained_.size()); }

  //! The parameters that a rank updates.
  [[nodiscard]] const std::vector<Range>& trained(int rank) const { return trained_[at(rank)]; }

  //! The values that its stages read: besides those, tables, frozen ones, and others' that are
  //! tied.
  [[nodiscard]] const std::vector<Range>& read(int rank) const { return read_[at(rank)]; }

  //! The trained parameters that its stages do not read.
  [[nodiscard]] std::vector<Range> unread(int rank) const {
    std::vector<Range> rest;
    index_t end = 0;
    for (const Range range : read(rank)) {
      if (range.begin > end) rest.push_back({end, std::min(range.begin, layout_->trained)});
      end = range.end;
      if (end >= layout_->trained) return rest;
    }
    rest.push_back({end, layout_->trained});
    return rest;
  }

  //! The layout, without the places of other ranks' gradients.
  [[nodiscard]] nn::ParameterLayout layout_of(int rank) const {
    nn::ParameterLayout layout = *layout_;
    const auto& mine = slots_[at(rank)];
    for (std::size_t slot = 0; slot < layout.slots.size(); ++slot) {
      if (std::ranges::find(mine, static_cast<int>(slot)) == mine.end())
        layout.slots[slot].second = 0;
    }
    return layout;
  }

  //! The rank that updates a parameter.
  [[nodiscard]] int owner(index_t parameter) const {
    for (int rank = 0; rank < ranks(); ++rank) {
      for (const Range range : trained(rank)) {
        if (range.begin <= parameter && parameter < range.end) return rank;
      }
    }
    return 0;
  }

  //! The rank that computes a gradient with a place of its own behind the trained parameters'.
  [[nodiscard]] int rank_of_use(const nn::TiedGradient& use) const {
    for (int rank = 0; rank < ranks(); ++rank) {
      for (const int slot : slots_[at(rank)]) {
        if (layout_->slots[static_cast<std::size_t>(slot)].first == use.from) return rank;
      }
    }
    return 0;
  }

  //! The blocks of parameters that lie on one rank, and that rank; the others are `divided`.
  [[nodiscard]] std::vector<std::pair<Range, int>> whole_blocks() const {
    std::vector<std::pair<Range, int>> blocks;
    for (int rank = 0; rank < ranks(); ++rank) {
      for (const Range range : trained(rank)) {
        const index_t first = (range.begin + ops::block_size - 1) / ops::block_size;
        const index_t last = range.end == layout_->trained ? ops::block_count(range.end)
                                                           : range.end / ops::block_size;
        if (first < last) blocks.push_back({{first, last}, rank});
      }
    }
    std::ranges::sort(blocks, {}, [](const auto& piece) { return piece.first.begin; });
    return blocks;
  }

  //! The blocks of which several ranks have parts.
  [[nodiscard]] std::vector<index_t> divided_blocks() const {
    std::vector<index_t> divided;
    index_t next = 0;
    const auto skip_to = [&](index_t begin) {
      for (; next < begin; ++next) divided.push_back(next);
    };
    for (const auto& [range, rank] : whole_blocks()) {
      skip_to(range.begin);
      next = range.end;
    }
    skip_to(ops::block_count(layout_->trained));
    return divided;
  }

 private:
  void expect_blocks() const {
    for (int rank = 0; rank < ranks(); ++rank) {
      index_t end = 0;  // of the blocks before
      for (const Range range : trained(rank)) {
        const Range blocks = ops::blocks_of(range);
        if (blocks.begin < end) {
          throw ArgumentError(text("the stages of rank ", rank,
                                   " are too small: parameters before ", "and from ", range.begin,
                                   " on lie in one block of ", ops::block_size));
        }
        end = blocks.end;
      }
    }
  }

  static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

  const nn::ParameterLayout* layout_;
  std::vector<std::vector<Range>> trained_, read_;
  std::vector<std::vector<int>> slots_;
};

}  // namespace weft::parallel
