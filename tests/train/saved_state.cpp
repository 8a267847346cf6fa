// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/train/saved_state.hpp>

#include <weft/optim/sgd.hpp>
#include <weft/train/saved_model.hpp>

#include <catch2/catch.hpp>

#include <cstdint>
#include <string>

#include "../message_of.hpp"
#include "../temporary_folder.hpp"
#include "edited_files.hpp"
#include "small_runs.hpp"

namespace saved_state_tests {

using namespace weft;
using namespace weft::testing;
using namespace weft::train;

namespace {

const std::string some_weight = "encoder.layers.0.feed_forward.inner.weight";

//! Makes a state one of an older version.
void forget_scaling(const std::string& path) {
  FileContents contents(path);
  contents.metadata.erase("loss_scaling");
  contents.write(path);
}

constexpr auto state_loader = [](auto& strategy, const std::string& path) {
  return load_state(strategy, path);
};

}  // namespace

TEST_CASE("a state saved under any strategy goes on under any other with the same bits") {
  const TemporaryFolder folder;
  OneDevice<> whole;
  train_on(whole.strategy, 0, 3);
  save_state(whole.strategy, folder.path("one"), {});
  const auto file = bytes_of(folder.path("one"));
  train_on(whole.strategy, 3, 6);
  const auto expected = contents_of(whole.strategy);

  for (const int from : {1, 2, 3}) {
    Devices first(from);
    train_on(first.strategy, 0, 3);
    const auto path = folder.path(text("devices-", from));
    save_state(first.strategy, path, {});
    CHECK(bytes_of(path) == file);
    OneDevice<> second;
    load_state(second.strategy, path);
    train_on(second.strategy, 3, 6);
    CHECK(contents_of(second.strategy) == expected);
  }
  for (const int to : {1, 2, 3}) {
    Devices second(to);
    load_state(second.strategy, folder.path("one"));
    train_on(second.strategy, 3, 6);
    CHECK(contents_of(second.strategy) == expected);
  }
}

TEST_CASE("gradients that were accumulated do not outlive the values that a file brings") {
  const TemporaryFolder folder;
  OneDevice<> whole;
  train_on(whole.strategy, 0, 2);
  save_state(whole.strategy, folder.path("state"), {});
  save_model(whole.strategy, folder.path("model"), {});
  train_on(whole.strategy, 2, 3);
  const auto expected = contents_of(whole.strategy);
  for (const bool from_state : {true, false}) {
    OneDevice<> resumed;
    load_state(resumed.strategy, folder.path("state"));
    resumed.strategy.accumulate(DeviceBatch(random_translations(7, 9)));
    if (from_state) {
      load_state(resumed.strategy, folder.path("state"));
    } else {
      load_model(resumed.strategy, folder.path("model"));
    }
    train_on(resumed.strategy, 2, 3);
    CAPTURE(from_state);
    CHECK(contents_of(resumed.strategy) == expected);
  }
}

TEST_CASE("updates that were skipped count for what random numbers come next") {
  const TemporaryFolder folder;
  OneDevice<> whole;
  const data::TranslationBatch nothing;
  train_on(whole.strategy, 0, 1);
  REQUIRE(whole.strategy.step(DeviceBatch(nothing), 0.1).skipped);
  save_state(whole.strategy, folder.path("state"), {{"note", "kept"}});
  OneDevice<> resumed;
  CHECK(load_state(resumed.strategy, folder.path("state")).at("note") == "kept");
  CHECK(resumed.strategy.state().updates() == 1);
  CHECK(resumed.strategy.state().skipped() == 1);
  train_on(whole.strategy, 1, 2);
  train_on(resumed.strategy, 1, 2);
  CHECK(contents_of(resumed.strategy) == contents_of(whole.strategy));
}

TEST_CASE("a run that scales its losses goes on with the scale it had") {
  const TemporaryFolder folder;
  const auto path = folder.path("state");
  auto recipe = small_recipe;
  recipe.loss_scaling = optim::LossScaling{.initial = 0x1p18, .growth_interval = 7};
  OneDevice<> whole(recipe), resumed(recipe);
  for (auto* const one : {&whole, &resumed}) {
    one->device.set_product_precision(ProductPrecision::float16);
  }
  train_on(whole.strategy, 0, 8);
  REQUIRE(whole.strategy.state().skipped() > 0);
  REQUIRE(whole.strategy.state().loss_scale().good_updates() > 0);
  save_state(whole.strategy, path, {});
  load_state(resumed.strategy, path);
  CHECK(contents_of(resumed.strategy) == contents_of(whole.strategy));
  train_on(whole.strategy, 8, 16);
  train_on(resumed.strategy, 8, 16);
  CHECK(contents_of(resumed.strategy) == contents_of(whole.strategy));

  const auto refused = [&](const Edit& edit) {
    return refusal(resumed.strategy, path, edit, state_loader);
  };
  CHECK(refused([](auto& file) { file.metadata["loss_scale"] = "1000"; }) ==
        "its metadata has \"loss_scale\" 1000");
  CHECK(refused([](auto& file) { file.metadata.erase("good_updates"); }) ==
        "its metadata has no whole number \"good_updates\"");
  recipe.loss_scaling->growth_interval = 5;
  OneDevice<> sooner(recipe), unscaled;
  CHECK(
      refusal(
          sooner.strategy, path, [](auto&) {}, state_loader) ==
      "was saved by a run with loss_scaling 262144 at first, doubled after 7 updates, this one has "
      "262144 at first, doubled after 5 updates: the numbers would differ");
  CHECK(
      refusal(
          unscaled.strategy, path, [](auto&) {}, state_loader) ==
      "was saved by a run with loss_scaling 262144 at first, doubled after 7 updates, this one has "
      "none: the numbers would differ");
}

TEST_CASE("a state without a loss scale, as older ones are, begins with the recipe's") {
  const TemporaryFolder folder;
  const auto path = folder.path("state");
  OneDevice<> plain;
  train_on(plain.strategy, 0, 2);
  save_state(plain.strategy, path, {});
  CHECK_FALSE(FileContents(path).metadata.contains("loss_scale"));
  forget_scaling(path);
  auto recipe = small_recipe;
  recipe.loss_scaling = optim::LossScaling{.initial = 8.0};
  OneDevice<> scaled(recipe);
  load_state(scaled.strategy, path);
  CHECK(scaled.strategy.state().loss_scale().value() == 8.0);
  train_on(plain.strategy, 2, 4);
  train_on(scaled.strategy, 2, 4);
  CHECK(contents_of(scaled.strategy).buffers == contents_of(plain.strategy).buffers);

  save_state(scaled.strategy, path, {});  // and the other way
  forget_scaling(path);
  load_state(plain.strategy, path);
  CHECK(plain.strategy.state().loss_scale().value() == 1.0);
}

TEST_CASE("a state of another recipe is refused with both values, and nothing is changed") {
  const TemporaryFolder folder;
  const auto path = folder.path("state");
  OneDevice<> one;
  save_state(one.strategy, path, {});
  const auto refused = [&](parallel::Recipe recipe) {
    OneDevice<> other(recipe);
    return refusal(
        other.strategy, path, [](auto&) {}, state_loader);
  };
  auto recipe = small_recipe;
  recipe.seed = 6;
  CHECK(refused(recipe) ==
        "was saved by a run with seed 5, this one has 6: the numbers would differ");
  recipe = small_recipe;
  recipe.lanes = 4;
  CHECK(refused(recipe) ==
        "was saved by a run with lanes 2, this one has 4: the numbers would differ");
  recipe = small_recipe;
  recipe.micro_batches = 2;
  CHECK(refused(recipe) ==
        "was saved by a run with micro_batches 4, this one has 2: the numbers would differ");
  recipe = small_recipe;
  recipe.clip_norm = 0.1;
  CHECK(refused(recipe) ==
        "was saved by a run with clip_norm 1, this one has 0.1: the numbers would differ");
}

TEST_CASE("every recipe's state can be loaded again") {
  const TemporaryFolder folder;
  const auto path = folder.path("state");
  const auto seed = GENERATE(std::uint64_t{0}, ~std::uint64_t{0});
  const double clip_norm = GENERATE(0.0, 1.0 / 3.0);
  OneDevice<> one({.seed = seed, .clip_norm = clip_norm});
  save_state(one.strategy, path, {});
  CHECK(message_of<FormatError>([&] { return load_state(one.strategy, path); }) == "(no error)");
}

TEST_CASE("a damaged state, or one of another optimizer, is refused, and nothing is changed") {
  const TemporaryFolder folder;
  const auto path = folder.path("state");
  OneDevice<> one, other;
  save_state(one.strategy, path, {});
  train_on(other.strategy, 0, 1);
  const auto refused = [&](const Edit& edit) {
    return refusal(other.strategy, path, edit, state_loader);
  };
  CHECK(refused([](auto& file) { remove(file, "second_moment/" + some_weight); }) ==
        "has no tensor \"second_moment/" + some_weight + "\"");
  CHECK(refused([](auto& file) { remove(file, "value/" + some_weight); }) ==
        "has no tensor \"value/" + some_weight + "\"");
  CHECK(refused([](auto& file) { file["first_moment/" + some_weight].shape = {960}; }) ==
        "tensor \"first_moment/" + some_weight +
            "\" has the shape (960), the model's has (40, 24)");
  CHECK(refused([](auto& file) { file["value/" + some_weight].dtype = io::DType::I32; }) ==
        "tensor \"value/" + some_weight + "\" is I32 (40, 24), not F32 with elements 0 to 960");
  CHECK(refused([](auto& file) { file.metadata.erase("updates"); }) ==
        "its metadata has no whole number \"updates\"");
  CHECK(refused([](auto& file) { file.metadata["skipped"] = "1.5"; }) ==
        "its metadata has no whole number \"skipped\", but \"1.5\"");
  CHECK(refused([](auto& file) { file.metadata["updates"] = "-1"; }) ==
        "its metadata has \"updates\" -1");
  CHECK(refused([](auto& file) { file.metadata["seed"] = ""; }) ==
        "its metadata has no whole number \"seed\", but \"\"");
  CHECK(refused([](auto& file) { file.metadata.erase("clip_norm"); }) ==
        "its metadata has no number \"clip_norm\"");

  CHECK(refused([](auto& file) { file.metadata["loss_scaling"] = std::string(5000, 'x'); }) ==
        "was saved by a run with loss_scaling " + std::string(987, 'x') +
            "..., this one has none: the numbers would differ");
  CHECK(refused([](auto& file) {
          file.tensors.push_back({std::string(5000, 'x') + "/", io::DType::U8, {0}, {}});
        }).size() < 300);

  OneDevice<optim::Sgd> plain;
  CHECK(refusal(
            plain.strategy, path, [](auto&) {}, state_loader) ==
        "was saved by an optimizer that keeps first_moment, second_moment, this run's keeps "
        "nothing");
  OneDevice<optim::SgdMomentum> momentum;
  CHECK(refusal(
            momentum.strategy, path, [](auto&) {}, state_loader) ==
        "was saved by an optimizer that keeps first_moment, second_moment, this run's keeps "
        "velocity");
}

}  // namespace saved_state_tests
