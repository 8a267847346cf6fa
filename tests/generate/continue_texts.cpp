// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/generate/continue_texts.hpp>

#include <weft/nn/generator.hpp>

#include "../message_of.hpp"
#include "../placed.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace continue_texts_tests {

using namespace weft;
using namespace weft::testing;
using generate::ContinuationSettings;
using generate::continue_texts;

namespace {

constexpr nn::LanguageModelShape shape{
    .d_model = 16, .heads = 2, .d_ff = 20, .layers = 2, .generator_bias = true};
constexpr index_t vocabulary = 29;

using Texts = std::vector<std::vector<token_t>>;

//! A model with its generator, as a module.
struct Writer {
  nn::LanguageModel<shape> model{vocabulary, 40};
  nn::LanguageModelGenerator<shape> generator{vocabulary};

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("model", self.model);
    visit("generator", self.generator);
  }
};

const Texts texts{{3, 1, 4}, {15}, {9, 2, 6, 5, 3, 5}, {8, 9}};

//! What is written behind one text, by a forward pass over all of it for each word.
std::vector<token_t> alone(nn::Context<Cpu>& ctx, const Writer& writer, std::size_t b,
                           const ContinuationSettings& settings) {
  auto words = texts[b];
  for (index_t t = 0; t < settings.most; ++t) {
    const std::vector<index_t> lengths{std::ssize(words)};
    const auto rows =
        writer.model
            .forward(ctx, {to_device<token_t>(ctx.device(), words, {lengths[0]}),
                           make_layout(ctx.device(), std::span<const index_t>(lengths))})
            .output.values;
    const auto logits =
        to_host(writer.generator.logits(ctx, rows.slice(lengths[0] - 1, lengths[0])));
    const auto random = philox({static_cast<std::uint32_t>(t), static_cast<std::uint32_t>(b), 0, 0},
                               RandomKey(settings.seed, 0));
    const token_t word = generate::sample_word(logits, settings.sampling, random[0] * 0x1p-32);
    if (word == settings.end) break;
    words.push_back(word);
  }
  return {words.begin() + std::ssize(texts[b]), words.end()};
}

}  // namespace

TEST_CASE("texts are continued side by side as each is alone") {
  Cpu device(2);
  const Placed placed(device, Writer());
  auto ctx = placed.evaluation(device);
  const auto& [model, generator] = placed.module;
  for (const ContinuationSettings& settings :
       {ContinuationSettings{.most = 20}, ContinuationSettings{.most = 1},
        ContinuationSettings{.most = 30, .sampling = {.temperature = 1.0}, .seed = 7},
        ContinuationSettings{
            .most = 30, .end = 11, .sampling = {.temperature = 2.0, .top_k = 9}, .seed = 8}}) {
    CAPTURE(settings.most, settings.sampling.temperature);
    const auto written = continue_texts(ctx, model, generator, texts, settings);
    REQUIRE(written.size() == texts.size());
    for (std::size_t b = 0; b < texts.size(); ++b) {
      CHECK(written[b] == alone(ctx, placed.module, b, settings));
    }
  }
  CHECK(
      continue_texts(ctx, model, generator, texts, {.sampling = {.temperature = 1.0}, .seed = 1}) !=
      continue_texts(ctx, model, generator, texts, {.sampling = {.temperature = 1.0}, .seed = 2}));
  CHECK(continue_texts(ctx, model, generator, texts, {.most = 0}) == Texts(texts.size()));
  CHECK(continue_texts(ctx, model, generator, Texts()).empty());
}

TEST_CASE("a text ends before the word that ends it, and the others go on") {
  Cpu device;
  const Placed placed(device, Writer());
  auto ctx = placed.evaluation(device);
  const auto& [model, generator] = placed.module;
  const auto all = continue_texts(ctx, model, generator, texts, {.most = 8});
  for (const token_t end : all[0]) {
    const auto cut = continue_texts(ctx, model, generator, texts, {.most = 8, .end = end});
    for (std::size_t b = 0; b < texts.size(); ++b) {
      CHECK(cut[b] == std::vector<token_t>(all[b].begin(), std::ranges::find(all[b], end)));
    }
  }
}

TEST_CASE("a word whose logit is minus infinity is not written") {
  Cpu device;
  Placed placed(device, Writer());
  auto ctx = placed.evaluation(device);
  const auto& [model, generator] = placed.module;
  float* const bias = placed.values.data() + generator.bias.value_offset;
  for (const double temperature : {0.0, 3.0}) {
    const ContinuationSettings settings{.most = 30, .sampling = {.temperature = temperature}};
    bias[11] = 100.0f;
    CHECK(continue_texts(ctx, model, generator, texts, settings) ==
          Texts(texts.size(), std::vector<token_t>(30, 11)));
    bias[11] = -std::numeric_limits<float>::infinity();
    for (const auto& written : continue_texts(ctx, model, generator, texts, settings)) {
      CHECK(written.size() == 30);
      CHECK(std::ranges::count(written, 11) == 0);
    }
  }
}

TEST_CASE("what cannot be continued is refused") {
  Cpu device;
  Placed placed(device, Writer());
  auto ctx = placed.evaluation(device);
  const auto& [model, generator] = placed.module;
  const auto fault = [&]<class Error>(const Texts& of, const ContinuationSettings& settings) {
    return message_of<Error>(
        [&] { return continue_texts(ctx, model, generator, of, settings).size(); });
  };
  CHECK(fault.template operator()<ArgumentError>({{1}, {}}, {}) ==
        "continue_texts: text 1 has no words");
  CHECK(fault.template operator()<ArgumentError>({{1}}, {.sampling = {.temperature = -1.0}}) ==
        "continue_texts: a temperature of -1, top_k of 0, top_p of 1");
  CHECK(fault.template operator()<ArgumentError>({{1}}, {.most = -1}) ==
        "continue_texts: at most -1 words behind a text");
  CHECK(fault.template operator()<ShapeError>({{1}, {2, 3}}, {.most = 40}) ==
        "embedding: a sequence of 41 tokens is longer than the 40 positions");
  const std::span<float> bias(placed.values.data() + generator.bias.value_offset, vocabulary);
  const auto expect_no_word = [&] {
    for (const double temperature : {0.0, 1.0}) {
      CHECK(fault.template operator()<Error>({{1}, {2, 3}},
                                             {.sampling = {.temperature = temperature}}) ==
            "continue_texts: no word behind the 1 of text 0: the model makes numbers that are not "
            "finite");
    }
  };
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const float wrong : {std::numeric_limits<float>::quiet_NaN(), infinity}) {
    for (const std::size_t word : {0, 11}) {
      CAPTURE(wrong, word);
      std::ranges::fill(bias, 0.0f);
      bias[word] = wrong;
      expect_no_word();
    }
  }
  std::ranges::fill(bias, -infinity);
  expect_no_word();
}

}  // namespace continue_texts_tests
