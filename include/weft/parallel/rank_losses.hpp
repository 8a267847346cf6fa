// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The loss of a batch of which each rank has computed a part.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <weft/comm/collectives.hpp>
#include <weft/comm/communicator.hpp>
#include <weft/core/index.hpp>
#include <weft/parallel/accumulated_batches.hpp>
#include <weft/parallel/loss_sum.hpp>

namespace weft::parallel {

//! The sum of the losses of all micro-batches, in their order. Each was computed on one rank; the
//! others have zeros there. All ranks call it, and have all afterwards.
template <comm::Communicator C>
[[nodiscard]] LossSum total_over_ranks(C& communicator, std::span<LossSum> losses, index_t update) {
  std::vector<double> numbers;
  for (const LossSum& loss : losses) {
    numbers.push_back(loss.loss.value());
    numbers.push_back(static_cast<double>(loss.tokens.value()));
  }
  // Every other rank has zeros there: the sum is the number itself.
  comm::all_reduce(communicator, std::span(numbers),
                   {"all_reduce", "losses", comm::Purpose::none, update});
  for (std::size_t m = 0; m < losses.size(); ++m) {
    losses[m] = {Sum<of::Loss>(numbers[2 * m]),
                 Count<of::Tokens>(static_cast<index_t>(numbers[2 * m + 1]))};
  }
  return total(losses);
}

}  // namespace weft::parallel
