// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/parallel/pipeline_parallel.hpp>

#include <weft/comm/launch.hpp>
#include <weft/nn/criteria.hpp>
#include <weft/nn/generator.hpp>
#include <weft/nn/layer_norm.hpp>
#include <weft/nn/linear.hpp>
#include <weft/ops/check_finite.hpp>
#include <weft/ops/rows.hpp>
#include <weft/parallel/chunked.hpp>
#include <weft/parallel/gradient_accumulation.hpp>
#include <weft/parallel/schedule/gpipe.hpp>
#include <weft/parallel/schedule/interleaved.hpp>
#include <weft/testing/random.hpp>

#include <catch2/catch.hpp>

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../message_of.hpp"
#include "forgetful.hpp"

namespace pipelines_of_rows_tests {

//! Three rows for each of the input's: a value of one's own between stages.
template <weft::index_t C, class D>
struct Streams {
  std::array<weft::Rows<C, D>, 3> rows;
};

}  // namespace pipelines_of_rows_tests

namespace weft::parallel {

template <index_t C, class D>
struct StageValue<pipelines_of_rows_tests::Streams<C, D>> {
  using Value = pipelines_of_rows_tests::Streams<C, D>;
  static constexpr std::size_t arrays = 3;

  template <class Input>
  static std::array<Shape, 3> shapes(const Input& input) {
    const Shape one{input.layout->rows(), C};
    return {one, one, one};
  }
  template <class Input>
  static Value of(StageNumbers<3, D> numbers, const Input& input) {
    Value value;
    for (std::size_t i = 0; i < 3; ++i) value.rows[i] = {numbers[i], input.layout};
    return value;
  }
  static StageNumbers<3, D> numbers(const Value& value) {
    return {value.rows[0].values, value.rows[1].values, value.rows[2].values};
  }
};

}  // namespace weft::parallel

namespace pipelines_of_rows_tests {

using namespace weft;
using comm::ThreadCommunicator;
using testing::Forgetful;

namespace {

constexpr index_t K = 3, C = 8, words = 5, length = 2;
constexpr parallel::Recipe recipe{.seed = 2, .lanes = 1, .micro_batches = 2};

//! Sequences of two rows of numbers, with a label for each.
struct Measured {
  index_t sequences = 6;

  [[nodiscard]] index_t size() const { return sequences; }
  [[nodiscard]] std::uint64_t fingerprint() const { return 1; }  // all are the same

  template <class D>
  [[nodiscard]] parallel::MicroBatch<Rows<K, D>, D> part(D& device, Range range) const {
    const auto numbers = testing::random_values(sequences * length * K, 1);
    const index_t rows = range.size() * length;
    const auto mine = std::span(numbers).subspan(static_cast<std::size_t>(range.begin * length * K),
                                                 static_cast<std::size_t>(rows * K));
    std::vector<token_t> labels;
    for (index_t n = 0; n < rows; ++n) {
      labels.push_back(static_cast<token_t>((range.begin * length + n) % words));
    }
    const std::vector<index_t> lengths(static_cast<std::size_t>(range.size()), length);
    return {{to_device<float>(device, mine, {rows, K}), make_layout<D>(device, lengths)},
            to_device<token_t>(device, labels, {rows})};
  }
};

//! Hands on the first row, or all, as one sequence.
template <bool all>
struct OneSequence {
  template <class Self, class Visit>
  static constexpr void members(Self&, Visit&&) {}
  template <class D>
  struct Saved {};
  template <class D>
  [[nodiscard]] nn::Result<Rows<K, D>, Saved<D>> forward(nn::Context<D>& ctx,
                                                         const Rows<K, D>& x) const {
    const std::vector<index_t> lengths{all ? x.values.rows() : 1};
    return {{x.values.slice(0, lengths[0]), make_layout<D>(ctx.device(), lengths)}, {}};
  }
  template <class D>
  [[nodiscard]] Rows<K, D> backward(nn::Context<D>&, Saved<D>&&, const Rows<K, D>& dy) const {
    return dy;
  }
};

//! Three projections of a row.
struct Divide {
  nn::Linear<K, C> linear[3];

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("a", self.linear[0]);
    visit("b", self.linear[1]);
    visit("c", self.linear[2]);
  }
  template <class D>
  struct Saved {
    std::array<typename nn::Linear<K, C>::template Saved<D>, 3> linear;
  };
  template <class D>
  [[nodiscard]] nn::Result<Streams<C, D>, Saved<D>> forward(nn::Context<D>& ctx,
                                                            const Rows<K, D>& x) const {
    Streams<C, D> y;
    Saved<D> saved;
    for (std::size_t i = 0; i < 3; ++i) {
      auto [rows, saved_here] = linear[i].forward(ctx, x);
      y.rows[i] = std::move(rows);
      saved.linear[i] = std::move(saved_here);
    }
    return {std::move(y), std::move(saved)};
  }
  template <class D>
  void backward(nn::Context<D>& ctx, Saved<D>&& saved, const Streams<C, D>& dy) const {
    for (std::size_t i = 0; i < 3; ++i) {
      (void)linear[i].backward(ctx, std::move(saved.linear[i]), dy.rows[i]);
    }
  }
};

//! Their sum.
struct Join {
  template <class Self, class Visit>
  static constexpr void members(Self&, Visit&&) {}
  template <class D>
  struct Saved {};
  template <class D>
  [[nodiscard]] nn::Result<Rows<C, D>, Saved<D>> forward(nn::Context<D>& ctx,
                                                         const Streams<C, D>& x) const {
    Rows<C, D> y{ctx.empty(x.rows[0].values.shape()), x.rows[0].layout};
    ops::copy(ctx.device(), x.rows[0].values, y.values);
    for (std::size_t i = 1; i < 3; ++i) ops::add(ctx.device(), x.rows[i].values, y.values);
    return {std::move(y), {}};
  }
  template <class D>
  [[nodiscard]] Streams<C, D> backward(nn::Context<D>&, Saved<D>&&, const Rows<C, D>& dy) const {
    return {{dy, dy, dy}};
  }
};

using Loss = Chunked<nn::BasicGenerator<C>, nn::CrossEntropy>;

template <class Model>
parallel::Objective<Model, Loss> objective() {
  return parallel::Objective<Model, Loss>(Model(), nn::BasicGenerator<C>(words),
                                          nn::CrossEntropy());
}

template <class Train>
std::vector<float> trained(Train& train) {
  for (int update = 0; update < 4; ++update) (void)train.step(Measured(), 0.01);
  [[maybe_unused]] const auto whole = train.whole_values();
  return to_host(train.state().values());
}

//! What the first of two ranks that fails says of one update.
template <class Model>
std::string error_of_ranks() {
  try {
    comm::launch_threads(2, comm::Timeout(60.0), [&](ThreadCommunicator& communicator) {
      Cpu cpu;
      PipelineParallel<Model, Loss> strategy(cpu, communicator, objective<Model>(), optim::Adam(),
                                             recipe);
      (void)strategy.step(Measured(), 0.01);
    });
  } catch (const comm::RankError& error) {
    return error.message();
  }
  return "";
}

}  // namespace

