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
  ShardPlan(std::vector<Bucket> buckets, index_t parameters, int ranks)
      : buckets_(std::move(buckets)), parameters_(parameters), ranks_(ranks) {}

  [[nodiscard]] const std::vector<Bucket>& buckets() const { return buckets_; }
  [[nodiscard]] std::size_t size() const { return buckets_.size(); }
  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] index_t parameters() const { return parameters_; }

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

  //! The parameters in some blocks: the last block may be short.
  [[nodiscard]] Range parameters_in(Range blocks) const {
    return {std::min(parameters_, blocks.begin * ops::block_size),
            std::min(parameters_, blocks.end * ops::block_size)};
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
  index_t parameters_;
  int ranks_;
};

}  // namespace weft::parallel
