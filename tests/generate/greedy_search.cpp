// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/generate/greedy_search.hpp>

#include <weft/generate/beam_search.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <limits>
#include <type_traits>
#include <vector>

#include "../message_of.hpp"
#include "random_models.hpp"

namespace greedy_search_tests {

using namespace weft;
using namespace weft::testing;
using generate::greedy_search;
using generate::LargestLogit;
using generate::Rules;
using generate::SearchSettings;

namespace {

constexpr index_t vocabulary = 37;

template <class Searched>
std::vector<Words> search(Cpu& device, const Searched& searched, const std::vector<Words>& sources,
                          const SearchSettings& settings) {
  auto ctx = searched.context(device);
  using Generator = std::remove_cvref_t<decltype(searched.generator())>;
  LargestLogit<Generator, Cpu> next(searched.generator());
  return greedy_search(ctx, searched.model(), next, sequences(device, sources), settings);
}

template <class Searched>
std::vector<Words> beam_of_one(nn::Context<Cpu> ctx, const Searched& searched,
                               const std::vector<Words>& sources, SearchSettings settings) {
  settings.beam = 1;
  auto& device = ctx.device();
  std::vector<Words> words;
  for (const auto& found : beam_search(ctx, searched.model(), searched.generator(),
                                       sequences(device, sources), settings)) {
    words.push_back(found.at(0).tokens);
  }
  return words;
}

}  // namespace

TEST_CASE("searches drop nothing in a training pass") {
  Cpu device;
  const PreNorm searched(vocabulary, 24, 1, nn::Dropouts::everywhere(0.5f));
  nn::Gradients<Cpu> gradients(device, searched.objective.layout());
  nn::Context training(device, searched.values.data(), gradients, RandomKey(7, 8));
  const auto sources = random_sources(vocabulary);
  const SearchSettings settings{.max_length_b = 20};
  LargestLogit<nn::Generator<pre_norm_shape>, Cpu> next(searched.generator());
  CHECK(greedy_search(training, searched.model(), next, sequences(device, sources), settings) ==
        search(device, searched, sources, settings));
  CHECK(beam_of_one(training, searched, sources, settings) ==
        beam_of_one(searched.context(device), searched, sources, settings));
}

TEMPLATE_TEST_CASE("greedy search finds what a beam of one does", "", PostNorm, PreNorm, FinalNorms,
                   WithRotary) {
  Cpu device(2);
  const auto precision = GENERATE(ProductPrecision::float32, ProductPrecision::bfloat16);
  device.set_product_precision(precision);
  const TestType searched(vocabulary);
  const auto sources = random_sources(vocabulary);
  for (const SearchSettings& settings :
       {SearchSettings{}, SearchSettings{.max_length_b = 3},
        SearchSettings{.max_length_a = 0.5, .max_length_b = 1, .forbidden = {0, 5, 9}}}) {
    const auto found = search(device, searched, sources, settings);
    CHECK(found == beam_of_one(searched.context(device), searched, sources, settings));
    CHECK(std::ranges::any_of(found, [](const Words& words) { return words.size() > 1; }));
    // Rounded, nearly equal words may change places by how many rows a product has.
    if (precision != ProductPrecision::float32) continue;
    for (std::size_t b = 0; b < sources.size(); ++b) {
      CHECK(search(device, searched, {sources[b]}, settings)[0] == found[b]);
    }
  }
}

TEST_CASE("a translation may be empty by the rules of transformers only") {
  Cpu device;
  PostNorm searched(vocabulary);
  searched.values[static_cast<std::size_t>(searched.generator().bias.value_offset + eos)] = 100.0f;
  const std::vector<Words> sources{{4, 5, eos}, {6, eos}};
  CHECK(search(device, searched, sources, {.rules = Rules::transformers}) == std::vector<Words>(2));
  for (const Words& words : search(device, searched, sources, {})) CHECK(words.size() == 1);
}

TEST_CASE("no source has no translation") {
  Cpu device;
  CHECK(search(device, PostNorm(vocabulary), {}, {}).empty());
}

TEST_CASE("a model whose logits are not numbers translates to nothing, and does not crash") {
  Cpu device;
  PostNorm searched(vocabulary);
  searched.values[static_cast<std::size_t>(searched.generator().bias.value_offset) + 5] =
      GENERATE(std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity());
  CHECK(search(device, searched, {{4, eos}, {5, eos}}, {.max_length_b = 5}) ==
        std::vector<Words>(2));
}

TEST_CASE("a greedy search that cannot be is refused with what was asked for") {
  Cpu device;
  const PostNorm searched(vocabulary);
  CHECK(message_of<ArgumentError>([&] {
          return search(device, searched, {{eos}}, {.max_length_b = 0});
        }) == "greedy_search: a beam of 5 and at most 0 * length + 0 words");
  CHECK(message_of<ArgumentError>([&] { return search(device, searched, {{eos}}, {.bos = 37}); }) ==
        "greedy_search: bos 37 and eos 3 for a model of 37 words and 24 positions");
}

}  // namespace greedy_search_tests
