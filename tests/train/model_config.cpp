// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/train/model_config.hpp>

#include <catch2/catch.hpp>

#include <string>
#include <type_traits>

#include "../message_of.hpp"
#include "../temporary_folder.hpp"

namespace model_config_tests {

using namespace weft;
using namespace weft::testing;
using namespace weft::train;

namespace {

constexpr nn::TransformerShape small{.d_model = 16, .heads = 4, .d_ff = 32};

}  // namespace

TEST_CASE("a model's configuration is read again by the program that wrote it") {
  const TemporaryFolder temporary;
  const RunFolder folder(temporary.path("model"));
  save_config(folder, config_of(small));
  CHECK_NOTHROW(expect_config(folder, config_of(small)));
  const std::string text = io::read_file(folder.config());
  for (const char* part : {"\"weft::nn::Transformer\"", "\"heads\": 4", "\"norm\": \"pre\""}) {
    CHECK(text.find(part) != std::string::npos);
  }
}

TEST_CASE("a program that was compiled for another model says both") {
  const TemporaryFolder temporary;
  const RunFolder folder(temporary.path("model"));
  save_config(folder, config_of(small));
  auto other = small;
  other.heads = 8;
  other.norm = nn::Norm::post;
  const auto message =
      message_of<FormatError>([&] { return expect_config(folder, config_of(other)), 0; });
  CHECK(message.find("heads is 4, not 8, norm is \"pre\", not \"post\"") != std::string::npos);
  CHECK(message.find(config_of(small).dump()) != std::string::npos);
  CHECK(message.find(config_of(other).dump()) != std::string::npos);

  const auto language_model = message_of<FormatError>(
      [&] { return expect_config(folder, config_of(nn::LanguageModelShape{})), 0; });
  CHECK(language_model.find("layers is null, not 6") != std::string::npos);
  CHECK(language_model.find("encoder_layers is 6, not null") != std::string::npos);
}

TEMPLATE_TEST_CASE("choices that older folders have no word for are saved if they are made", "",
                   nn::LanguageModelShape, nn::TransformerShape) {
  for (const char* later :
       {"key_heads", "rms_norm", "norm_epsilon_power", "gated", "scale_embedding", "rotary_base"}) {
    CHECK_FALSE(config_of(TestType{.key_heads = 8}).contains(later));
  }
  const auto config = config_of(TestType{.key_heads = 2,
                                         .rms_norm = true,
                                         .norm_epsilon_power = -6,
                                         .gated = true,
                                         .positions = nn::Positions::rotary,
                                         .scale_embedding = false});
  CHECK(config["key_heads"] == 2);
  CHECK(config["rms_norm"] == true);
  CHECK(config["norm_epsilon_power"] == -6);
  CHECK(config["gated"] == true);
  CHECK(config["scale_embedding"] == false);
  CHECK(config["positions"] == "rotary");
  CHECK(config["rotary_base"] == 10'000);
  CHECK_FALSE(config.contains("rotary_factor"));
  const auto slowed = config_of(
      TestType{.positions = nn::Positions::rotary, .rotary = {.base = 500'000, .factor = 32}});
  CHECK(slowed["rotary_factor"] == 32);
  CHECK(slowed["rotary_slow_turns"] == 1);
  CHECK(slowed["rotary_fast_turns"] == 4);
  CHECK(slowed["rotary_first_length"] == 8'192);
}

TEST_CASE("each choice has its name") {
  const auto said = [](const char* name, const auto& value) {
    nn::TransformerShape shape;
    if constexpr (std::is_same_v<decltype(value), const ops::Activation&>) shape.activation = value;
    if constexpr (std::is_same_v<decltype(value), const nn::Positions&>) shape.positions = value;
    if constexpr (std::is_same_v<decltype(value), const nn::Tie&>) shape.tie = value;
    return config_of(shape)[name].template get<std::string>();
  };
  CHECK(said("activation", ops::Activation::identity) == "identity");
  CHECK(said("activation", ops::Activation::relu) == "relu");
  CHECK(said("activation", ops::Activation::gelu) == "gelu");
  CHECK(said("activation", ops::Activation::silu) == "silu");
  CHECK(said("positions", nn::Positions::none) == "none");
  CHECK(said("positions", nn::Positions::sinusoidal) == "sinusoidal");
  CHECK(said("positions", nn::Positions::sinusoidal_halves) == "sinusoidal_halves");
  CHECK(said("positions", nn::Positions::learned) == "learned");
  CHECK(said("positions", nn::Positions::rotary) == "rotary");
  CHECK(said("tie", nn::Tie::none) == "none");
  CHECK(said("tie", nn::Tie::target) == "target");
  CHECK(said("tie", nn::Tie::all) == "all");
}

TEST_CASE("a folder that is no model's is refused") {
  const TemporaryFolder temporary;
  const RunFolder folder(temporary.path("model"));
  const auto expect = [&] { return expect_config(folder, config_of(small)), 0; };
  CHECK(message_of<SystemError>(expect) ==
        folder.path() + " is no folder of a model: it has no config.json");
  for (const char* content : {"", "{\"heads\": ", "[1, 2]"}) {
    io::write_file(folder.config(), content);
    CHECK(message_of<FormatError>(expect) == folder.config() + ": is not a JSON object");
  }
  io::write_file(folder.config(), config_of(small).dump() + '\0' + "and more");
  CHECK(message_of<FormatError>(expect) == folder.config() + ": is not a JSON object");
  io::write_file(folder.config(), R"({"architectures": ["LlamaForCausalLM"], "heads": 4})");
  CHECK(message_of<FormatError>(expect) ==
        folder.config() +
            ": names no \"model\" of weft's; tools/convert makes such a folder of a "
            "Llama, Mistral, Qwen 2 or MarianMT of Hugging Face's");
  io::write_file(folder.config(), std::string((std::size_t{1} << 20) + 1, ' '));
  CHECK(message_of<FormatError>(expect) == folder.config() + ": holds more than 1048576 bytes");
  const std::string long_word(100'000, 'x');
  io::write_file(folder.config(), "{\"model\":\"\",\"" + long_word + "\":[]}");
  CHECK(message_of<FormatError>(expect) ==
        folder.config() + ": \"" + long_word.substr(0, 120) + "...\" is a list or an object");
  io::write_file(folder.config(), "{\"model\":\"" + long_word + "\"}");
  CHECK_THAT(message_of<FormatError>(expect),
             Catch::Contains("model is \"" + long_word.substr(0, 119) + "..., not"));
  CHECK(message_of<FormatError>(expect).size() < 10'000);
  // To write so deep a list into a message would take more stack than there is.
  const std::size_t deep = 200'000;
  io::write_file(folder.config(), "{\"model\":\"\",\"heads\":" + std::string(deep, '[') +
                                      std::string(deep, ']') + "}");
  CHECK(message_of<FormatError>(expect) == folder.config() + ": \"heads\" is a list or an object");
}

}  // namespace model_config_tests
