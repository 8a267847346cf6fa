// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A MarianMT model that tools/convert has taken from Hugging Face, ready to translate.
#pragma once

#include "../common/device.hpp"
#include "pieces.hpp"

#include <weft/core/error.hpp>
#include <weft/data/token_rows.hpp>
#include <weft/generate/beam_search.hpp>
#include <weft/generate/greedy_search.hpp>
#include <weft/generate/largest_logit.hpp>
#include <weft/io/metadata.hpp>
#include <weft/io/safetensors_file.hpp>
#include <weft/nn/context.hpp>
#include <weft/nn/criteria.hpp>
#include <weft/nn/generator.hpp>
#include <weft/nn/transformer.hpp>
#include <weft/parallel/chunked.hpp>
#include <weft/parallel/objective.hpp>
#include <weft/tensor/tensor.hpp>
#include <weft/train/device_batch.hpp>
#include <weft/train/model_config.hpp>
#include <weft/train/run_folder.hpp>
#include <weft/train/saved_model.hpp>

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <vector>

namespace marian {

//! A shape with what all MarianMT models have in common.
constexpr weft::nn::TransformerShape shape_of(weft::index_t d_model, weft::index_t heads,
                                              weft::index_t d_ff, weft::index_t layers) {
  return {.d_model = d_model,
          .heads = heads,
          .d_ff = d_ff,
          .encoder_layers = layers,
          .decoder_layers = layers,
          .norm = weft::nn::Norm::post,
          .attention_bias = true,
          .generator_bias = true,
          .activation = weft::ops::Activation::silu,
          .positions = weft::nn::Positions::sinusoidal_halves,
          .tie = weft::nn::Tie::all};
}

//! How Hugging Face's `generate` searches with this model unless it is told otherwise.
inline weft::generate::SearchSettings search_settings(const weft::io::SafetensorsFile& file) {
  const auto& metadata = file.metadata();
  const auto number = [&](const char* name) {
    return weft::io::number_in(metadata, file.path(), name);
  };
  const auto token = [&](const char* name) {
    constexpr weft::index_t most = std::numeric_limits<weft::token_t>::max();
    return static_cast<weft::token_t>(weft::io::number_in(metadata, file.path(), name, most));
  };
  weft::generate::SearchSettings settings{
      .beam = number("beam"),
      .length_penalty = weft::io::real_in(metadata, file.path(), "length_penalty"),
      .max_length_b = number("max_length") - 2,  // which counts both marks
      .bos = token("start"),
      .eos = token("end"),
      .forbidden = {},
      .renormalize = number("renormalize") != 0,
      .rules = weft::generate::Rules::transformers};
  const std::string forbidden = metadata.contains("forbidden") ? metadata.at("forbidden") : "";
  const char* const end = forbidden.data() + forbidden.size();
  for (const char* at = forbidden.data(); at < end; ++at) {  // over the space
    weft::token_t word = 0;
    const auto [stopped, error] = std::from_chars(at, end, word);
    if (error != std::errc{} || (stopped != end && *stopped != ' ')) {
      throw weft::FormatError(weft::text(file.path(), ": its metadata has \"forbidden\" \"",
                                         forbidden.substr(0, 80), "\""));
    }
    settings.forbidden.push_back(word);
    at = stopped;
  }
  return settings;
}

//! A model from a folder that `tools/convert marian-to-weft` wrote.
template <weft::nn::TransformerShape S>
class Translator {
 public:
  //! **Errors.** SystemError, FormatError: the latter too, with both, for a model of another shape.
  Translator(const std::string& folder, int threads)
      : device_(threads, /*index=*/0),
        file_(checked(folder) + "/model.safetensors"),
        objective_(model_in(file_), weft::nn::CrossEntropy()),
        pieces_(folder + "/vocab.json", objective_.model().target_vocabulary()),
        values_(weft::to_device<float>(
            device_, weft::train::read_values(file_, objective_, objective_.layout()),
            {objective_.layout().values})) {}

  [[nodiscard]] weft::generate::SearchSettings settings() const { return search_settings(file_); }

  //! Translates lines of pieces, `batch` of them at a time.
  //!
  //! **Errors.** DataError for a line of more pieces than the model has positions, its end
  //! included.
  [[nodiscard]] std::vector<std::string> translate(const std::vector<std::string>& lines,
                                                   const weft::generate::SearchSettings& settings,
                                                   weft::index_t batch) {
    weft::data::TokenRows rows;
    for (const auto& line : lines) {
      rows.append(pieces_.encode(line));
      rows.tokens.push_back(settings.eos);
      rows.end_row();
      const auto length = rows.length(rows.size() - 1);
      if (length > objective_.model().longest()) {
        throw weft::DataError(weft::text("line ", rows.size(), " has ", length - 1,
                                         " pieces and an end, the model ",
                                         objective_.model().longest(), " positions"));
      }
    }
    std::vector<std::string> translations;
    weft::nn::Context<examples::Device> ctx(device_, values_.data());
    weft::generate::LargestLogit<Generator, examples::Device> next(objective_.loss().generator);
    for (weft::index_t first = 0; first < rows.size(); first += batch) {
      const auto source =
          weft::train::to_sequences(device_, rows, {first, std::min(first + batch, rows.size())});
      if (settings.beam == 1) {  // as `generate` does
        for (const auto& tokens :
             weft::generate::greedy_search(ctx, objective_.model(), next, source, settings)) {
          translations.push_back(pieces_.decode(tokens));
        }
        continue;
      }
      for (const auto& found : weft::generate::beam_search(
               ctx, objective_.model(), objective_.loss().generator, source, settings)) {
        translations.push_back(found.empty() ? "" : pieces_.decode(found.front().tokens));
      }
    }
    return translations;
  }

 private:
  using Model = weft::nn::Transformer<S>;
  using Generator = weft::nn::Generator<S>;
  using Loss = weft::Chunked<Generator, weft::nn::CrossEntropy>;

  static std::string checked(const std::string& folder) {
    weft::train::expect_config(weft::train::RunFolder::existing(folder), weft::train::config_of(S));
    return folder;
  }

  //! A model as large as the file's.
  static Model model_in(const weft::io::SafetensorsFile& file) {
    const auto& embedding = file.tensor("source_embedding.weight");
    const auto vocabulary = embedding.shape.empty() ? 0 : embedding.shape[0];
    constexpr weft::index_t most = 65536;  // positions are a table that the file does not have
    return Model({.source_vocabulary = vocabulary,
                  .target_vocabulary = vocabulary,
                  .longest = weft::io::number_in(file.metadata(), file.path(), "longest", most)});
  }

  examples::Device device_;
  weft::io::SafetensorsFile file_;
  weft::parallel::Objective<Model, Loss> objective_;
  Pieces pieces_;
  weft::Tensor<float, examples::Device> values_;
};

}  // namespace marian
