// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/frozen.hpp>

#include <weft/comm/launch.hpp>
#include <weft/nn/criteria.hpp>
#include <weft/nn/embedding.hpp>
#include <weft/nn/encoder.hpp>
#include <weft/nn/generator.hpp>
#include <weft/nn/initialize.hpp>
#include <weft/nn/layer_stack.hpp>
#include <weft/nn/linear.hpp>
#include <weft/nn/sequential.hpp>
#include <weft/parallel/chunked.hpp>
#include <weft/parallel/data_parallel.hpp>
#include <weft/parallel/distributed_data_parallel.hpp>
#include <weft/parallel/gradient_accumulation.hpp>
#include <weft/testing/small_translation.hpp>
#include <weft/train/device_batch.hpp>

#include <catch2/catch.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "source_words.hpp"

namespace frozen_tests {

using namespace weft;
using namespace weft::testing;

namespace {

constexpr index_t C = 24;
using Layer = nn::EncoderLayer<C, 3, 40>;
using Before = nn::Sequential<nn::Embedding<C>, nn::LayerStack<Layer, 4, C, true>>;
template <class First>
using ModelOf = nn::Sequential<First, Layer, nn::LayerNorm<C>>;
using Loss = Chunked<nn::BasicGenerator<C>, nn::LabelSmoothing>;
constexpr parallel::Recipe recipe{.seed = 2, .lanes = 3, .micro_batches = 3};

//! With so much dropout in the layers that are frozen.
template <class First>
auto objective_of(float dropout) {
  const auto layer = [](float p) { return Layer(nn::Dropouts::everywhere(p)); };
  Before before(nn::Embedding<C>(small_vocabulary, 24, 0.0f),
                nn::LayerStack<Layer, 4, C, true>(layer(dropout)));
  if constexpr (std::is_same_v<First, Before>) nn::freeze(before);
  return parallel::Objective<ModelOf<First>, Loss>(ModelOf<First>(First(before), layer(0.2f), {}),
                                                   nn::BasicGenerator<C>(small_vocabulary),
                                                   nn::LabelSmoothing(0.1f));
}

template <class Strategy>
std::vector<float> values_after_updates(Strategy& strategy) {
  for (std::uint32_t update = 0; update < 4; ++update) {
    (void)strategy.step(SourceWords{random_translations(60, update)}, 0.003);
  }
  [[maybe_unused]] const auto whole = strategy.whole_values();
  return to_host(strategy.state().values());
}

//! The parameters after some updates on one device, and the most bytes that were in use.
template <class First>
std::pair<std::vector<float>, index_t> trained(float dropout) {
  Cpu device;
  GradientAccumulation<ModelOf<First>, Loss> strategy(device, objective_of<First>(dropout),
                                                      optim::Adam(), recipe);
  auto values = values_after_updates(strategy);
  return {std::move(values), device.memory().statistics().peak};
}

}  // namespace

TEST_CASE("behind a frozen module the same is learnt as behind one whose gradient is computed") {
  const auto [values, bytes] = trained<Before>(0.0f);
  const auto [found, fewer] = trained<nn::Frozen<Before>>(0.4f);  // of which none is dropped
  CHECK(found == values);
  CHECK(fewer < bytes / 2);
  const auto initial = objective_of<Before>(0.0f);
  CHECK(found != nn::initial_values(initial.layout(), recipe.seed, initial));
}

TEST_CASE("a frozen module has the names of the module alone, and nothing of it is trained") {
  const auto frozen = objective_of<nn::Frozen<Before>>(0.0f);
  const auto plain = objective_of<Before>(0.0f);
  const auto names = nn::named_parameters(frozen), expected = nn::named_parameters(plain);
  REQUIRE(names.size() == expected.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    CHECK(names[i].name == expected[i].name);
    CHECK(names[i].parameter.trained == expected[i].parameter.trained);
  }
  STATIC_REQUIRE(nn::parameter_count(nn::Frozen<Layer>()) == 0);
}

TEST_CASE("ranks go through frozen layers once, with the bits of one device") {
  const auto expected = trained<nn::Frozen<Before>>(0.0f).first;
  std::vector<int> same(3);
  comm::launch_threads(3, comm::Timeout(60), [&](comm::ThreadCommunicator& communicator) {
    Cpu device;
    DistributedDataParallel<ModelOf<nn::Frozen<Before>>, Loss, Zero<3>> strategy(
        device, communicator, objective_of<nn::Frozen<Before>>(0.0f), optim::Adam(), recipe);
    same[static_cast<std::size_t>(communicator.rank())] =
        values_after_updates(strategy) == expected ? 1 : 0;
  });
  CHECK(same == std::vector<int>{1, 1, 1});
}

TEST_CASE("modules inside of a frozen one may share a weight") {
  using Model = nn::Frozen<SmallModel>;
  using Head = Chunked<nn::BasicGenerator<small_shape.d_model>, nn::LabelSmoothing>;
  Cpu device;
  const parallel::Objective<Model, Head> objective(
      Model(SmallModel({small_vocabulary, small_vocabulary, 24})),
      nn::BasicGenerator<small_shape.d_model>(small_vocabulary), nn::LabelSmoothing(0.1f));
  CHECK(objective.layout().trained == small_vocabulary * small_shape.d_model);
  CHECK(objective.layout().gradients == objective.layout().trained);
  GradientAccumulation<Model, Head> strategy(device, objective, optim::Adam(), recipe);
  const auto behind = [&] {
    const auto values = to_host(strategy.state().values());
    return std::vector<float>(values.begin() + objective.layout().trained, values.end());
  };
  const auto frozen = behind();
  const auto sentences = random_translations(60, 0);
  const train::DeviceBatch batch(sentences);
  const double before = strategy.evaluate(batch).loss.value();
  for (int update = 0; update < 10; ++update) (void)strategy.step(batch, 0.003);
  CHECK(strategy.evaluate(batch).loss.value() < before);
  CHECK(behind() == frozen);
}

namespace {

template <index_t layers>
using Scorer =
    nn::Sequential<nn::Embedding<C>, nn::LayerStack<Layer, layers, C, true>, nn::Linear<C, 1>>;

//! A student, and beside it the teacher that it is to agree with.
struct Lesson {
  nn::Frozen<Scorer<3>> teacher;
  Scorer<1> student;

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("teacher", self.teacher);
    visit("student", self.student);
  }

