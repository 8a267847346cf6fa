// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Parameters of which every rank holds its share, and the rest while a layer needs it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <weft/comm/communicator.hpp>
#include <weft/comm/device_communicator.hpp>
#include <weft/comm/exposed_time.hpp>
#include <weft/core/chunks.hpp>
#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/nn/context.hpp>
#include <weft/nn/parameter_layout.hpp>
#include <weft/ops/blocks.hpp>
#include <weft/parallel/lanes.hpp>
#include <weft/parallel/shard_plan.hpp>

namespace weft::parallel {

//! Has the parameters of a unit gathered before a pass enters it, one unit ahead, and gives their
//! memory back when the pass has left it. What lies in no unit (embeddings, norms) is there from
//! `begin` to `end`.
//!
//! Every rank goes through the same passes in the same order; one that has nothing to do in a pass
//! calls `take_part` in its place. A pass enters the units that have trained parameters in
//! the order of the layout, and a training pass then in the opposite order.
//!
//! **Memory.** The share; inside a pass two units more, and what lies in no unit. Without
//! `reshard_after_forward` a training pass comes to have all parameters.
//! **Cost.** With N ranks and B bytes of parameters in units: a rank sends (N - 1)/N B on average
//! in a forward pass and, with `reshard_after_forward`, but for the last unit, again in the
//! backward pass.
template <class D, comm::Communicator C>
class ParameterGather final : public PassObserver {
 public:
  //! `values` has room for all parameters. It stays one buffer, of which pages come and go.
  ParameterGather(D& device, C& communicator, const nn::ParameterLayout& layout,
                  const ShardPlan& plan, float* values, bool reshard_after_forward = true)
      : device_(&device),
        gathering_(comm::device_communicator(device, communicator, comm::PostedBy::all)),
        plan_(&plan),
        values_(values),
        reshard_after_forward_(reshard_after_forward),
        units_(layout.units),
        order_(with_parameters(layout)),
        elsewhere_(outside_of_units(layout)),
        uses_(static_cast<std::size_t>(ops::block_count(plan.parameters())), 1) {
    for (std::size_t b = 0; b < plan.size(); ++b) {
      for (int r = 0; r < plan.ranks(); ++r) pieces_.push_back({plan.blocks(b, r), r});
    }
    std::erase_if(pieces_, [](const Piece& piece) { return piece.blocks.size() == 0; });
    std::ranges::sort(pieces_, {}, [](const Piece& piece) { return piece.blocks.begin; });
    release({0, plan.parameters()});
  }

  //! Begins an update or an evaluation; its number stands in errors.
  void begin(index_t update) {
    update_ = update;
    acquire(elsewhere_, "what is in no layer");
  }
  //! Gives back what `begin` gathered.
  void end() {
    for (const Range range : elsewhere_) release(range);
  }

  //! Begins a pass over the units.
  void begin_pass(nn::Mode mode) override {
    place_ = 0;
    places_ = std::ssize(order_) * (mode == nn::Mode::train ? 2 : 1);
    prefetch(0);
  }

  void enter(int unit) override {
    if (is_empty(unit)) return;
    if (place_ >= places_ || unit != unit_at(place_)) {
      throw Error(text("layer ", unit, " is entered where layer ",
                       place_ < places_ ? unit_at(place_) : -1,
                       " was expected: with shared parameters, stacks run in the order in which"
                       " they are declared"));
    }
    if (!is_kept(place_)) exposed_.wait(transfer_at(place_), *device_, "wait for layer", unit);
    prefetch(place_ + 1);
  }
  void leave(int unit) override {
    if (is_empty(unit)) return;
    const bool comes_back = 2 * place_ < places_ && is_kept(places_ - 1 - place_);
    if (!comes_back) release(units_[static_cast<std::size_t>(unit)]);
    ++place_;
  }

  //! A pass in which this rank computes nothing.
  void take_part(nn::Mode mode) {
    begin_pass(mode);
    while (place_ < places_) {
      const int unit = unit_at(place_);
      enter(unit);
      leave(unit);
    }
  }

  //! Has all parameters here until `release_all`.
  void acquire_all() { acquire(std::array{Range{0, plan_->parameters()}}, "all parameters"); }
  //! Gives back what others own.
  void release_all() { release({0, plan_->parameters()}); }

  //! The seconds spent in waiting since the last call.
  [[nodiscard]] double take_exposed_s() { return exposed_.take(); }

 private:
  using DeviceC = comm::DeviceCommunicator<D, C>;
  using Transfer = typename DeviceC::Transfer;

  struct Piece {
    Range blocks;
    int owner;
  };

  //! The units that have trained parameters. A pass may go through others, which are frozen, as it
  //! likes: forth and not back, as through a teacher.
  static std::vector<int> with_parameters(const nn::ParameterLayout& layout) {
    std::vector<int> units;
    for (std::size_t unit = 0; unit < layout.units.size(); ++unit) {
      if (layout.units[unit].size() > 0) units.push_back(static_cast<int>(unit));
    }
    return units;
  }
  [[nodiscard]] bool is_empty(int unit) const {
    return units_[static_cast<std::size_t>(unit)].size() == 0;
  }

