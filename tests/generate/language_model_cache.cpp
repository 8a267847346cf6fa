// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/generate/language_model_cache.hpp>

#include <weft/testing/difference.hpp>
#include <weft/testing/matrix.hpp>

#include "../message_of.hpp"
#include "../placed.hpp"

#include <catch2/catch.hpp>

#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace language_model_cache_tests {

using namespace weft;
using namespace weft::testing;
using generate::LanguageModelCache;

namespace {

constexpr nn::LanguageModelShape llama{.d_model = 24,
                                       .heads = 6,
                                       .key_heads = 2,
                                       .d_ff = 20,
                                       .layers = 3,
                                       .rms_norm = true,
                                       .activation = ops::Activation::silu,
                                       .gated = true,
                                       .positions = nn::Positions::rotary};
constexpr nn::LanguageModelShape post_norm{.d_model = 24,
                                           .heads = 2,
                                           .d_ff = 20,
                                           .layers = 2,
                                           .norm = nn::Norm::post,
                                           .attention_bias = true,
                                           .positions = nn::Positions::learned};

std::vector<token_t> text_of(index_t words) {
  std::vector<token_t> text(static_cast<std::size_t>(words));
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<token_t>(i * i * 7 + 3) % 29;
  return text;
}

//! Empty if a text that is read in pieces gives the rows of a forward pass over it, else how not.
template <nn::LanguageModelShape S>
std::string cache_difference(ProductPrecision precision, double bound,
                             const std::vector<index_t>& pieces) {
  using Model = nn::LanguageModel<S>;
  Cpu device;
  device.set_product_precision(precision);
  const Placed placed(device, Model(29, 100, nn::Dropouts::everywhere(0.3f)));
  auto ctx = placed.evaluation(device);
  const auto words = text_of(std::accumulate(pieces.begin(), pieces.end(), index_t{0}));
  const std::vector<index_t> lengths{std::ssize(words)};
  const auto whole = placed.module
                         .forward(ctx, {to_device<token_t>(device, words, {std::ssize(words)}),
                                        make_layout(device, std::span<const index_t>(lengths))})
                         .output.values;
  LanguageModelCache<Model, Cpu> cache(ctx, placed.module);
  auto left = std::span<const token_t>(words);
  for (const index_t piece : pieces) {
    const auto row = cache.read(ctx, left.first(static_cast<std::size_t>(piece)));
    left = left.subspan(static_cast<std::size_t>(piece));
    const index_t n = cache.length();
    const auto wrong = difference(row, matrix(whole.slice(n - 1, n)), bound);
    if (!wrong.empty()) return text("after ", n, " words: ", wrong);
  }
  return cache.length() == std::ssize(words) ? "" : "the length is wrong";
}

}  // namespace

TEST_CASE("a text that is read in pieces gives the rows of the whole text") {
  // Rows of size 1 to 4, of three layers of some hundred roundings.
  const double bound = 4 * 3 * 100 * unit_roundoff;
  const std::vector<index_t> one_by_one(40, 1);
  for (const std::vector<index_t>& pieces :
       {one_by_one, std::vector<index_t>{17, 1, 1, 5, 1}, std::vector<index_t>{70, 3}}) {
    CAPTURE(pieces);
    CHECK(cache_difference<llama>(ProductPrecision::float32, bound, pieces) == "");
    CHECK(cache_difference<post_norm>(ProductPrecision::float32, bound, pieces) == "");
  }
}

TEST_CASE("with rounded factors a text that is read in pieces gives the rows of the whole text") {
  // A rounding of a factor may fall to the other side: 2^-9 of it, once in a while.
  CHECK(cache_difference<llama>(ProductPrecision::bfloat16, 0x1p-6, {9, 1, 1, 1, 20}) == "");
}

TEST_CASE("no words, and more than there are positions for, are refused") {
  using Model = nn::LanguageModel<post_norm>;
  Cpu device;
  const Placed placed(device, Model(29, 4));
  auto ctx = placed.evaluation(device);
  LanguageModelCache<Model, Cpu> cache(ctx, placed.module);
  const auto words = text_of(5);
  const auto fault = [&]<class Error>(std::span<const token_t> read) {
    return message_of<Error>([&] { return cache.read(ctx, read).size(); });
  };
  CHECK(fault.template operator()<ArgumentError>({}) == "LanguageModelCache: no words to read");
  CHECK(fault.template operator()<ShapeError>(words) ==
        "embedding: a sequence of 5 tokens is longer than the 4 positions");
  CHECK(cache.length() == 0);
  (void)cache.read(ctx, std::span(words).first(4));
  CHECK(fault.template operator()<ShapeError>(std::span(words).first(1)) ==
        "embedding: a sequence of 5 tokens is longer than the 4 positions");
  CHECK(cache.length() == 4);
}

}  // namespace language_model_cache_tests
