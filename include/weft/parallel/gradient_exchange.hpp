// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Sums of gradients over ranks, bucket by bucket, while the backward pass goes on.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <weft/comm/collectives.hpp>
#include <weft/comm/communicator.hpp>
#include <weft/comm/device_communicator.hpp>
#include <weft/comm/exposed_time.hpp>
#include <weft/core/bfloat16.hpp>
#include <weft/core/chunks.hpp>
#include <weft/core/index.hpp>
#include <weft/core/trace.hpp>
#include <weft/core/tree_pairs.hpp>
#include <weft/nn/parameter_layout.hpp>
#include <weft/ops/blocks.hpp>
#include <weft/ops/convert.hpp>
#include <weft/ops/reduce.hpp>
#include <weft/parallel/exchange.hpp>
#include <weft/parallel/gradient_squares.hpp>
#include <weft/parallel/lanes.hpp>
#include <weft/parallel/shard_plan.hpp>
#include <weft/tensor/tensor.hpp>

namespace weft::parallel {

//! What every rank has after an exchange.
enum class Keep {
  all,        //!< the sum of every gradient
  mine,       //!< the sums in its own pieces
  only_mine,  //!< the same, and no memory for the rest, bucket after bucket
};

//! Reduces the lanes' gradients of all ranks.
//!
//! Each bucket is cut into a piece for each rank. When a bucket is ready, every rank sends every
//! other its lanes' sums of that one's piece; the owner adds the lanes in the order of the tree,
//! and with `Keep::all` sends the sum to the rest. Buckets go in one order on all ranks.
//!
//! **Cost.** With N ranks, a lane each or in fast order, and G bytes of gradients a rank sends
//! (N - 1)/N G, and with `Keep::all` (N - 1)/N of the trained parameters' bytes on top; half of
//! both as bfloat16.
//! **Memory.** For each of at most four buckets under way, its piece once for each lane of another
//! rank; over a narrow wire what is sent of it besides, and with `Keep::all` two bytes for each
//! gradient until `finish`.
template <class D, comm::Communicator C>
class GradientExchange {
 public:
  //! The sums that a lane of this rank holds in the update, asked for once they are complete.
  using Held = std::function<float*(index_t lane)>;

  //! **Errors.** CommunicatorAborted, as all that follows.
  GradientExchange(D& device, C& communicator, const nn::ParameterLayout& layout,
                   const ShardPlan& plan, index_t lanes, Held held, Keep keep,
                   Exchange exchange = {})
      : device_(&device),
        communicator_(&communicator),
        scattering_(comm::device_communicator(device, communicator, comm::PostedBy::all)),
        gathering_(comm::device_communicator(device, communicator, comm::PostedBy::all)),
        layout_(&layout),
        held_sums_(exchange.order, lanes, communicator.size()),
        held_(std::move(held)),
        keep_(keep),
        exchange_(exchange),
        plan_(&plan),
        under_way_(plan.size()),
        squares_(device, layout.trained) {
    if (own_lanes().size() > 0) return;
    no_lanes_ = keep == Keep::only_mine ? Tensor<float, D>::reserved(device, {layout.gradients})
                                        : Tensor<float, D>(device, {layout.gradients});
  }

  //! Begins an update: forgets what was ready.
  void begin(index_t update) {
    update_ = update;
    launched_ = reduced_ = 0;
    for (std::size_t b = 0; b < plan_->size(); ++b) {
      under_way_[b].missing = plan_->buckets()[b].slots.size();
    }
  }

  //! The held sums are complete at a place.
  void ready(int slot) {
    for (std::size_t b = launched_; b < plan_->size(); ++b) {
      const auto& slots = plan_->buckets()[b].slots;
      if (std::ranges::binary_search(slots, slot)) --under_way_[b].missing;
    }
    progress();
  }

  //! Where the sums over all ranks are after `finish`.
  [[nodiscard]] float* sums() const {
    const Range lanes = own_lanes();
    return lanes.size() == 0 ? no_lanes_.data() : held_(lanes.begin);
  }

