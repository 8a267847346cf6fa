// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file How gradients and parameters go from rank to rank, and which sums are added.
#pragma once

#include <vector>

#include <weft/core/chunks.hpp>
#include <weft/core/index.hpp>
#include <weft/parallel/lanes.hpp>

namespace weft::parallel {

//! In which order the lanes' gradients are added.
enum class Order {
  canonical,  //!< in the tree over lanes: the same bits on any number of ranks
  fast,       //!< each rank's lanes first, so that it sends one sum however many it holds
};

//! As `--order` takes it.
[[nodiscard]] constexpr const char* to_text(Order order) {
  return order == Order::fast ? "fast" : "canonical";
}

//! What gradients are sent as. They are added in float32, and parameters are sent in full.
enum class Wire { float32, bfloat16 };

//! As `--wire` takes it.
[[nodiscard]] constexpr const char* to_text(Wire wire) {
  return wire == Wire::bfloat16 ? "bfloat16" : "float32";
}

//! How gradients, and parameters where they are sharded, go from rank to rank.
struct Exchange {
  Order order = Order::canonical;  //!< which sums are added first
  Wire wire = Wire::float32;       //!< how a number is sent
  //! With `Zero<3>`: whether a layer's parameters are given back after the forward pass and
  //! gathered again for the backward pass, or kept between the two.
  bool reshard_after_forward = true;
};

//! The sums that are added in a tree, and which of them each rank holds: those of the lanes that it
//! keeps apart, or in fast order one.
class SumsOfRanks {
 public:
  //! For a recipe's lanes on so many ranks.
  SumsOfRanks(Order order, index_t lanes, int ranks)
      : order_(order), lanes_(lanes), ranks_(ranks) {}

  //! How many sums there are.
  [[nodiscard]] index_t count() const { return order_ == Order::fast ? ranks_ : lanes_; }

  //! The lanes that a rank runs.
  [[nodiscard]] Range lanes_of(int rank) const { return share(lanes_, ranks_, rank); }

  //! The sums that a rank holds, in their order.
  [[nodiscard]] std::vector<index_t> of(int rank) const {
    if (order_ == Order::canonical) return held_lanes(lanes_of(rank));
    return lanes_of(rank).size() > 0 ? std::vector<index_t>{rank} : std::vector<index_t>{};
  }

  //! The lane in whose buffer a rank has one of its sums.
  [[nodiscard]] index_t lane(int rank, index_t sum) const {
    return order_ == Order::fast ? lanes_of(rank).begin : sum;
  }

  //! Calls `f(peer, sum)` for the sums of all ranks but one, rank by rank.
  template <class F>
  void for_others(int rank, const F& f) const {
    for (int peer = 0; peer < ranks_; ++peer) {
      if (peer == rank) continue;
      for (const index_t sum : of(peer)) f(peer, sum);
    }
  }

 private:
  Order order_;
  index_t lanes_;
  int ranks_;
};

}  // namespace weft::parallel

namespace weft {
using parallel::Exchange;
using parallel::Order;
using parallel::Wire;
}  // namespace weft