  template <class D>
  struct Output {
    Rows<1, D> taught, learnt;
    LayoutPointer<D> layout;
  };
  template <class D>
  struct Saved {
    Scorer<1>::Saved<D> student;
  };

  template <class D>
  nn::Result<Output<D>, Saved<D>> forward(nn::Context<D>& ctx, const TokenSequences<D>& x) const {
    auto taught = teacher.forward(ctx, x).output;
    auto [learnt, saved] = student.forward(ctx, x);
    return {{std::move(taught), std::move(learnt), x.layout}, {std::move(saved)}};
  }
  template <class D>
  void backward(nn::Context<D>& ctx, Saved<D>&& saved, const Output<D>& dy) const {
    student.backward(ctx, std::move(saved.student), dy.learnt);
  }
};

//! The squared difference of what both say.
struct Disagreement {
  constexpr explicit Disagreement(const Lesson&) {}

  template <class Self, class Visit>
  static constexpr void members(Self&, Visit&&) {}

  template <class D>
  struct Saved {
    Tensor<float, D> dlearnt;
  };

  template <class D>
  nn::Result<parallel::LossSum, Saved<D>> forward(nn::Context<D>& ctx, const Lesson::Output<D>& y,
                                                  const Tensor<token_t, D>&) const {
    const index_t N = y.learnt.values.rows();
    Saved<D> saved{ctx.empty({N, 1})};
    const auto losses = ctx.empty({N, 1});
    for (index_t n = 0; n < N; ++n) {
      const float error = y.learnt.values.data()[n] - y.taught.values.data()[n];
      losses.data()[n] = error * error;
      saved.dlearnt.data()[n] = 2.0f * error;
    }
    const parallel::LaterLoss<D> sum{losses, {}, ops::ignore_nothing};
    return {sum, std::move(saved)};
  }
  template <class D>
  Lesson::Output<D> backward(nn::Context<D>&, Saved<D>&& saved,
                             const LayoutPointer<D>& layout) const {
    return {{}, {std::move(saved.dlearnt), layout}, layout};
  }
};

auto lesson() {
  const auto embedding = nn::Embedding<C>(small_vocabulary, 24, 0.0f);
  const auto layer = Layer(nn::Dropouts::everywhere(0.1f));
  return parallel::Objective<Lesson, Disagreement>(
      Lesson{nn::Frozen(Scorer<3>(embedding, nn::LayerStack<Layer, 3, C, true>(layer), {})),
             Scorer<1>(embedding, nn::LayerStack<Layer, 1, C, true>(layer), {})});
}

}  // namespace

TEST_CASE("a student learns what a frozen teacher says, the same under every strategy") {
  Cpu device;
  GradientAccumulation<Lesson, Disagreement> single(device, lesson(), optim::Adam(), recipe);
  const auto before = single.evaluate(SourceWords{random_translations(60, 99)});
  const auto expected = values_after_updates(single);
  CHECK(single.evaluate(SourceWords{random_translations(60, 99)}).loss.value() <
        before.loss.value());

  const DeviceGroup<Cpu> devices(2, 1);
  DataParallel<Lesson, Disagreement> parallel(devices, lesson(), optim::Adam(), recipe);
  CHECK(values_after_updates(parallel) == expected);

  std::vector<int> same(3);
  comm::launch_threads(3, comm::Timeout(60), [&](comm::ThreadCommunicator& communicator) {
    Cpu cpu;
    DistributedDataParallel<Lesson, Disagreement, Zero<3>> strategy(cpu, communicator, lesson(),
                                                                    optim::Adam(), recipe);
    same[static_cast<std::size_t>(communicator.rank())] =
        values_after_updates(strategy) == expected ? 1 : 0;
  });
  CHECK(same == std::vector<int>{1, 1, 1});
}

}  // namespace frozen_tests