  //! Waits for all buckets, and returns the sum of squares of the whole gradient: of the sums, not
  //! of what a narrow wire makes of them.
  [[nodiscard]] double finish() {
    for (UnderWay& bucket : under_way_) bucket.missing = 0;  // also where no lane said so
    while (reduced_ < plan_->size()) {
      progress();
      if (reduced_ < launched_) {
        exposed_.wait(under_way_[reduced_].sending, *device_, "wait for reduce_scatter",
                      static_cast<index_t>(reduced_));
        reduce(reduced_++);
      }
    }
    if (keep_ == Keep::all) {
      for (std::size_t b = 0; b < plan_->size(); ++b) finish_gather(b);
    }
    return squares_.gather(*communicator_, *plan_, update_, exposed_);
  }

  //! In the place of `finish`, after an error: nobody touches the gradients any more.
  void give_up() {
    for (UnderWay& bucket : under_way_) {
      bucket.sending = {};
      bucket.gathering = {};
    }
  }

  //! The sums of squares of the gradients, block by block, after `finish`.
  [[nodiscard]] const std::vector<double>& squares() const { return squares_.by_block(); }

  //! The seconds spent in waiting since the last call: communication that no work hid.
  [[nodiscard]] double take_exposed_s() { return exposed_.take(); }

  //! Sends the owned pieces of `values` to all, and returns when all pieces have come.
  void gather(float* values) {
    for (std::size_t b = 0; b < plan_->size(); ++b) start_gather(b, values);
    for (std::size_t b = 0; b < plan_->size(); ++b) wait_for_gather(b);
  }

 private:
  using DeviceC = comm::DeviceCommunicator<D, C>;

  //! One parameter may fill many buckets, which are then ready at once.
  static constexpr std::size_t most_under_way = 4;

  struct UnderWay {
    std::size_t missing = 0;         // places that are not complete
    Tensor<float, D> staged{};       // what other ranks' lanes sent for the piece of this rank
    Tensor<Bfloat16, D> arriving{};  // the same, as it comes over a narrow wire
    Tensor<Bfloat16, D> leaving{};   // what this rank sends over one, and then the bucket's sums
    typename DeviceC::Transfer sending{};  // given up before the memory is
    typename DeviceC::Transfer gathering{};
    std::optional<TraceSpan> in_trace{};  // of the transfer, until someone sees that it has ended
  };

  [[nodiscard]] int rank() const { return communicator_->rank(); }
  [[nodiscard]] int ranks() const { return communicator_->size(); }
  [[nodiscard]] Range own_lanes() const { return held_sums_.lanes_of(rank()); }

  //! Calls `f(range)` for the parts of the gradient buffer that make up a piece: its parameters,
  //! and the further uses of those that are tied.
  template <class F>
  void for_parts(Range piece, const F& f) const {
    if (piece.size() == 0) return;
    f(piece);
    for (const nn::TiedGradient& use : layout_->tied) {
      const Range part = intersection(piece, {use.to, use.to + use.size});
      const index_t shift = use.from - use.to;
      if (part.size() > 0) f(Range{part.begin + shift, part.end + shift});
    }
  }

  //! Goes on with whatever can go on, without waiting: where parameters are sharded, another rank
  //! may need this one first.
  void progress() {
    while (reduced_ < launched_ && under_way_[reduced_].sending.done()) reduce(reduced_++);
    while (launched_ < plan_->size() && under_way_[launched_].missing == 0 &&
           launched_ - reduced_ < most_under_way) {
      launch(launched_++);
    }
  }

  void launch(std::size_t b) {
    if (exchange_.order == Order::fast) add_own_lanes(b);
    UnderWay& bucket = under_way_[b];
    const index_t arriving = count_others() * size_of_parts(plan_->piece(b, rank()));
    if (exchange_.wire == Wire::float32) {
      bucket.staged = Tensor<float, D>(*device_, {arriving});
      add_messages(b, bucket.staged.data(), [](const float* from, index_t) { return from; });
    } else {
      bucket.arriving = Tensor<Bfloat16, D>(*device_, {arriving});
      bucket.leaving = Tensor<Bfloat16, D>(*device_, {count_leaving(b)});
      add_messages(b, bucket.arriving.data(),
                   [&, place = bucket.leaving.data()](const float* from, index_t n) mutable {
                     ops::convert(*device_, n, from, place);
                     return std::exchange(place, place + n);
                   });
    }
    scattering_.post(messages_, purpose("reduce_scatter", b), bucket.sending);
    bucket.in_trace.emplace(messages_row(), "reduce_scatter", static_cast<index_t>(b));
  }

