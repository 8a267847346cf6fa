// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Which types a saved model is compiled from. Needs nlohmann-json.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include <nlohmann/json.hpp>

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/io/atomic_file.hpp>
#include <weft/io/detail/messages.hpp>
#include <weft/io/input_file.hpp>
#include <weft/nn/language_model.hpp>
#include <weft/nn/transformer.hpp>
#include <weft/train/run_folder.hpp>

namespace weft::train {

//! A type's choices by name. What files do not tell by shapes stands here too, such as the heads.
using ModelConfig = nlohmann::ordered_json;

namespace detail {

inline const char* name_of(nn::Norm norm) { return norm == nn::Norm::pre ? "pre" : "post"; }

inline const char* name_of(ops::Activation activation) {
  switch (activation) {
    case ops::Activation::identity:
      return "identity";
    case ops::Activation::relu:
      return "relu";
    case ops::Activation::gelu:
      return "gelu";
    case ops::Activation::silu:
      return "silu";
  }
  return "unknown";
}

inline const char* name_of(nn::Positions positions) {
  switch (positions) {
    case nn::Positions::none:
      return "none";
    case nn::Positions::sinusoidal:
      return "sinusoidal";
    case nn::Positions::sinusoidal_halves:
      return "sinusoidal_halves";
    case nn::Positions::learned:
      return "learned";
    case nn::Positions::rotary:
      return "rotary";
  }
  return "unknown";
}

inline const char* name_of(nn::Tie tie) {
  switch (tie) {
    case nn::Tie::none:
      return "none";
    case nn::Tie::target:
      return "target";
    case nn::Tie::all:
      return "all";
  }
  return "unknown";
}

//! What came later, where it is chosen: folders from before have no word for it.
template <class Shape>
void add_later_choices(ModelConfig& config, const Shape& shape) {
  if (shape.key_heads != 0 && shape.key_heads != shape.heads) config["key_heads"] = shape.key_heads;
  if (shape.rms_norm) config["rms_norm"] = true;
  if (shape.norm_epsilon_power != Shape{}.norm_epsilon_power) {
    config["norm_epsilon_power"] = shape.norm_epsilon_power;
  }
  if (shape.gated) config["gated"] = true;
  if (!shape.scale_embedding) config["scale_embedding"] = false;
  if (shape.positions == nn::Positions::rotary) {
    const nn::Rotary& rotary = shape.rotary;
    config["rotary_base"] = rotary.base;
    if (rotary.factor > 1) {
      config["rotary_factor"] = rotary.factor;
      config["rotary_slow_turns"] = rotary.slow_turns;
      config["rotary_fast_turns"] = rotary.fast_turns;
      config["rotary_first_length"] = rotary.first_length;
    }
  }
}

}  // namespace detail

//! The choices of a translator's type.
[[nodiscard]] inline ModelConfig config_of(const nn::TransformerShape& shape) {
  ModelConfig config{{"model", "weft::nn::Transformer"},
                     {"d_model", shape.d_model},
                     {"heads", shape.heads},
                     {"d_ff", shape.d_ff},
                     {"encoder_layers", shape.encoder_layers},
                     {"decoder_layers", shape.decoder_layers},
                     {"norm", detail::name_of(shape.norm)},
                     {"final_norms", shape.has_final_norms()},
                     {"attention_bias", shape.attention_bias},
                     {"generator_bias", shape.generator_bias},
                     {"activation", detail::name_of(shape.activation)},
                     {"positions", detail::name_of(shape.positions)},
                     {"tie", detail::name_of(shape.tie)}};
  detail::add_later_choices(config, shape);
  return config;
}

//! The choices of a language model's type.
[[nodiscard]] inline ModelConfig config_of(const nn::LanguageModelShape& shape) {
  ModelConfig config{{"model", "weft::nn::LanguageModel"},
                     {"d_model", shape.d_model},
                     {"heads", shape.heads},
                     {"d_ff", shape.d_ff},
                     {"layers", shape.layers},
                     {"norm", detail::name_of(shape.norm)},
                     {"attention_bias", shape.attention_bias},
                     {"generator_bias", shape.generator_bias},
                     {"activation", detail::name_of(shape.activation)},
                     {"positions", detail::name_of(shape.positions)},
                     {"tie", shape.tie}};
  detail::add_later_choices(config, shape);
  return config;
}

//! **Errors.** SystemError if the file cannot be written.
inline void save_config(const RunFolder& folder, const ModelConfig& config) {
  io::write_file(folder.config(), config.dump(2) + "\n");
}

//! **Errors.** SystemError if the folder has no configuration, and is thus no model's; FormatError
//! if it cannot be read, is none of weft's, or is not `compiled`, that of the program: the message
//! has both.
inline void expect_config(const RunFolder& folder, const ModelConfig& compiled) {
  const std::string path = folder.config();
  if (!std::filesystem::exists(path)) {
    throw SystemError(text(folder.path(), " is no folder of a model: it has no config.json"));
  }
  constexpr index_t most_bytes = index_t{1} << 20;
  const std::string json = io::read_file(path, most_bytes);
  const auto saved = ModelConfig::parse(json, nullptr, false);
  const bool has_nul = json.find('\0') != std::string::npos;  // the parser takes it for the end
  if (!saved.is_object() || has_nul) throw FormatError(text(path, ": is not a JSON object"));
  if (!saved.contains("model")) {
    throw FormatError(text(path,
                           ": names no \"model\" of weft's; tools/convert makes such a folder of "
                           "a Llama, Mistral, Qwen 2 or MarianMT of Hugging Face's"));
  }
  for (const auto& [name, value] : saved.items()) {  // deep ones could not be written, either
    if (value.is_structured()) {
      throw FormatError(text(path, ": ", io::detail::in_quotes(name), " is a list or an object"));
    }
  }
  std::string differences;
  const auto differs = [&](const std::string& name, const ModelConfig& is,
                           const ModelConfig& here) {
    differences += text(differences.empty() ? "" : ", ", io::detail::readable(name), " is ",
                        io::detail::readable(is.dump()), ", not ", here.dump());
  };
  for (const auto& [name, value] : compiled.items()) {
    const auto found = saved.find(name);
    const ModelConfig is = found == saved.end() ? ModelConfig() : *found;
    if (is != value) differs(name, is, value);
  }
  for (const auto& [name, value] : saved.items()) {
    if (!compiled.contains(name)) differs(name, value, {});
  }
  if (differences.empty()) return;
  constexpr std::size_t most_said = 4000;  // bytes
  throw FormatError(text(path, ": this program was compiled for another model: ",
                         io::detail::readable(differences, most_said), "\n  the folder's model  ",
                         io::detail::readable(saved.dump(), most_said), "\n  the program's model ",
                         compiled.dump()));
}

}  // namespace weft::train
