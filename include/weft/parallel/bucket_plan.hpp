// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Which parts of a gradient are reduced together, and in what order.
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include <weft/core/chunks.hpp>
#include <weft/core/index.hpp>
#include <weft/nn/parameter_layout.hpp>
#include <weft/ops/blocks.hpp>

namespace weft::parallel {

//! How large buckets are.
struct BucketSizes {
  index_t bytes = 25 << 20;       //!< of a bucket
  index_t first_bytes = 1 << 20;  //!< of the bucket that is ready first
};

//! Blocks of parameters whose gradients are sent in one message to each rank.
struct Bucket {
  Range blocks;              //!< blocks of the parameters
  std::vector<int> slots{};  //!< the places for gradients that have to be ready, tied uses included

  friend constexpr bool operator==(const Bucket&, const Bucket&) = default;
};

namespace detail {

constexpr bool overlap(Range a, Range b) { return a.begin < b.end && b.begin < a.end; }

}  // namespace detail

//! Cuts the trained parameters into buckets, from the last parameter to the first: the backward
//! pass reaches the last declared ones first. Buckets are cut at the edges of blocks, wherever
//! parameters end: a parameter may lie in two, a bucket hold many. No bucket has blocks on both
//! sides of a `cut`, which counts blocks; cuts ascend.
[[nodiscard]] constexpr std::vector<Bucket> plan_buckets(
    index_t parameters, std::span<const std::pair<index_t, index_t>> slots,
    std::span<const nn::TiedGradient> tied, BucketSizes sizes = {},
    std::span<const index_t> cuts = {}) {
  constexpr index_t block_bytes = ops::block_size * index_t{sizeof(float)};
  std::vector<Bucket> buckets;
  for (index_t end = ops::block_count(parameters); end > 0; end = buckets.back().blocks.begin) {
    const index_t bytes = buckets.empty() ? sizes.first_bytes : sizes.bytes;
    const index_t most = std::max<index_t>(1, bytes / block_bytes);
    index_t begin = std::max<index_t>(0, end - most);
    for (const index_t cut : cuts) {
      if (cut < end) begin = std::max(begin, cut);
    }
    buckets.push_back({{begin, end}});
  }
  for (Bucket& bucket : buckets) {
    const Range range = ops::parameters_of(bucket.blocks, parameters);
    for (std::size_t slot = 0; slot < slots.size(); ++slot) {
      auto [begin, size] = slots[slot];
      for (const nn::TiedGradient& use : tied) {
        if (use.from == begin) begin = use.to;  // a use is needed where its weight is
      }
      if (detail::overlap(range, {begin, begin + size})) {
        bucket.slots.push_back(static_cast<int>(slot));
      }
    }
  }
  return buckets;
}

//! The buckets of a model.
[[nodiscard]] inline std::vector<Bucket> plan_buckets(const nn::ParameterLayout& layout,
                                                      BucketSizes sizes = {}) {
  return plan_buckets(layout.trained, layout.slots, layout.tied, sizes);
}

//! The buckets of some of a model's parameters, given as ascending ranges. No block has parameters
//! of two of them, as StagePlaces sees to it.
[[nodiscard]] inline std::vector<Bucket> plan_buckets_of_ranges(const nn::ParameterLayout& layout,
                                                                std::span<const Range> ranges,
                                                                BucketSizes sizes = {}) {
  std::vector<index_t> cuts;
  for (const Range range : ranges) {
    const Range blocks = ops::blocks_of(range);
    cuts.push_back(blocks.begin);
    cuts.push_back(blocks.end);
  }
  auto buckets = plan_buckets(layout.trained, layout.slots, layout.tied, sizes, cuts);
  std::erase_if(buckets, [&](const Bucket& bucket) {
    return std::ranges::none_of(
        ranges, [&](Range range) { return detail::overlap(ops::blocks_of(range), bucket.blocks); });
  });
  return buckets;
}

//! The buckets of a model, cut where units begin and end: a unit then has a piece on every rank.
[[nodiscard]] inline std::vector<Bucket> plan_buckets_of_units(const nn::ParameterLayout& layout,
                                                               BucketSizes sizes = {}) {
  std::vector<index_t> cuts;
  for (const Range unit : layout.units) {
    cuts.push_back(unit.begin / ops::block_size);
    cuts.push_back(unit.end / ops::block_size);
  }
  return plan_buckets(layout.trained, layout.slots, layout.tied, sizes, cuts);
}

}  // namespace weft::parallel
