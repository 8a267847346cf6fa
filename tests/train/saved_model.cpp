// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/train/saved_model.hpp>

#include <weft/nn/activations.hpp>
#include <weft/train/saved_state.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "../file_size_limit.hpp"
#include "../message_of.hpp"
#include "../temporary_folder.hpp"
#include "edited_files.hpp"
#include "small_runs.hpp"

namespace saved_model_tests {

using namespace weft;
using namespace weft::testing;
using namespace weft::train;
using Catch::Contains;

namespace {

const std::string some_weight = "encoder.layers.0.feed_forward.inner.weight";

constexpr auto model_loader = [](auto& strategy, const std::string& path) {
  return load_model(strategy, path);
};

}  // namespace

TEST_CASE("a model is loaded as it was saved, with its metadata") {
  const TemporaryFolder folder;
  const auto path = folder.path("model");
  OneDevice<> saved, loaded({.seed = 77});
  train_on(saved.strategy, 0, 2);
  save_model(saved.strategy, path, {{"longest", "24"}});
  REQUIRE(contents_of(loaded.strategy).buffers[0] != contents_of(saved.strategy).buffers[0]);

  const auto metadata = load_model(loaded.strategy, path);
  CHECK(metadata == io::Metadata{{"format", "pt"}, {"longest", "24"}});
  CHECK(contents_of(loaded.strategy).buffers[0] == contents_of(saved.strategy).buffers[0]);
  CHECK(loaded.strategy.state().updates() == 0);
}

TEST_CASE("without a strategy a saved model has the values that it had, computed tables included") {
  const TemporaryFolder folder;
  const auto path = folder.path("model");
  OneDevice<> saved;
  train_on(saved.strategy, 0, 2);
  save_model(saved.strategy, path, {});
  const auto& objective = saved.strategy.objective();
  CHECK(read_values(io::SafetensorsFile(path), objective, objective.layout()) ==
        to_host(saved.strategy.state().values()));

  FileContents contents(path);
  remove(contents, some_weight);
  contents.write(path);
  CHECK_THAT(message_of<FormatError>([&] {
               return read_values(io::SafetensorsFile(path), objective, objective.layout());
             }),
             Contains("has no tensor \"" + some_weight + "\""));
}

TEST_CASE("a model's file holds each trained parameter under its path, and no computed table") {
  const TemporaryFolder folder;
  OneDevice<> saved;
  save_model(saved.strategy, folder.path("model"), {});
  const io::SafetensorsFile file(folder.path("model"));
  CHECK(file.tensor("source_embedding.weight").shape == std::vector<index_t>{small_vocabulary, 24});
  CHECK(file.tensor(some_weight).shape == std::vector<index_t>{40, 24});
  CHECK(file.tensor("decoder.layers.1.cross_attention.key.bias").shape == std::vector<index_t>{24});
  CHECK_FALSE(file.contains("source_embedding.positions"));
  CHECK_FALSE(file.contains("generator.weight"));  // tied
  index_t numbers = 0;
  for (const auto& tensor : file.tensors()) numbers += (tensor.end - tensor.begin) / 4;
  CHECK(numbers == saved.strategy.objective().layout().trained);
}

TEST_CASE("a model's file that is not this model's is refused, and nothing is changed") {
  const TemporaryFolder folder;
  const auto path = folder.path("model");
  OneDevice<> one;
  save_model(one.strategy, path, {});
  OneDevice<> other({.seed = 77});
  const auto refused = [&](const Edit& edit) {
    return refusal(other.strategy, path, edit, model_loader);
  };
  CHECK(refused([](auto& file) { remove(file, some_weight); }) ==
        "has no tensor \"" + some_weight + "\"");
  CHECK(refused([](auto& file) {
          file[some_weight].shape = {24, 40};
        }) == "tensor \"" + some_weight + "\" has the shape (24, 40), the model's has (40, 24)");
  CHECK(refused([](auto& file) { file[some_weight].shape = {960}; }) ==
        "tensor \"" + some_weight + "\" has the shape (960), the model's has (40, 24)");
  CHECK(refused([](auto& file) { file[some_weight].dtype = io::DType::I32; }) ==
        "tensor \"" + some_weight + "\" is I32 (40, 24), not F32 with elements 0 to 960");
  CHECK(refused([](auto& file) { file[some_weight].name += "s"; }) ==
        "has no tensor \"" + some_weight + "\"");
  const auto count = nn::named_parameters(one.strategy.objective()).size() - 2;  // two tables
  CHECK(refused([](auto& file) {
          file.tensors.push_back({"extra", io::DType::U8, {1}, {std::byte{7}}});
        }) == text("has ", count + 1, " tensors, the model has ", count, ", and no \"extra\""));
  load_model(other.strategy, path);
  CHECK(contents_of(other.strategy).buffers[0] == contents_of(one.strategy).buffers[0]);
}

TEST_CASE("a part of a model is loaded as it was saved, or from a file that has more") {
  const TemporaryFolder folder;
  const auto part = folder.path("part"), whole = folder.path("whole");
  OneDevice<> one;
  train_on(one.strategy, 0, 2);
  const auto encoder = [](const auto& strategy) -> const auto& {
    return strategy.objective().model().encoder;
  };
  save_part(one.strategy, encoder(one.strategy), part, {{"from", "one"}});
  save_model(one.strategy, whole, {});
  CHECK(io::SafetensorsFile(part).contains("layers.0.feed_forward.inner.weight"));

  const auto values = contents_of(one.strategy).buffers[0];
  for (const auto& [path, prefix] : {std::pair(part, ""), std::pair(whole, "encoder.")}) {
    OneDevice<> other({.seed = 77});
    auto expected = contents_of(other.strategy).buffers[0];
    for (const auto& [name, p] : nn::named_parameters(encoder(one.strategy))) {
      std::copy_n(values.begin() + p.value_offset, p.size(), expected.begin() + p.value_offset);
    }
    const auto metadata = load_part(other.strategy, encoder(other.strategy), path, prefix);
    CHECK(contents_of(other.strategy).buffers[0] == expected);
    CHECK(metadata.contains("from") == (path == part));
  }
}

TEST_CASE("a part's file that is not this part's is refused, and so is a part of another model") {
  const TemporaryFolder folder;
  const auto path = folder.path("model");
  OneDevice<> one;
  save_model(one.strategy, path, {});
  const auto before = contents_of(one.strategy);
  const auto& model = one.strategy.objective().model();
  const auto said = [&](const auto& part, const char* prefix) {
    return message_of<Error>([&] { return load_part(one.strategy, part, path, prefix); });
  };
  CHECK_THAT(said(model.encoder, ""), Contains("has no tensor \"layers.0."));
  CHECK_THAT(said(model.encoder, "decoder."),
             Contains(": has ") && Contains(" tensors under \"decoder.\", the part"));
  CHECK_THAT(said(SmallModel({small_vocabulary, small_vocabulary, 24}).encoder, "encoder."),
             Contains("has no place in the buffers"));
  constexpr nn::TransformerShape wider{
      .d_model = 32, .heads = 2, .d_ff = 8, .encoder_layers = 1, .decoder_layers = 1};
  const parallel::Objective<nn::Transformer<wider>, Chunked<nn::Generator<wider>, nn::CrossEntropy>>
      other(nn::Transformer<wider>({9, 9, 9}), nn::CrossEntropy());
  CHECK_THAT(said(other.model().encoder, "encoder."),
             Contains("is none of this strategy's: the part is to be one of its objective()'s"));
  CHECK_THROWS_AS(save_part(one.strategy, other.model().encoder, path, {}), Error);
  CHECK_THAT(said(nn::Relu<8>(), ""), Contains("a part without parameters"));
  CHECK(contents_of(one.strategy) == before);
}

TEST_CASE("a model's file that is cut off or missing is refused, and nothing is changed") {
  const TemporaryFolder folder;
  const auto path = folder.path("model");
  OneDevice<> one;
  save_model(one.strategy, path, {});
  const auto before = contents_of(one.strategy);
  const auto whole = bytes_of(path);
  for (const std::size_t size :
       {whole.size() - 1, whole.size() / 2, std::size_t{100}, std::size_t{7}, std::size_t{0}}) {
    io::write_file(path, std::string_view(whole).substr(0, size));
    CAPTURE(size);
    CHECK_THAT(message_of<FormatError>([&] { return load_model(one.strategy, path); }),
               Contains(path) && Contains(" bytes"));
  }
  CHECK(message_of<SystemError>([&] { return load_model(one.strategy, folder.path("none")); }) ==
        "cannot open " + folder.path("none") + ": No such file or directory");
  CHECK(contents_of(one.strategy) == before);
}

TEST_CASE("a model is no state, and a state no model") {
  const TemporaryFolder folder;
  const auto path = folder.path("file");
  OneDevice<> one, other;
  save_model(one.strategy, path, {});
  CHECK(refusal(
            other.strategy, path, [](auto&) {},
            [](auto& strategy, const std::string& file) { return load_state(strategy, file); }) ==
        "is no state of a run, as save_state writes it");
  save_state(one.strategy, path, {});
  CHECK(refusal(
            other.strategy, path, [](auto&) {}, model_loader) ==
        "is the state of a run, for load_state, and no model");
}

TEST_CASE("when the disk is full the old file stays") {
  const TemporaryFolder folder;
  const auto path = folder.path("state");
  OneDevice<> one;
  save_state(one.strategy, path, {});
  const auto before = bytes_of(path);
  train_on(one.strategy, 0, 1);
  {
    const FileSizeLimit limit(20'000);
    CHECK(message_of<SystemError>([&] { return save_state(one.strategy, path, {}), 0; }) ==
          "cannot write " + path + ": File too large");
    CHECK(message_of<SystemError>([&] { return save_model(one.strategy, path, {}), 0; }) ==
          "cannot write " + path + ": File too large");
  }
  CHECK(bytes_of(path) == before);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path("")), {}) == 1);
}

}  // namespace saved_model_tests
