// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/cuda.cuh>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <weft/generate/continue_texts.hpp>
#include <weft/generate/language_model_cache.hpp>
#include <weft/nn/parameter_groups.hpp>
#include <weft/testing/small_translation.hpp>
#include <weft/train/predict.hpp>
#include <weft/train/saved_state.hpp>
#include <weft/train/translate.hpp>

#include "../parallel/words_batch.hpp"
#include "../temporary_folder.hpp"

namespace strategies_tests {

using namespace weft;
using namespace weft::testing;

namespace {

constexpr parallel::Recipe recipe{.seed = 3, .lanes = 4, .micro_batches = 4};

//! What ten updates end with.
struct Trained {
  std::vector<double> losses;
  std::vector<float> values;
  std::vector<double> scores;  // of translations, where a test asks for them
};

template <class Train>
Trained ten_updates(Train& train) {
  Trained result;
  for (std::uint32_t update = 0; update < 10; ++update) {
    const auto batch = random_translations(13, update);
    const auto report = train.step(train::DeviceBatch(batch), 0.002);
    result.losses.push_back(report.loss.loss.value() /
                            static_cast<double>(report.loss.tokens.value()));
  }
  result.values = to_host(train.state().values());
  return result;
}

template <class D>
Trained train_on(int devices, const parallel::Recipe& with = recipe, bool graphs = false) {
  const DeviceGroup<D> group(devices);
  if constexpr (std::is_same_v<D, Cuda>) {
    for (int index = 0; index < devices; ++index) group[index].set_graphs(graphs);
  }
  DataParallel<SmallModel, SmallLoss, optim::Adam, D> train(group, small_objective(), optim::Adam(),
                                                            with);
  return ten_updates(train);
}

//! The same recipe, with a scale of losses that doubles after three updates.
parallel::Recipe scaled_recipe(double initial) {
  auto scaled = recipe;
  scaled.loss_scaling = optim::LossScaling{.initial = initial, .growth_interval = 3};
  return scaled;
}

//! Normalised before its branches, where a sublayer ends and the next begins in one pass.
constexpr nn::TransformerShape pre_norm_shape = [] {
  auto shape = small_shape;
  shape.norm = nn::Norm::pre;
  return shape;
}();

//! RMS norms, rotary positions, heads that share keys, gates.
constexpr nn::TransformerShape rotary_shape{.d_model = 32,
                                            .heads = 4,
                                            .key_heads = 2,
                                            .d_ff = 48,
                                            .encoder_layers = 1,
                                            .decoder_layers = 2,
                                            .rms_norm = true,
                                            .activation = ops::Activation::silu,
                                            .gated = true,
                                            .positions = nn::Positions::rotary};

template <nn::TransformerShape shape, class D>
Trained train_shape(ProductPrecision precision) {
  using Model = nn::Transformer<shape>;
  using Loss = Chunked<nn::Generator<shape>, nn::LabelSmoothing>;
  D device;
  device.set_product_precision(precision);
  using Train = GradientAccumulation<Model, Loss, optim::Adam, D>;
  Train train(device,
              typename Train::Objective(
                  Model({small_vocabulary, small_vocabulary, 24}, nn::Dropouts::everywhere(0.1f)),
                  nn::LabelSmoothing(0.1f)),
              optim::Adam(), recipe);
  Trained result = ten_updates(train);
  const generate::SearchSettings settings{.beam = 3, .max_length_b = 12};
  for (const auto& found :
       train::translate(train, random_translations(9, 77).source, settings.eos, settings)) {
    result.scores.push_back(found.score);
  }
  return result;
}

template <nn::TransformerShape shape>
void check_shape() {
  const auto [precision, epsilon] = GENERATE(std::pair(ProductPrecision::float32, 1e-4),
                                             std::pair(ProductPrecision::bfloat16, 0.02));
  CAPTURE(to_text(precision));
  const auto cpu = train_shape<shape, Cpu>(precision), gpu = train_shape<shape, Cuda>(precision);
  for (std::size_t i = 0; i < cpu.losses.size(); ++i) {
    CAPTURE(i);
    CHECK(gpu.losses[i] == Approx(cpu.losses[i]).epsilon(epsilon));
  }
  CHECK(gpu.losses.back() < gpu.losses.front());
  for (std::size_t i = 0; i < cpu.scores.size(); ++i) {
    CAPTURE(i);
    CHECK(gpu.scores[i] == Approx(cpu.scores[i]).epsilon(epsilon));
  }
}

//! Losses of Llama's kind of layers (RMS norms, rotary positions, heads that share keys, gates),
//! and then an output.
template <class D>
std::vector<double> train_language_model(ProductPrecision precision) {
  constexpr nn::LanguageModelShape shape{.d_model = 32,
                                         .heads = 4,
                                         .key_heads = 2,
                                         .d_ff = 48,
                                         .layers = 2,
                                         .rms_norm = true,
                                         .activation = ops::Activation::silu,
                                         .gated = true,
                                         .positions = nn::Positions::rotary};
  using Model = nn::LanguageModel<shape>;
  using Loss = Chunked<nn::LanguageModelGenerator<shape>, nn::LabelSmoothing>;
  D device;
  device.set_product_precision(precision);
  using Train = GradientAccumulation<Model, Loss, optim::Adam, D>;
  Train train(device,
              typename Train::Objective(Model(small_vocabulary, 24, nn::Dropouts::everywhere(0.1f)),
                                        nn::LabelSmoothing(0.1f)),
              optim::Adam(), recipe);
  std::vector<double> numbers;
  for (std::uint32_t update = 0; update < 10; ++update) {
    const auto batch = random_translations(13, update);
    const auto loss = train.step(WordsBatch(batch), 0.002).loss;
    numbers.push_back(loss.loss.value() / static_cast<double>(loss.tokens.value()));
  }
  // What it makes of two texts that it reads in pieces, the second beyond its first room.
  nn::Context ctx(device, train.state().values().data());
  generate::LanguageModelCache cache(ctx, train.objective().model(), 2);
  (void)cache.read(ctx, std::vector<token_t>{3, 9, 4, 7, 5}, std::vector<index_t>{4, 1});
  const std::vector<token_t> words{7, 11, 3, 4, 6, 8, 3, 9, 5, 5, 12, 3, 6, 7, 9, 3, 4, 5, 8};
  const auto rows = to_host(cache.read(ctx, words, std::vector<index_t>{2, 17}));
  numbers.insert(numbers.end(), rows.begin(), rows.end());
  if (precision == ProductPrecision::float32) {  // rounded, another word may be the likeliest
    const std::vector<std::vector<token_t>> texts{{3, 9, 4, 7}, {5}};
    for (const auto& written :
         generate::continue_texts(ctx, train.objective().model(),
                                  train.objective().loss().generator, texts, {.most = 5})) {
      numbers.insert(numbers.end(), written.begin(), written.end());
    }
  }
  return numbers;
}

}  // namespace

TEST_CASE("a language model of Llama's kind learns on a GPU as on a processor") {
  const auto [precision, epsilon] = GENERATE(std::pair(ProductPrecision::float32, 1e-4),
                                             std::pair(ProductPrecision::bfloat16, 0.02));
  const auto cpu = train_language_model<Cpu>(precision),
             gpu = train_language_model<Cuda>(precision);
  for (std::size_t i = 0; i < cpu.size(); ++i) {
    CAPTURE(to_text(precision), i);
    // Outputs have the size of 1, and differ by what ten updates do.
    CHECK(gpu[i] == Approx(cpu[i]).epsilon(epsilon).margin(i < 10 ? 0.0 : 10 * epsilon));
  }
  CHECK(gpu[9] < gpu[0]);
}

TEST_CASE("a pre-norm Transformer learns and translates on a GPU as on a processor") {
  check_shape<pre_norm_shape>();
}

TEST_CASE("one with rotary positions, shared heads, RMS norms and gates does") {
  check_shape<rotary_shape>();
}

TEST_CASE("a Transformer with dropout learns on a GPU as on a processor") {
  const Trained cpu = train_on<Cpu>(1), gpu = train_on<Cuda>(1);
  for (std::size_t i = 0; i < cpu.losses.size(); ++i) {
    CAPTURE(i);
    CHECK(gpu.losses[i] == Approx(cpu.losses[i]).epsilon(1e-4));
  }
  CHECK(gpu.losses.back() < gpu.losses.front());
}

TEST_CASE("logical devices of one GPU or of several end with the bits of one") {
  const Trained one = train_on<Cuda>(1);
  for (const int devices : {2, 3, 4}) {
    CAPTURE(devices);
    const Trained several = train_on<Cuda>(devices);
    CHECK(several.losses == one.losses);
    CHECK(several.values == one.values);
  }
}

TEST_CASE("logical devices, of which some have no lane, end with the bits of one") {
  for (const auto& [devices, lanes] : {std::pair(2, 1), std::pair(3, 2), std::pair(4, 3)}) {
    CAPTURE(devices, lanes);
    const parallel::Recipe with{.seed = 3, .lanes = lanes, .micro_batches = 4};
    const Trained one = train_on<Cuda>(1, with), several = train_on<Cuda>(devices, with);
    CHECK(several.losses == one.losses);
    CHECK(several.values == one.values);
  }
}

TEST_CASE("steps of graphs end with the bits of steps of launches") {
  const Trained launched = train_on<Cuda>(1);
  for (const int devices : {1, 2}) {
    CAPTURE(devices);
    const Trained recorded = train_on<Cuda>(devices, recipe, true);
    CHECK(recorded.losses == launched.losses);
    CHECK(recorded.values == launched.values);
  }
}

TEST_CASE("where the GPU has no memory for a graph, its operations are launched one by one") {
  const auto batch = random_translations(13, 1);  // the same again: lists that would be graphs
  const auto values_after_steps = [&](bool graphs) {
    Cuda device;
    device.set_graphs(graphs);
    GradientAccumulation<SmallModel, SmallLoss, optim::Adam, Cuda> train(
        device, small_objective(), optim::Adam(), {.seed = 3, .lanes = 1, .micro_batches = 1});
    for (int step = 0; step < 4; ++step) (void)train.step(train::DeviceBatch(batch), 0.002);
    return to_host(train.state().values());
  };
  const auto expected = values_after_steps(false);
  setenv("EMULATED_NO_GRAPHS", "1", 1);  // a real GPU makes graphs, and ends alike
  CHECK(values_after_steps(true) == expected);
  unsetenv("EMULATED_NO_GRAPHS");
}

TEST_CASE("a step that is repeated is a launch up to the losses, and one for the update") {
  const auto batch = random_translations(13, 1);
  std::vector<index_t> launches, operations;  // of each step
  const auto values_after_steps = [&](bool graphs) {
    Cuda device;
    device.set_graphs(graphs);
    GradientAccumulation<SmallModel, SmallLoss, optim::Adam, Cuda> train(
        device, small_objective(), optim::Adam(), {.seed = 3, .lanes = 1, .micro_batches = 1});
    for (int step = 0; step < 6; ++step) {
      const index_t launched = device.launches(), called = device.operations();
      (void)train.step(train::DeviceBatch(batch), 0.002);
      launches.push_back(device.launches() - launched);
      operations.push_back(device.operations() - called);
    }
    return to_host(train.state().values());
  };
  const auto expected = values_after_steps(false);
  CHECK(launches == operations);
  CHECK(values_after_steps(true) == expected);
  CHECK(launches.back() == 2);
  CHECK(operations.back() > 100);
}

TEST_CASE("gradients that a GPU accumulates give the bits of its data parallelism") {
  Cuda device;
  GradientAccumulation<SmallModel, SmallLoss, optim::Adam, Cuda> train(device, small_objective(),
                                                                       optim::Adam(), recipe);
  const Trained accumulated = ten_updates(train), one = train_on<Cuda>(1);
  CHECK(accumulated.losses == one.losses);
  CHECK(accumulated.values == one.values);
}

TEST_CASE("a step waits for its losses and for its end, whatever it is made of") {
  // The losses of a micro-batch are copied once nothing is left to be queued.
  const bool scales = GENERATE(false, true);
  Cuda device;
  GradientAccumulation<SmallModel, SmallLoss, optim::Adam, Cuda> train(
      device, small_objective(), optim::Adam(), scales ? scaled_recipe(65536.0) : recipe);
  const auto batch = random_translations(13, 0);
  static_cast<void>(train.step(train::DeviceBatch(batch), 0.002));
  const index_t before = device.waits();
  static_cast<void>(train.step(train::DeviceBatch(batch), 0.002));
  CHECK(device.waits() - before == recipe.micro_batches + 1);
}

TEST_CASE("losses that are scaled change no bit of a GPU's floats") {
  const Trained plain = train_on<Cuda>(1);
  for (const int devices : {1, 2}) {
    const Trained scaled = train_on<Cuda>(devices, scaled_recipe(1024.0));
    CHECK(scaled.losses == plain.losses);
    CHECK(scaled.values == plain.values);
  }
}

TEST_CASE("a GPU that rounds factors learns as a processor that does") {
  const auto losses = [](auto&& device) {
    using D = std::remove_cvref_t<decltype(device)>;
    device.set_product_precision(ProductPrecision::bfloat16);
    GradientAccumulation<SmallModel, SmallLoss, optim::Adam, D> train(device, small_objective(),
                                                                      optim::Adam(), recipe);
    return ten_updates(train).losses;
  };
  const auto gpu = losses(Cuda()), cpu = losses(Cpu());
  for (std::size_t i = 0; i < cpu.size(); ++i) {
    CAPTURE(i);
    CHECK(gpu[i] == Approx(cpu[i]).epsilon(0x1p-8));
  }
  CHECK(gpu.back() < gpu.front());
}

TEST_CASE("weights that an update rounds are those that are rounded anew") {
  struct Result {
    std::vector<double> losses;
    std::vector<float> values;
  };
  const auto trained = [](bool in_groups, int devices, bool graphs, bool rounds_anew) {
    auto objective = small_objective();
    if (in_groups) {  // of which each is updated by launches of its own
      auto model = objective.model();
      nn::scale_learning_rate(model.encoder, 0.0f);
      objective = SmallObjective(model, nn::LabelSmoothing(0.1f), 5);
      nn::decay_matrices_only(objective);
    }
    const auto initial = nn::initial_values(objective.layout(), recipe.seed, objective);
    const DeviceGroup<Cuda> group(devices);
    for (int index = 0; index < devices; ++index) {
      group[index].set_product_precision(ProductPrecision::bfloat16);
      group[index].set_graphs(graphs);
    }
    DataParallel<SmallModel, SmallLoss, optim::Adam, Cuda> train(
        group, objective, optim::Adam({.weight_decay = 0.1}), recipe);
    Result result;
    for (std::uint32_t update = 0; update < 6; ++update) {
      if (rounds_anew) (void)train.state().values();
      const auto batch = random_translations(13, update);
      result.losses.push_back(train.step(train::DeviceBatch(batch), 0.01).loss.loss.value());
    }
    result.values = to_host(train.state().values());
    for (const auto& [name, p] : nn::named_parameters(objective)) {
      if (p.computed) continue;
      CAPTURE(name);
      const bool stays = in_groups && name.starts_with("encoder.");
      CHECK(stays == std::equal(initial.begin() + p.value_offset,
                                initial.begin() + p.value_offset + p.size(),
                                result.values.begin() + p.value_offset));
    }
    return result;
  };
  for (const bool in_groups : {false, true}) {
    const Result expected = trained(in_groups, 1, false, true);
    for (const int devices : {1, 3}) {
      for (const bool graphs : {false, true}) {
        CAPTURE(in_groups, devices, graphs);
        const Result found = trained(in_groups, devices, graphs, false);
        CHECK(found.losses == expected.losses);
        CHECK(found.values == expected.values);
      }
    }
  }
}

TEST_CASE("passes read the values that somebody wrote between two updates") {
  Cuda device;
  device.set_product_precision(ProductPrecision::bfloat16);
  using Train = GradientAccumulation<SmallModel, SmallLoss, optim::Adam, Cuda>;
  Train train(device, small_objective(), optim::Adam(), recipe);
  const auto batch = random_translations(13, 0);
  const auto initial = to_host(train.state().values());
  const double before = train.evaluate(train::DeviceBatch(batch)).loss.value();
  for (int update = 0; update < 3; ++update) (void)train.step(train::DeviceBatch(batch), 0.01);
  CHECK(train.evaluate(train::DeviceBatch(batch)).loss.value() < before);
  const auto begin_anew = [&] {
    device.upload(train.state().values().data(), initial.data(),
                  std::ssize(initial) * index_t{sizeof(float)});
  };
  begin_anew();
  CHECK(train.evaluate(train::DeviceBatch(batch)).loss.value() == before);
  device.set_product_precision(ProductPrecision::float32);
  (void)train.step(train::DeviceBatch(batch), 0.01);  // rounds nothing as it updates
  device.set_product_precision(ProductPrecision::bfloat16);
  CHECK_FALSE(train.evaluate(train::DeviceBatch(batch)).loss.value() == before);
  begin_anew();
  CHECK(train.evaluate(train::DeviceBatch(batch)).loss.value() == before);
}

TEST_CASE("a GPU averages the values after each update, and reads the average in their place") {
  using Average = std::vector<float>;
  const auto trained = [](int devices, bool graphs) {
    const DeviceGroup<Cuda> group(devices);
    for (int index = 0; index < devices; ++index) {
      group[index].set_product_precision(ProductPrecision::bfloat16);
      group[index].set_graphs(graphs);
    }
    DataParallel<SmallModel, SmallLoss, optim::MovingAverage<optim::Adam>, Cuda> train(
        group, small_objective(), optim::MovingAverage(optim::Adam(), 0.75), recipe);
    const auto batch = random_translations(13, 0);
    const auto loss = [&] { return train.evaluate(train::DeviceBatch(batch)).loss.value(); };
    std::vector<double> sum(static_cast<std::size_t>(train.objective().layout().trained));
    double weights = 0.0;
    for (std::uint32_t update = 0; update < 6; ++update) {
      static_cast<void>(train.step(train::DeviceBatch(random_translations(13, update)), 0.003));
      weights = weights * 0.75 + 1.0;
      const auto values = to_host(train.state().read_values());
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = sum[i] * 0.75 + double{values[i]};
    }
    const Average average = to_host(train.state().average());
    double furthest = 0.0;  // three roundings an update, of values that Adam moves by 0.02
    for (std::size_t i = 0; i < sum.size(); ++i) {
      const double size = 2 * (std::abs(double{average[i]}) + 0.02);
      furthest = std::max(furthest, std::abs(double{average[i]} - sum[i] / weights) / size);
    }
    CHECK(furthest < 18 * 0x1p-24);

    const auto values = to_host(train.state().read_values());
    const double before = loss();
    double of_average = 0.0;
    parallel::with_average(train, [&] {
      of_average = loss();
      const auto stands_there = to_host(train.state().read_values());
      CHECK(std::equal(average.begin(), average.end(), stands_there.begin()));
    });
    CHECK(of_average != before);
    CHECK(to_host(train.state().read_values()) == values);
    CHECK(loss() == before);

    const float not_a_number = std::numeric_limits<float>::quiet_NaN();
    group[0].upload(train.state().values().data(), &not_a_number, sizeof(float));
    REQUIRE(train.step(train::DeviceBatch(batch), 0.003).skipped);
    CHECK(to_host(train.state().average()) == average);
    return average;
  };
  const Average expected = trained(1, false);
  CHECK(trained(1, true) == expected);
  CHECK(trained(3, false) == expected);
  CHECK(trained(3, true) == expected);
}

TEST_CASE("a GPU skips updates whose gradient is infinite in float16, until the scale fits") {
  Cuda device;
  device.set_product_precision(ProductPrecision::float16);
  GradientAccumulation<SmallModel, SmallLoss, optim::Adam, Cuda> train(
      device, small_objective(), optim::Adam(), scaled_recipe(0x1p18));
  const auto batch = random_translations(13, 0);
  const auto before = to_host(train.state().values());
  double scale = 0x1p18;
  while (train.step(train::DeviceBatch(batch), 0.002).skipped) {
    scale /= 2;
    REQUIRE(scale > 1.0);
    CHECK(train.state().loss_scale().value() == scale);
    CHECK(to_host(train.state().values()) == before);
  }
  CHECK(scale < 0x1p18);
  CHECK_FALSE(to_host(train.state().values()) == before);
}

TEST_CASE("logical devices translate and predict as one") {
  const auto batch = random_translations(9, 77);
  const generate::SearchSettings settings{.beam = 3, .max_length_b = 12};
  const auto translated = [&](int devices) {
    const DeviceGroup<Cuda> group(devices);
    DataParallel<SmallModel, SmallLoss, optim::Adam, Cuda> train(group, small_objective(),
                                                                 optim::Adam(), recipe);
    return std::tuple(train::translate(train, batch.source, settings.eos, settings, /*batch=*/2),
                      train::predict(train, train::DeviceBatch(batch)),
                      train::outputs(train, train::DeviceBatch(batch)));
  };
  const auto one = translated(1);
  CHECK(translated(3) == one);
  CHECK(std::ssize(std::get<1>(one)) == std::ssize(batch.target_output.tokens));
}

TEST_CASE("a run that a processor began goes on on a GPU, and translates as there") {
  const TemporaryFolder folder;
  const std::string path = folder.path("state");
  using Train = GradientAccumulation<SmallModel, SmallLoss, optim::Adam, Cpu>;
  using TrainOnGpu = GradientAccumulation<SmallModel, SmallLoss, optim::Adam, Cuda>;
  Cpu cpu;
  Cuda gpu;
  Train began(cpu, small_objective(), optim::Adam(), recipe);
  TrainOnGpu went_on(gpu, small_objective(), optim::Adam(), recipe);
  const Trained before = ten_updates(began);
  train::save_state(began, path, {});
  train::load_state(went_on, path);
  CHECK(to_host(went_on.state().values()) == before.values);

  const auto sources = random_translations(9, 77).source;
  const generate::SearchSettings settings{.beam = 3, .max_length_b = 12};
  const auto expected = train::translate(began, sources, settings.eos, settings);
  const auto found = train::translate(went_on, sources, settings.eos, settings);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    CHECK(found[i].score == Approx(expected[i].score).epsilon(1e-4));
  }

  const Trained here = ten_updates(went_on), there = ten_updates(began);
  CHECK(here.losses.back() == Approx(there.losses.back()).epsilon(1e-3));

  train::save_state(went_on, path, {});
  TrainOnGpu other(gpu, small_objective(), optim::Adam(), recipe);
  train::load_state(other, path);
  CHECK(to_host(other.state().values()) == here.values);
  CHECK(ten_updates(other).values == ten_updates(went_on).values);
}

}  // namespace strategies_tests
