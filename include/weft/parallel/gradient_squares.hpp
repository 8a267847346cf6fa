// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The norm of a gradient of which each rank has some blocks.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <weft/comm/collectives.hpp>
#include <weft/comm/communicator.hpp>
#include <weft/comm/exposed_time.hpp>
#include <weft/core/chunks.hpp>
#include <weft/core/index.hpp>
#include <weft/ops/blocks.hpp>
#include <weft/ops/reduce.hpp>
#include <weft/parallel/shard_plan.hpp>
#include <weft/tensor/tensor.hpp>

namespace weft::parallel {

//! Sums of squares, block by block of the parameters: added in the order of the blocks they have
//! the same bits however the blocks are divided among ranks.
template <class D>
class GradientSquares {
 public:
  //! Of so many parameters; all blocks are 0 so far.
  GradientSquares(D& device, index_t parameters)
      : device_(&device), parameters_(parameters), sums_(device, {ops::block_count(parameters)}) {
    device.clear(sums_.data(), sums_.size() * index_t{sizeof(double)});
  }

  //! Takes the blocks of a piece, whole ones where it has a part. `gradients` begins with the first
  //! parameter's.
  void add(Range piece, const float* gradients) {
    if (piece.size() == 0) return;
    const Range blocks = ops::blocks_of(piece);
    ops::sum_of_squares(*device_, parameters_, blocks.begin, blocks.end, gradients, sums_.data());
  }

  //! The sum over the blocks of all ranks. All ranks call it.
  template <comm::Communicator C>
  [[nodiscard]] double gather(C& communicator, const ShardPlan& plan, index_t update,
                              comm::ExposedTime& exposed) {
    std::vector<Range> blocks;  // of the parameters, rank by rank
    std::vector<Range> pieces;  // where they are in `packed`
    index_t place = 0;
    for (int r = 0; r < plan.ranks(); ++r) {
      const index_t begin = place;
      for (std::size_t b = 0; b < plan.size(); ++b) {
        blocks.push_back(plan.blocks(b, r));
        place += blocks.back().size();
      }
      pieces.push_back({begin, place});
    }
    by_block_ = to_host(sums_);
    std::vector<double> packed(static_cast<std::size_t>(place));
    const auto for_packed = [&](const auto& f) {
      index_t at = 0;
      for (const Range part : blocks) {
        for (index_t block = part.begin; block < part.end; ++block) {
          f(packed[static_cast<std::size_t>(at++)], by_block_[static_cast<std::size_t>(block)]);
        }
      }
    };
    for_packed([](double& packed_sum, double sum) { packed_sum = sum; });
    typename C::Transfer transfer;
    std::vector<comm::Message> messages;
    comm::start_all_gather(communicator, packed.data(), std::span<const Range>(pieces),
                           {"all_gather", "squared sums", comm::Purpose::none, update}, transfer,
                           messages);
    exposed.wait(transfer, *device_, "wait for squared sums");
    for_packed([](double packed_sum, double& sum) { sum = packed_sum; });
    return ops::ordered_sum(by_block_);
  }

  //! The sums of all ranks' blocks, after `gather`.
  [[nodiscard]] const std::vector<double>& by_block() const { return by_block_; }

 private:
  D* device_;
  index_t parameters_;
  Tensor<double, D> sums_;
  std::vector<double> by_block_;
};

}  // namespace weft::parallel