  //! Messages that bring others' parts of this rank's piece to `arriving`, and take `leaving(from,
  //! n)`, the wire's form of n sums, to the owners of the other pieces.
  template <class T, class Leaving>
  void add_messages(std::size_t b, T* arriving, Leaving leaving) {
    messages_.clear();
    held_sums_.for_others(rank(), [&](int peer, index_t) {
      for_parts(plan_->piece(b, rank()), [&](Range part) {
        messages_.push_back(comm::receive_from(peer, arriving, part.size()));
        arriving += part.size();
      });
    });
    for (int peer = 0; peer < ranks(); ++peer) {
      if (peer == rank()) continue;
      for (const index_t sum : held_sums_.of(rank())) {
        for_parts(plan_->piece(b, peer), [&](Range part) {
          messages_.push_back(
              comm::send_to(peer, leaving(own_sum(sum) + part.begin, part.size()), part.size()));
        });
      }
    }
  }

  [[nodiscard]] index_t size_of_parts(Range piece) const {
    index_t size = 0;
    for_parts(piece, [&](Range part) { size += part.size(); });
    return size;
  }
  [[nodiscard]] index_t count_others() const {
    index_t others = 0;
    held_sums_.for_others(rank(), [&](int, index_t) { ++others; });
    return others;
  }
  [[nodiscard]] index_t count_leaving(std::size_t b) const {
    index_t size = 0;
    for (int peer = 0; peer < ranks(); ++peer) {
      if (peer != rank()) size += size_of_parts(plan_->piece(b, peer));
    }
    return size * std::ssize(held_sums_.of(rank()));
  }

  //! Adds the lanes in this rank's piece of a bucket.
  void reduce(std::size_t b) {
    under_way_[b].in_trace.reset();
    float* const home = sums();
    UnderWay& bucket = under_way_[b];
    const Range mine = plan_->piece(b, rank());
    if (exchange_.wire == Wire::bfloat16) {
      const index_t n = bucket.arriving.size();
      bucket.staged = Tensor<float, D>(*device_, {n});
      ops::convert(*device_, n, bucket.arriving.data(), bucket.staged.data());
      bucket.arriving = {};
      bucket.leaving = {};
    }
    std::vector<float*> at(static_cast<std::size_t>(held_sums_.count()));  // of each, for one part
    const index_t size = size_of_parts(mine);
    for_parts(mine, [&](Range part) {
      device_->commit(home + part.begin, part.size() * index_t{sizeof(float)});
    });
    index_t done = 0;
    for_parts(mine, [&](Range part) {
      std::ranges::fill(at, nullptr);
      for (const index_t sum : held_sums_.of(rank())) {
        at[static_cast<std::size_t>(sum)] = own_sum(sum) + part.begin;
      }
      float* staged = bucket.staged.data() + done;
      held_sums_.for_others(rank(), [&](int, index_t sum) {
        at[static_cast<std::size_t>(sum)] = staged;
        staged += size;
      });
      add_sums(at, home + part.begin, part.size());
      done += part.size();
    });
    for (const nn::TiedGradient& use : layout_->tied) {
      const Range part = intersection(mine, {use.to, use.to + use.size});
      if (part.size() <= 0) continue;
      ops::add_blocks(*device_, part.size(), 0, ops::block_count(part.size()),
                      home + use.from + (part.begin - use.to), home + part.begin);
    }
    squares_.add(mine, home);
    bucket.staged = {};
    if (keep_ == Keep::only_mine) discard_all_but_sums(b);
    if (keep_ == Keep::all) start_gather_of_sums(b);
  }

  //! The fast order: what this rank's lanes hold of a bucket goes into the first of them.
  void add_own_lanes(std::size_t b) {
    const auto held = held_lanes(own_lanes());
    for (std::size_t i = 1; i < held.size(); ++i) {
      for (int r = 0; r < ranks(); ++r) {
        for_parts(plan_->piece(b, r), [&](Range part) {
          ops::add_blocks(*device_, part.size(), 0, ops::block_count(part.size()),
                          held_(held[i]) + part.begin, held_(held[0]) + part.begin);
        });
      }
    }
  }

