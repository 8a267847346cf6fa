// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Which rank owns which parameters.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <weft/core/chunks.hpp>
#include <weft/core/index.hpp>
#include <weft/ops/blocks.hpp>
#include <weft/parallel/bucket_plan.hpp>

namespace weft::parallel {

//! Every bucket, cut into a piece of whole blocks for each rank.
class ShardPlan {
 public:
  //! For parameters 0 to `parameters` - 1.
  ShardPlan(std::vector<Bucket> buckets, index_t parameters, int ranks)
      : ShardPlan(std::move(buckets), std::vector<Range>{{0, parameters}}, ranks) {}

  //! For some of the parameters only; each bucket has blocks of one of the ranges.
  ShardPlan(std::vector<Bucket> buckets, std::vector<Range> parameters, int ranks)
      : buckets_(std::move(buckets)), parameters_(std::move(parameters)), ranks_(ranks) {}

  //! All of them, in the order in which they are ready.
  [[nodiscard]] const std::vector<Bucket>& buckets() const { return buckets_; }
  //! How many buckets there are.
  [[nodiscard]] std::size_t size() const { return buckets_.size(); }
  [[nodiscard]] int ranks() const { return ranks_; }
  //! One past the last parameter.
  [[nodiscard]] index_t parameters() const {
    return parameters_.empty() ? 0 : parameters_.back().end;
  }

  //! The blocks of a bucket that a rank owns. Where the parts are not equal, the larger ones fall
  //! to other ranks with each bucket.
  [[nodiscard]] Range blocks(std::size_t bucket, int rank) const {
    const Range all = buckets_[bucket].blocks;
    const auto turn = static_cast<index_t>(bucket) + rank;
    const Range part = share(all.size(), ranks_, turn % ranks_);
    return {all.begin + part.begin, all.begin + part.end};
  }

  //! The parameters in them.
  [[nodiscard]] Range piece(std::size_t bucket, int rank) const {
    return parameters_in(blocks(bucket, rank));
  }

  //! The parameters in some blocks: the first and the last block may be short.
  [[nodiscard]] Range parameters_in(Range blocks) const {
    const Range all{blocks.begin * ops::block_size, blocks.end * ops::block_size};
    for (const Range range : parameters_) {
      const Range part = intersection(range, all);
      if (part.size() > 0) return part;
    }
    return {all.begin, all.begin};
  }

  //! All parameters that a rank owns, in ascending order.
  [[nodiscard]] std::vector<Range> owned(int rank) const {
    std::vector<Range> pieces;
    for (std::size_t b = 0; b < size(); ++b) pieces.push_back(piece(b, rank));
    std::erase_if(pieces, [](Range range) { return range.size() == 0; });
    std::ranges::sort(pieces, {}, &Range::begin);
    return pieces;
  }

 private:
  std::vector<Bucket> buckets_;
  std::vector<Range> parameters_;  // in ascending order
  int ranks_;
};

}  // namespace weft::parallel
