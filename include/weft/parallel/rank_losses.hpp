// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The loss of a batch of which each rank has computed a part, and whether it was one batch.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include <weft/comm/check_same.hpp>
#include <weft/comm/collectives.hpp>
#include <weft/comm/communicator.hpp>
#include <weft/core/index.hpp>
#include <weft/parallel/accumulated_batches.hpp>
#include <weft/parallel/given_batches.hpp>
#include <weft/parallel/loss_sum.hpp>

namespace weft::parallel {

//! The sum of the losses of all micro-batches of a batch, in their order. Each was computed on one
//! rank; the others have zeros there. All ranks call it, and have all afterwards.
//!
//! **Errors.** comm::RanksDiffer, on every rank, if they were given other batches or rates.
template <comm::Communicator C>
[[nodiscard]] LossSum total_over_ranks(C& communicator, std::span<LossSum> losses, index_t update,
                                       const GivenBatches& batches, double rate = 0.0) {
  struct Given {
    const char* name;
    double number;
    const char* remark;
  };
  const char* const whole = "; each is given the whole batch, and computes its part";
  constexpr int bits_to_lose = 64 - 53;  // for a double
  const Given given[] = {{"a batch of size", static_cast<double>(batches.size()), whole},
                         {"a batch with the fingerprint",
                          static_cast<double>(batches.fingerprint() >> bits_to_lose), whole},
                         {"the learning rate", rate, ""}};
  const auto ranks = static_cast<std::size_t>(communicator.size());
  std::vector<double> numbers;
  for (const LossSum& loss : losses) {
    numbers.push_back(loss.loss.value());
    numbers.push_back(static_cast<double>(loss.tokens.value()));
  }
  const std::size_t first_given = numbers.size();
  numbers.resize(first_given + std::size(given) * ranks);
  const auto given_to = [&](std::size_t rank, std::size_t i) -> double& {
    return numbers[first_given + rank * std::size(given) + i];
  };
  for (std::size_t i = 0; i < std::size(given); ++i) {
    given_to(static_cast<std::size_t>(communicator.rank()), i) = given[i].number;
  }
  // Every other rank has zeros there: the sum is the number itself.
  comm::all_reduce(communicator, std::span(numbers),
                   {"all_reduce", "losses", comm::Purpose::none, update});
  for (std::size_t rank = 1; rank < ranks; ++rank) {
    for (std::size_t i = 0; i < std::size(given); ++i) {
      const bool are_equal = given_to(rank, i) == given_to(0, i);
      if (are_equal || (std::isnan(given_to(rank, i)) && std::isnan(given_to(0, i)))) continue;
      throw comm::RanksDiffer(text("the ranks differ: rank 0 was given ", given[i].name, " ",
                                   given_to(0, i), ", rank ", rank, " ", given_to(rank, i),
                                   given[i].remark));
    }
  }
  for (std::size_t m = 0; m < losses.size(); ++m) {
    losses[m] = {Sum<of::Loss>(numbers[2 * m]),
                 Count<of::Tokens>(static_cast<index_t>(numbers[2 * m + 1]))};
  }
  return total(losses);
}

}  // namespace weft::parallel
