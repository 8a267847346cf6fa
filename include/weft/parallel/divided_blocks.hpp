// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The blocks of parameters that a pipeline's cuts divide.
#pragma once

#include <cstddef>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include <weft/comm/collectives.hpp>
#include <weft/comm/communicator.hpp>
#include <weft/core/chunks.hpp>
#include <weft/core/index.hpp>
#include <weft/ops/blocks.hpp>
#include <weft/ops/reduce.hpp>
#include <weft/tensor/tensor.hpp>

namespace weft::parallel {

//! Blocks of gradients of which several ranks compute parts. One device adds up the squares of a
//! block in one order; so each rank has to have all of it for that.
class DividedBlocks {
 public:
  //! `blocks`: their numbers, among so many parameters. `mine`: the ranges that this rank updates.
  DividedBlocks(std::vector<index_t> blocks, index_t parameters, std::vector<Range> mine)
      : blocks_(std::move(blocks)), parameters_(parameters), mine_(std::move(mine)) {}

  //! Commits memory for all of each block, with zeros. (`GradientExchange` sums the squares of
  //! whole blocks, with the parts of other ranks; `find_squares` replaces those sums. But memory
  //! that nobody has written is not read.)
  template <class D>
  void clear(D& device, float* gradients) const {
    for (const index_t block : blocks_) {
      const Range range = range_of(block);
      device.commit(gradients + range.begin, bytes_of(range));
      device.clear(gradients + range.begin, bytes_of(range));
    }
  }

  //! Replaces the blocks' places in `sums`, of the squares of each block, on every rank. All ranks
  //! call it, with the number of the update.
  //!
  //! **Shapes.** gradients: an element for each parameter. sums: one for each block of them.
  //! **Cost.** Where there are such blocks the host waits for the device, and for all ranks.
  //! **Errors.** CommunicatorAborted.
  template <class D, comm::Communicator C>
  void find_squares(D& device, C& communicator, const float* gradients, index_t update,
                    std::span<double> sums) const {
    if (blocks_.empty()) return;
    const auto count = std::ssize(blocks_);
    const Tensor<float, D> all(device, {count * ops::block_size});
    device.clear(all.data(), bytes_of({0, all.size()}));
    for (index_t i = 0; i < count; ++i) {
      const Range block = range_of(blocks_[static_cast<std::size_t>(i)]);
      for (const Range range : mine_) {
        const Range part = intersection(range, block);
        if (part.size() <= 0) continue;
        device.copy(all.data() + i * ops::block_size + (part.begin - block.begin),
                    gradients + part.begin, bytes_of(part));
      }
    }
    // Of each number all ranks but one have 0: the sum is the number itself.
    auto numbers = to_host(all);
    comm::all_reduce(communicator, std::span(numbers),
                     {"all_reduce", "divided blocks", comm::Purpose::none, update});
    device.upload(all.data(), numbers.data(), bytes_of({0, all.size()}));
    const Tensor<double, D> squares(device, {count});
    for (index_t i = 0; i < count; ++i) {
      ops::sum_of_squares(device, range_of(blocks_[static_cast<std::size_t>(i)]).size(), 0, 1,
                          all.data() + i * ops::block_size, squares.data() + i);
    }
    const auto found = to_host(squares);
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      sums[static_cast<std::size_t>(blocks_[i])] = found[i];
    }
  }

 private:
  [[nodiscard]] Range range_of(index_t block) const {
    return ops::parameters_of({block, block + 1}, parameters_);
  }
  static index_t bytes_of(Range range) { return range.size() * index_t{sizeof(float)}; }

  std::vector<index_t> blocks_;
  index_t parameters_;
  std::vector<Range> mine_;
};

}  // namespace weft::parallel