  //! What was sent and what was added is of no use any more.
  void discard_all_but_sums(std::size_t b) {
    const float* const home = sums();
    const Range mine = plan_->piece(b, rank());
    for (const index_t lane : held_lanes(own_lanes())) {
      for (int r = 0; r < ranks(); ++r) {
        for_parts(plan_->piece(b, r), [&](Range part) {
          if (held_(lane) == home && r == rank() && part.begin == mine.begin) return;
          device_->discard(held_(lane) + part.begin, part.size() * index_t{sizeof(float)});
        });
      }
    }
  }

  [[nodiscard]] float* own_sum(index_t sum) const { return held_(held_sums_.lane(rank(), sum)); }

  //! Adds sums in the order of the tree. Whichever of a pair is `home` takes the sum: a + b has the
  //! bits of b + a.
  void add_sums(std::vector<float*>& at, float* home, index_t n) {
    const auto sum = [&](index_t i) -> float*& { return at[static_cast<std::size_t>(i)]; };
    for_tree_pairs(std::ssize(at), sum, [&](index_t left, index_t right) {
      if (sum(left) == nullptr || sum(right) == home) std::swap(sum(left), sum(right));
      if (sum(right) == nullptr) return;  // in fast order a rank may hold none
      ops::add_blocks(*device_, n, 0, ops::block_count(n), sum(right), sum(left));
    });
    if (at[0] != home) {
      device_->copy(home, at[0], n * index_t{sizeof(float)});
    }
  }

  //! `values` begins with parameter `first`.
  template <class T>
  void start_gather(std::size_t b, T* values, index_t first = 0) {
    pieces_.clear();
    for (int r = 0; r < ranks(); ++r) {
      const Range piece = plan_->piece(b, r);
      pieces_.push_back({piece.begin - first, piece.end - first});
    }
    comm::start_all_gather(gathering_, values, std::span<const Range>(pieces_),
                           purpose("all_gather", b), under_way_[b].gathering, messages_);
    under_way_[b].in_trace.emplace(messages_row(), "all_gather", static_cast<index_t>(b));
  }

  //! Over a narrow wire every rank takes the rounded sums, its own too.
  void start_gather_of_sums(std::size_t b) {
    if (exchange_.wire == Wire::float32) return start_gather(b, sums());
    const Range whole = plan_->parameters_in(plan_->buckets()[b].blocks);
    const Range mine = plan_->piece(b, rank());
    Tensor<Bfloat16, D>& narrow = under_way_[b].leaving;
    narrow = Tensor<Bfloat16, D>(*device_, {whole.size()});
    ops::convert(*device_, mine.size(), sums() + mine.begin,
                 narrow.data() + (mine.begin - whole.begin));
    start_gather(b, narrow.data(), whole.begin);
  }
  void wait_for_gather(std::size_t b) {
    exposed_.wait(under_way_[b].gathering, *device_, "wait for all_gather",
                  static_cast<index_t>(b));
    under_way_[b].in_trace.reset();
  }
  void finish_gather(std::size_t b) {
    wait_for_gather(b);
    if (exchange_.wire == Wire::float32) return;
    const Range whole = plan_->parameters_in(plan_->buckets()[b].blocks);
    ops::convert(*device_, whole.size(), under_way_[b].leaving.data(), sums() + whole.begin);
    under_way_[b].leaving = {};
  }

  //! Where transfers stand in a trace: beside the device, which works on.
  [[nodiscard]] std::string messages_row() const { return text(*device_, " messages"); }

  [[nodiscard]] comm::Purpose purpose(const char* collective, std::size_t b) const {
    return {collective, "bucket", static_cast<index_t>(b), update_};
  }

  D* device_;
  C* communicator_;
  DeviceC scattering_, gathering_;  // the messages of each keep an order of their own
  const nn::ParameterLayout* layout_;
  SumsOfRanks held_sums_;
  Held held_;
  Tensor<float, D> no_lanes_;  // where sums go on a rank that holds none
  Keep keep_;
  Exchange exchange_;
  const ShardPlan* plan_;
  std::vector<UnderWay> under_way_;
  GradientSquares<D> squares_;
  std::vector<comm::Message> messages_;
  std::vector<Range> pieces_;
  comm::ExposedTime exposed_;
  index_t update_ = 0;
  std::size_t launched_ = 0;
  std::size_t reduced_ = 0;
};

}  // namespace weft::parallel
