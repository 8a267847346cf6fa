// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The loss of a batch of which each rank has computed a part, and whether it was one batch.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <weft/comm/check_same.hpp>
#include <weft/comm/collectives.hpp>
#include <weft/comm/communicator.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/device/product_precision.hpp>
#include <weft/parallel/accumulated_batches.hpp>
#include <weft/parallel/given_batches.hpp>
#include <weft/parallel/loss_sum.hpp>

namespace weft::parallel {

namespace detail {

//! A number that all ranks have to be given alike.
struct GivenNumber {
  const char* name;
  double number;
  const char* remark = "";
  std::string (*said)(double) = [](double it) { return text(it); };
};

//! `batches`, a device's precision and `rate` as numbers.
inline std::array<GivenNumber, 4> numbers_of(const GivenBatches& batches,
                                             ProductPrecision precision, double rate) {
  const char* const whole = "; each is given the whole batch, and computes its part";
  constexpr int bits_to_lose = 64 - 53;  // for a double
  return {{{"a batch of size", static_cast<double>(batches.size()), whole},
           {"a batch with the fingerprint",
            static_cast<double>(batches.fingerprint() >> bits_to_lose), whole},
           {"a device whose product precision is", static_cast<double>(precision), "",
            [](double number) { return to_text(static_cast<ProductPrecision>(number)); }},
           {"the learning rate", rate}}};
}

//! `of_ranks`: what each rank was given, one rank after another; `given` names it.
//!
//! **Errors.** comm::RanksDiffer if a rank was given other numbers than the first.
inline void expect_same(std::span<const GivenNumber> given, std::span<const double> of_ranks) {
  for (std::size_t n = given.size(); n < of_ranks.size(); ++n) {
    const GivenNumber& which = given[n % given.size()];
    const double first = of_ranks[n % given.size()], number = of_ranks[n];
    if (number == first || (std::isnan(number) && std::isnan(first))) continue;
    throw comm::RanksDiffer(text("the ranks differ: rank 0 was given ", which.name, " ",
                                 which.said(first), ", rank ", n / given.size(), " ",
                                 which.said(number), which.remark));
  }
}

}  // namespace detail

//! The sum of the losses of all micro-batches of a batch, in their order. Each was computed on one
//! rank, on its `device`; the others have zeros there. All ranks call it, and have all afterwards.
//! What they were given travels with the losses, not in a message of its own.
//!
//! **Errors.** comm::RanksDiffer, on every rank, if they were given other batches or rates, or
//! their devices have other product precisions.
template <comm::Communicator C, class D>
[[nodiscard]] LossSum total_over_ranks(C& communicator, const D& device, std::span<LossSum> losses,
                                       index_t update, const GivenBatches& batches,
                                       double rate = 0.0) {
  const auto given = detail::numbers_of(batches, product_precision_of(device), rate);
  std::vector<double> numbers;
  for (const LossSum& loss : losses) {
    numbers.push_back(loss.loss.value());
    numbers.push_back(static_cast<double>(loss.tokens.value()));
  }
  // Every other rank has zeros there: the sum is the number itself.
  for (int rank = 0; rank < communicator.size(); ++rank) {
    for (const auto& number : given) {
      numbers.push_back(rank == communicator.rank() ? number.number : 0.0);
    }
  }
  comm::all_reduce(communicator, std::span(numbers),
                   {"all_reduce", "losses", comm::Purpose::none, update});
  detail::expect_same(given, std::span(numbers).subspan(2 * losses.size()));
  for (std::size_t m = 0; m < losses.size(); ++m) {
    losses[m] = {Sum<of::Loss>(numbers[2 * m]),
                 Count<of::Tokens>(static_cast<index_t>(numbers[2 * m + 1]))};
  }
  return total(losses);
}

}  // namespace weft::parallel
