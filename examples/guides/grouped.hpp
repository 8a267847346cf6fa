// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file An optimizer that weft lacks: others for groups of parameters.
// [include]
#pragma once

#include <weft/core/chunks.hpp>
#include <weft/core/error.hpp>
#include <weft/nn/parameter_layout.hpp>
#include <weft/ops/blocks.hpp>
#include <weft/optim/optimizer.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace guides {
// [include]

// [class]
//! Each group of parameters is updated as by an optimizer of its own, at a share of the rate:
//! PyTorch's parameter groups.
template <class Optimizer>
class Grouped {
 public:
  struct Group {
    Optimizer optimizer;
    double rate = 1.0;  //!< times that of the step
  };
  struct Piece {
    weft::Range parameters;  // by their places
    std::size_t group;
  };
  //! What each group's optimizer does, and where the groups lie.
  struct Step {
    std::vector<typename Optimizer::Step> of_groups;
    std::shared_ptr<const std::vector<Piece>> pieces;
  };
  static constexpr auto state_names = Optimizer::state_names;

  //! `group_of(name, parameter)` is the number of a trained parameter's group.
  template <class Objective, class GroupOf>
  Grouped(const Objective& objective, std::vector<Group> groups, const GroupOf& group_of)
      : groups_(std::move(groups)) {
    std::vector<Piece> pieces;
    for (const auto& [name, p] : weft::nn::named_parameters(objective)) {
      if (!p.trained) continue;
      const auto group = static_cast<std::size_t>(group_of(name, p));
      if (group >= groups_.size()) {
        throw weft::ArgumentError(weft::text("Grouped: ", name, " is in group ", group));
      }
      pieces.push_back({{p.value_offset, p.value_offset + p.size()}, group});
    }
    pieces_ = std::make_shared<const std::vector<Piece>>(std::move(pieces));
  }

  [[nodiscard]] Step step(weft::index_t update, double rate, double gradient_scale) const {
    Step step{{}, pieces_};
    for (const Group& group : groups_) {
      step.of_groups.push_back(group.optimizer.step(update, group.rate * rate, gradient_scale));
    }
    return step;
  }

  //! The part's first parameter is that at the place `part.first`.
  template <class D>
  static void update(D& device, const Step& step, weft::optim::Part part, const float* gradients,
                     float* values, const weft::optim::StatePointers<Optimizer>& state) {
    using weft::ops::block_size;
    const weft::index_t first = part.first + part.begin * block_size;
    const weft::index_t last = part.first + std::min(part.parameters, part.end * block_size);
    for (const auto& [parameters, group] : *step.pieces) {
      const weft::index_t begin = std::max(first, parameters.begin);
      const weft::index_t n = std::min(last, parameters.end) - begin;
      if (n <= 0) continue;
      const weft::index_t at = begin - part.first;
      auto state_here = state;
      for (float*& buffer : state_here) buffer += at;
      Optimizer::update(device, step.of_groups[group], {n, 0, weft::ops::block_count(n)},
                        gradients + at, values + at, state_here);
    }
  }

 private:
  std::vector<Group> groups_;
  std::shared_ptr<const std::vector<Piece>> pieces_;
};
// [class]

}  // namespace guides
