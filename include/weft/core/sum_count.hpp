// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Sums, counts, and the one way from them to a mean.
//!
//! Micro-batches and ranks hold different numbers of tokens, so a mean of their means is not the
//! mean over all of them. Here sums and counts are added first, and divided once, at the end:
//!
//!     Sum<of::Loss> loss;
//!     Count<of::Tokens> tokens;
//!     for (const auto& part : parts) loss += part.loss, tokens += part.tokens;
//!     const Mean<of::Loss, of::Tokens> per_token = mean(loss, tokens);
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>

#include <compare>

namespace weft {

//! What sums and counts are of; a namespace of its own, since models have a `Loss` too.
namespace of {

//! A training criterion, in nats when it is a negative log-likelihood.
struct Loss {};

//! Target tokens that are no padding.
struct Tokens {};

//! Pairs of a source and a target.
struct Sentences {};

}  // namespace of

//! A sum of `What`, which only adds to sums of the same.
template <class What>
class Sum {
 public:
  constexpr Sum() = default;
  //! A sum so far.
  explicit constexpr Sum(double value) : value_(value) {}

  //! The sum, in double.
  [[nodiscard]] constexpr double value() const { return value_; }

  //! Adds another sum of the same.
  constexpr Sum& operator+=(Sum other) {
    value_ += other.value_;
    return *this;
  }
  friend constexpr Sum operator+(Sum left, Sum right) { return left += right; }
  friend constexpr bool operator==(Sum, Sum) = default;

 private:
  double value_ = 0;
};

//! A number of `What`, which only adds to numbers of the same.
template <class What>
class Count {
 public:
  constexpr Count() = default;
  //! A number so far.
  explicit constexpr Count(index_t value) : value_(value) {}

  //! The number.
  [[nodiscard]] constexpr index_t value() const { return value_; }

  //! Adds another number of the same.
  constexpr Count& operator+=(Count other) {
    value_ += other.value_;
    return *this;
  }
  friend constexpr Count operator+(Count left, Count right) { return left += right; }
  friend constexpr bool operator==(Count, Count) = default;

 private:
  index_t value_ = 0;
};

template <class What, class Each>
class Mean;

//! The sum over the count.
//!
//! **Errors.** DataError unless the count is positive.
template <class What, class Each>
[[nodiscard]] constexpr Mean<What, Each> mean(Sum<What> sum, Count<Each> count) {
  if (count.value() <= 0) {
    throw DataError(text("mean: a sum of ", sum.value(), " over a count of ", count.value()));
  }
  return Mean<What, Each>(sum.value() / static_cast<double>(count.value()));
}

//! The mean of `What` per `Each`: a result to show or to compare, which does not add up.
template <class What, class Each>
class Mean {
 public:
  //! The sum over the count.
  [[nodiscard]] constexpr double value() const { return value_; }

  friend constexpr auto operator<=>(Mean, Mean) = default;

 private:
  friend constexpr Mean mean<What, Each>(Sum<What>, Count<Each>);

  explicit constexpr Mean(double value) : value_(value) {}

  double value_;
};

namespace detail {
template <class>
inline constexpr bool never = false;
}  // namespace detail

//! Refused while compiling: means over different counts have no meaningful sum.
template <class What, class Each>
constexpr Mean<What, Each> operator+(Mean<What, Each> left, Mean<What, Each>) {
  static_assert(detail::never<What>,
                "means do not add up: add the sums, add the counts, then call mean once");
  return left;
}

}  // namespace weft