  //! The trained parameters that no unit has, and those that a unit shares with others by a tie.
  static std::vector<Range> outside_of_units(const nn::ParameterLayout& layout) {
    std::vector<Range> ranges;
    index_t begin = 0;
    for (const Range unit : layout.units) {
      ranges.push_back({begin, unit.begin});
      begin = unit.end;
    }
    ranges.push_back({begin, layout.trained});
    for (const nn::TiedGradient& tie : layout.tied) ranges.push_back({tie.to, tie.to + tie.size});
    std::erase_if(ranges, [](Range range) { return range.size() == 0; });
    return ranges;
  }

  [[nodiscard]] int rank() const { return gathering_.rank(); }

  [[nodiscard]] int unit_at(index_t place) const {
    const index_t n = std::ssize(order_);
    return order_[static_cast<std::size_t>(place < n ? place : 2 * n - 1 - place)];
  }

  //! Whether the unit at a place of the pass is there since the forward pass.
  [[nodiscard]] bool is_kept(index_t place) const {
    return !reshard_after_forward_ && place >= std::ssize(order_);
  }

  Transfer& transfer_at(index_t place) { return ahead_[static_cast<std::size_t>(place % 2)]; }

  void prefetch(index_t place) {
    if (place >= places_ || is_kept(place)) return;
    const int unit = unit_at(place);
    start(std::span(&units_[static_cast<std::size_t>(unit)], 1), "layer", unit, transfer_at(place));
  }

  //! Begins to gather those blocks of some parameters that are not there.
  void start(std::span<const Range> parameters, const char* item, index_t number,
             Transfer& transfer) {
    messages_.clear();
    for (const Range range : parameters) {
      count_use(ops::blocks_of(range), 1, [&](Range blocks) {
        for_pieces(blocks, [&](Range piece, int owner) { add_messages(piece, owner); });
      });
    }
    gathering_.post(messages_, {"all_gather", item, number, update_}, transfer);
  }

  void acquire(std::span<const Range> parameters, const char* item) {
    start(parameters, item, comm::Purpose::none, elsewhere_transfer_);
    exposed_.wait(elsewhere_transfer_, *device_, "wait for parameters");
  }

  void add_messages(Range blocks, int owner) {
    const Range piece = plan_->parameters_in(blocks);
    if (owner != rank()) {
      device_->commit(values_ + piece.begin, piece.size() * index_t{sizeof(float)});
      messages_.push_back(comm::receive_from(owner, values_ + piece.begin, piece.size()));
      return;
    }
    for (int peer = 0; peer < plan_->ranks(); ++peer) {
      if (peer == owner) continue;
      messages_.push_back(comm::send_to(peer, values_ + piece.begin, piece.size()));
    }
  }

  //! Gives back the memory of other ranks' blocks that nobody uses any more.
  void release(Range parameters) {
    count_use(ops::blocks_of(parameters), -1, [&](Range blocks) {
      for_pieces(blocks, [&](Range piece, int owner) {
        if (owner == rank()) return;
        const Range unused = plan_->parameters_in(piece);
        device_->discard(values_ + unused.begin, unused.size() * index_t{sizeof(float)});
      });
    });
  }

  //! Counts a use of some blocks more or less; calls `f(blocks)` for those that have come into use
  //! or out of it.
  template <class F>
  void count_use(Range blocks, int change, const F& f) {
    index_t begin = blocks.begin;
    for (index_t block = blocks.begin; block < blocks.end; ++block) {
      int& uses = uses_[static_cast<std::size_t>(block)];
      const bool was_used = std::exchange(uses, uses + change) > 0;
      if (was_used == (uses > 0)) {
        if (begin < block) f(Range{begin, block});
        begin = block + 1;
      }
    }
    if (begin < blocks.end) f(Range{begin, blocks.end});
  }

  //! Calls `f(blocks, owner)` for the parts of some blocks that have one owner each.
  template <class F>
  void for_pieces(Range blocks, const F& f) const {
    auto piece = std::ranges::upper_bound(pieces_, blocks.begin, {},
                                          [](const Piece& p) { return p.blocks.end; });
    for (; piece != pieces_.end() && piece->blocks.begin < blocks.end; ++piece) {
      f(intersection(blocks, piece->blocks), piece->owner);
    }
  }

  D* device_;
  DeviceC gathering_;  // its messages keep an order of their own
  const ShardPlan* plan_;
  float* values_;
  bool reshard_after_forward_;
  std::vector<Range> units_;
  std::vector<int> order_;  // of units, in a forward pass
  std::vector<Range> elsewhere_;
  std::vector<Piece> pieces_;  // in ascending order
  std::vector<int> uses_;      // of each block, by what was acquired and not released
  std::array<Transfer, 2> ahead_{};
  Transfer elsewhere_transfer_{};
  std::vector<comm::Message> messages_;
  index_t update_ = 0;
  index_t place_ = 0;   // in the pass
  index_t places_ = 0;  // of the pass
  comm::ExposedTime exposed_;
};

}  // namespace weft::parallel
