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
#include <type_traits>
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
       {one_by_one, std::vector<index_t>{17, 1, 1, 5, 1}, std::vector<index_t>{70, 3},
        std::vector<index_t>{4, 90}}) {
    CAPTURE(pieces);
    CHECK(cache_difference<llama>(ProductPrecision::float32, bound, pieces) == "");
    CHECK(cache_difference<post_norm>(ProductPrecision::float32, bound, pieces) == "");
  }
}

TEST_CASE("texts that are read side by side give the rows of each alone") {
  using Model = nn::LanguageModel<llama>;
  constexpr index_t texts = 3, longest = 60;
  Cpu device(2);
  const Placed placed(device, Model(29, longest));
  auto ctx = placed.evaluation(device);
  std::vector<std::vector<token_t>> words(texts);
  for (std::size_t b = 0; b < texts; ++b) {
    words[b] = text_of(longest);
    words[b][0] = static_cast<token_t>(b);  // so that no two are alike
  }
  std::vector<Matrix> whole;
  for (const auto& of_text : words) {
    const std::vector<index_t> lengths{longest};
    whole.push_back(
        matrix(placed.module
                   .forward(ctx, {to_device<token_t>(device, of_text, {longest}),
                                  make_layout(device, std::span<const index_t>(lengths))})
                   .output.values));
  }
  // The second begins later; some wait; the last reads words behind others, beyond its first room.
  const std::vector<std::vector<index_t>> rounds{{5, 0, 9},  {1, 0, 1}, {1, 13, 1}, {0, 1, 4},
                                                 {30, 1, 0}, {0, 0, 1}, {1, 1, 1},  {0, 40, 3}};
  LanguageModelCache<Model, Cpu> cache(ctx, placed.module, texts);
  CHECK(cache.texts() == texts);
  std::vector<index_t> read(texts, 0);
  for (const auto& counts : rounds) {
    CAPTURE(counts);
    std::vector<token_t> now;
    for (std::size_t b = 0; b < texts; ++b) {
      const auto first = words[b].begin() + read[b];
      now.insert(now.end(), first, first + counts[b]);
      read[b] += counts[b];
    }
    const auto rows = cache.read(ctx, now, counts);
    index_t row = 0;
    for (std::size_t b = 0; b < texts; ++b) {
      CHECK(cache.length(static_cast<index_t>(b)) == read[b]);
      if (counts[b] == 0) continue;
      const index_t n = read[b] - 1;
      const auto should = matrix(1, Model::C, [&](index_t, index_t c) { return whole[b](n, c); });
      CHECK(difference(rows.slice(row, row + 1), should, 4 * 3 * 100 * unit_roundoff) == "");
      ++row;
    }
    CHECK(rows.rows() == row);
  }
}

TEST_CASE("a cache has no copy that would write where it does") {
  using Cache = LanguageModelCache<nn::LanguageModel<llama>, Cpu>;
  CHECK_FALSE(std::is_copy_constructible_v<Cache>);
  CHECK_FALSE(std::is_copy_assignable_v<Cache>);
  CHECK(std::is_nothrow_move_constructible_v<Cache>);
  CHECK(std::is_nothrow_move_assignable_v<Cache>);
}

TEST_CASE("with rounded factors a text that is read in pieces gives the rows of the whole text") {
  // A rounding of a factor may fall to the other side: 2^-9 of it, once in a while.
  CHECK(cache_difference<llama>(ProductPrecision::bfloat16, 0x1p-6, {9, 1, 1, 1, 20, 3}) == "");
}

TEST_CASE("texts of which a word cannot be read are what they were") {
  using Model = nn::LanguageModel<post_norm>;
  constexpr index_t longest = 6;
  Cpu device;
  const Placed placed(device, Model(29, longest));
  auto ctx = placed.evaluation(device);
  LanguageModelCache<Model, Cpu> cache(ctx, placed.module, 2), other(ctx, placed.module, 2);
  const std::vector<token_t> begin{3, 1, 4}, next{5, 9};
  const std::vector<index_t> counts{2, 1}, one_each{1, 1};
  (void)cache.read(ctx, begin, counts);
  (void)other.read(ctx, begin, counts);
  const auto fault = [&](const std::vector<token_t>& words, const std::vector<index_t>& of_text) {
    return message_of<Error>([&] { return cache.read(ctx, words, of_text).size(); });
  };
  CHECK(fault({7, 8, 29}, {3, 0}) == "embedding: word 29, of row 2, is none of 0 to 28");
  CHECK(fault({7, 8, 7, 8, 7}, {5, 0}) ==
        "embedding: a sequence of 7 tokens is longer than the 6 positions");
  CHECK(cache.length(0) == 2);
  CHECK(cache.length(1) == 1);
  CHECK(difference(cache.read(ctx, next, one_each), matrix(other.read(ctx, next, one_each)), 0.0) ==
        "");
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
  CHECK(message_of<ArgumentError>([&] {
          return LanguageModelCache<Model, Cpu>(ctx, placed.module, 0).texts();
        }) == "LanguageModelCache: 0 texts");
  LanguageModelCache<Model, Cpu> two(ctx, placed.module, 2);
  const auto counted = [&](const std::vector<index_t>& counts) {
    return message_of<ArgumentError>([&] { return two.read(ctx, words, counts).size(); });
  };
  CHECK(counted({5}) == "LanguageModelCache: words of 1 texts, there are 2");
  for (const index_t none : {-1, 2}) {
    CHECK(message_of<ArgumentError>([&] { return two.length(none); }) ==
          text("LanguageModelCache: text ", none, " of 2"));
  }
  CHECK(counted({2, 2}) == "LanguageModelCache: 5 words, by their counts 4");
  CHECK(counted({6, -1}) == "LanguageModelCache: -1 words of a text");
  CHECK(fault.template operator()<ArgumentError>({}) == "LanguageModelCache: no words to read");
}

}  // namespace language_model_cache_tests
