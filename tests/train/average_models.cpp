// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/train/average_models.hpp>

#include <weft/train/saved_model.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "../message_of.hpp"
#include "../temporary_folder.hpp"
#include "small_runs.hpp"

namespace average_models_tests {

using namespace weft;
using namespace weft::testing;
using namespace weft::train;

TEST_CASE("an average is the mean of each parameter, rounded once") {
  const TemporaryFolder folder;
  std::vector<std::string> paths;
  std::vector<std::vector<float>> models;
  OneDevice<> one;
  for (std::uint32_t number = 0; number < 3; ++number) {
    paths.push_back(folder.path(text("epoch-", number)));
    train_on(one.strategy, number, number + 1);
    save_model(one.strategy, paths.back(), {{"epoch", std::to_string(number)}, {"words", "7"}});
    models.push_back(contents_of(one.strategy).buffers[0]);
  }
  average_models(paths, folder.path("average"));
  OneDevice<> loaded;
  const auto metadata = load_model(loaded.strategy, folder.path("average"));
  CHECK(metadata == io::Metadata{{"format", "pt"}, {"words", "7"}});  // no model's epoch
  const auto values = contents_of(loaded.strategy).buffers[0];
  const auto trained = static_cast<std::size_t>(one.strategy.objective().layout().trained);
  for (std::size_t i = 0; i < trained; ++i) {
    const double sum = static_cast<double>(models[0][i]) + static_cast<double>(models[1][i]) +
                       static_cast<double>(models[2][i]);
    REQUIRE(values[i] == static_cast<float>(sum / 3));
  }

  average_models(std::vector{paths[1]}, paths[1]);  // over itself
  load_model(loaded.strategy, paths[1]);
  CHECK(contents_of(loaded.strategy).buffers[0] == models[1]);
}

TEST_CASE("models that differ in more than their numbers have no average") {
  const TemporaryFolder folder;
  OneDevice<> one;
  const std::vector<std::string> paths{folder.path("a"), folder.path("b")};
  for (const auto& path : paths) save_model(one.strategy, path, {});
  const std::string some_weight = "encoder.layers.0.feed_forward.inner.weight";
  const auto refused = [&](const std::function<void(FileContents&)>& edit) {
    FileContents contents(paths[1]);
    edit(contents);
    contents.write(paths[1]);
    const auto message =
        message_of<FormatError>([&] { return average_models(paths, folder.path("to")), 0; });
    save_model(one.strategy, paths[1], {});
    return message.starts_with(paths[1] + ": ") ? message.substr(paths[1].size() + 2) : message;
  };
  const auto count = nn::named_parameters(one.strategy.objective()).size() - 2;
  CHECK(refused([&](auto& file) {
          std::erase_if(file.tensors, [&](const auto& t) { return t.name == some_weight; });
        }) == text("has ", count - 1, " tensors, ", paths[0], " has ", count));
  CHECK(refused([&](auto& file) { file[some_weight].name = "x"; }) ==
        "has no tensor \"" + some_weight + "\"");
  CHECK(refused([&](auto& file) {
          file[some_weight].shape = {24, 40};
        }) == "tensor \"" + some_weight + "\" has the shape (24, 40), that of " + paths[0] +
                  " has (40, 24)");
  CHECK(refused([&](auto& file) { file[some_weight].dtype = io::DType::I32; }) ==
        "tensor \"" + some_weight + "\" is I32 (40, 24), not 960 of F32");
  CHECK(message_of<ArgumentError>([&] { return average_models({}, folder.path("to")), 0; }) ==
        "average_models: no models");
  CHECK_FALSE(std::filesystem::exists(folder.path("to")));
}

}  // namespace average_models_tests
