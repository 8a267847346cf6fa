// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Which samples of a data set a rank reads in an epoch.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace weft::data {

//! The numbers 0 to n - 1 in the order of `torch.randperm(n)` with a CPU generator of this seed.
//!
//! **Errors.** ArgumentError unless 0 <= n < 214,748,364: PyTorch goes another way from there on.
[[nodiscard]] inline std::vector<index_t> torch_permutation(index_t n, std::uint64_t seed) {
  constexpr index_t too_many = index_t{0xFFFFFFFF} / 20;
  if (n < 0 || n >= too_many) {
    throw ArgumentError(text("an order of ", n, " samples, not 0 to ", too_many - 1));
  }
  std::vector<index_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), index_t{0});
  std::mt19937 random(static_cast<std::uint32_t>(seed));  // so does PyTorch: the lower half
  for (index_t i = 0; i + 1 < n; ++i) {
    const index_t other = i + static_cast<index_t>(random()) % (n - i);
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(other)]);
  }
  return order;
}

//! How samples are put in order.
struct SamplerOptions {
  bool shuffle = true;     //!< whether each epoch has an order of its own
  std::uint64_t seed = 0;  //!< of the orders
  bool drop_last = false;  //!< leave out samples, rather than repeat some, where ranks get unequal
};

namespace detail {

//! What samplers have in common: their arguments, and the order of an epoch.
class RankSampler {
 public:
  //! The next epoch's order; without a call every epoch has that of epoch 0.
  void set_epoch(index_t epoch) { epoch_ = epoch; }

 protected:
  RankSampler(index_t samples, int ranks, int rank, const SamplerOptions& options)
      : samples_(samples), ranks_(ranks), rank_(rank), options_(options) {
    if (samples < 0 || ranks < 1 || rank < 0 || rank >= ranks) {
      throw ArgumentError(
          text("a sampler of ", samples, " samples for rank ", rank, " of ", ranks));
    }
  }

  [[nodiscard]] std::vector<index_t> order() const {
    if (options_.shuffle) {
      return torch_permutation(samples_, options_.seed + static_cast<std::uint64_t>(epoch_));
    }
    std::vector<index_t> order(static_cast<std::size_t>(samples_));
    std::iota(order.begin(), order.end(), index_t{0});
    return order;
  }

  index_t samples_;
  int ranks_;
  int rank_;
  SamplerOptions options_;
  index_t epoch_ = 0;
};

}  // namespace detail

//! Every rank gets as many samples: some come twice, or with `drop_last` not at all.
//!
//! A rank reads every N-th sample of the epoch's order, to which its own beginning is appended
//! until N divides it. **Source.** torch.utils.data.DistributedSampler, index for index.
class DistributedSampler : public detail::RankSampler {
 public:
  //! **Errors.** ArgumentError unless samples >= 0 and 0 <= rank < ranks.
  DistributedSampler(index_t samples, int ranks, int rank, const SamplerOptions& options = {})
      : RankSampler(samples, ranks, rank, options) {}

  //! How many samples a rank reads in an epoch.
  [[nodiscard]] index_t size() const {
    return (options_.drop_last ? samples_ : samples_ + ranks_ - 1) / ranks_;
  }

  //! The samples of this rank in this epoch, in order.
  [[nodiscard]] std::vector<index_t> indices() const {
    const auto order = this->order();
    std::vector<index_t> mine;
    for (index_t i = 0; i < size(); ++i) {
      const index_t place = i * ranks_ + rank_;
      mine.push_back(order[static_cast<std::size_t>(place % samples_)]);
    }
    return mine;
  }
};

//! Every sample is read once an epoch by one rank, in an order that does not depend on how many
//! ranks there are: sample i of the order goes to rank i mod N. Some ranks read one more than
//! others.
class ExactSampler : public detail::RankSampler {
 public:
  //! **Errors.** ArgumentError unless samples >= 0 and 0 <= rank < ranks.
  ExactSampler(index_t samples, int ranks, int rank, bool shuffle = true, std::uint64_t seed = 0)
      : RankSampler(samples, ranks, rank, {.shuffle = shuffle, .seed = seed}) {}

  //! How many samples this rank reads in an epoch.
  [[nodiscard]] index_t size() const { return (samples_ + ranks_ - 1 - rank_) / ranks_; }

  //! The samples of this rank in this epoch, in order.
  [[nodiscard]] std::vector<index_t> indices() const {
    const auto order = this->order();
    std::vector<index_t> mine;
    for (index_t place = rank_; place < samples_; place += ranks_) {
      mine.push_back(order[static_cast<std::size_t>(place)]);
    }
    return mine;
  }
};

}  // namespace weft::data