TEST_CASE("a pipeline that reads rows has the bits of one device") {
  using Model = Pipe<GPipe<2>, nn::Linear<K, C>, nn::LayerNorm<C>>;
  Cpu device;
  GradientAccumulation<Model, Loss> single(device, objective<Model>(), optim::Adam(), recipe);
  const auto expected = trained(single);
  std::vector<int> alike(2);
  comm::launch_threads(2, comm::Timeout(60.0), [&](ThreadCommunicator& communicator) {
    Cpu cpu;
    PipelineParallel<Model, Loss> strategy(cpu, communicator, objective<Model>(), optim::Adam(),
                                           recipe);
    alike[static_cast<std::size_t>(communicator.rank())] = trained(strategy) == expected ? 1 : 0;
  });
  CHECK(alike == std::vector<int>{1, 1});
}

TEST_CASE(
    "a value of one's own goes between stages, of two ranks or of one, whatever it is made of") {
  const auto alike = []<class Model>(Model) {
    Cpu device;
    GradientAccumulation<Model, Loss> single(device, objective<Model>(), optim::Adam(), recipe);
    const auto expected = trained(single);
    std::vector<int> same(Model::ranks);
    comm::launch_threads(Model::ranks, comm::Timeout(60.0), [&](ThreadCommunicator& communicator) {
      Cpu cpu;
      PipelineParallel<Model, Loss> strategy(cpu, communicator, objective<Model>(), optim::Adam(),
                                             recipe);
      same[static_cast<std::size_t>(communicator.rank())] = trained(strategy) == expected ? 1 : 0;
    });
    return same;
  };
  CHECK(alike(Pipe<GPipe<2>, Divide, Join>()) == std::vector<int>{1, 1});
  CHECK(alike(Pipe<Interleaved<2, 2>, Divide, Join>()) == std::vector<int>{1});
}

TEST_CASE("a stage before the last that changes the rows or their sequences is refused") {
  CHECK(error_of_ranks<Pipe<GPipe<2>, OneSequence<false>, nn::Linear<K, C>>>() ==
        "rank 0: pipeline: stage 0 hands on (1, 3), and the next one expects "
        "(6, 3), as many rows as the micro-batch's input has");
  CHECK(error_of_ranks<Pipe<GPipe<2>, OneSequence<true>, nn::Linear<K, C>>>() ==
        "rank 0: pipeline: stage 0 hands on rows of other sequences than the micro-batch's input "
        "has, and the next one would take them for those");
}

TEST_CASE("a stage's module is named that makes a number that is not finite") {
  using Model = Pipe<GPipe<2>, nn::Linear<K, C>, nn::LayerNorm<C>>;
  const ops::CheckFinite checked;
  std::vector<std::string> said(2);
  comm::launch_threads(2, comm::Timeout(60.0), [&](ThreadCommunicator& communicator) {
    Cpu cpu;
    PipelineParallel<Model, Loss> strategy(cpu, communicator, objective<Model>(), optim::Adam(),
                                           recipe);
    const auto& spoilt = strategy.objective().model().stage<1>().bias;
    if (communicator.rank() == 1) {
      strategy.state().values().data()[spoilt.value_offset] =
          std::numeric_limits<float>::infinity();
    }
    said[static_cast<std::size_t>(communicator.rank())] =
        weft::testing::message_of<Error>([&] { return strategy.step(Measured(), 0.01); });
  });
  CHECK_THAT(said[1], Catch::StartsWith("1: layer_norm: y has inf at (0, 0) of ("));
  CHECK(said[0] == "rank 1 failed: " + said[1]);
}

TEST_CASE("a rank of a pipeline looks for the gradients of its stages") {
  CHECK(
      error_of_ranks<Pipe<GPipe<2>, nn::Linear<K, C>, Forgetful<C>>>() ==
      "rank 1: backward: nobody computed the gradient of \"1.gain\": its module's backward has to "
      "hand it to ctx.gradient; what is not to be trained is told by nn::freeze");
  CHECK(error_of_ranks<Pipe<GPipe<2>, nn::Linear<K, C>, nn::LayerNorm<C>>>() == "");
}

}  // namespace pipelines_of_rows_tests
