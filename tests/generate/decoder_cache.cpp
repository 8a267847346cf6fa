// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/generate/decoder_cache.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "../message_of.hpp"
#include "random_models.hpp"

namespace decoder_cache_tests {

using namespace weft;
using namespace weft::testing;

namespace {

constexpr index_t vocabulary = 37;

//! The decoder's last row for each prefix, all positions computed anew.
template <class Searched>
std::vector<float> uncached(Cpu& device, const Searched& searched,
                            const std::vector<Words>& sources, const std::vector<Words>& prefixes) {
  auto ctx = searched.context(device);
  const nn::TranslationInput<> input{sequences(device, sources), sequences(device, prefixes)};
  const auto output = searched.model().forward(ctx, input).output;
  std::vector<float> rows;
  for (index_t b = 0; b < output.layout->sequences(); ++b) {
    const float* last = output.values.data() + (output.layout->begin(b + 1) - 1) * output.channels;
    rows.insert(rows.end(), last, last + output.channels);
  }
  return rows;
}

//! The cache of some translations of some sources, and what it should have read.
template <class Searched>
struct Replay {
  Cpu& device;
  const Searched& searched;
  std::vector<Words> sources;
  std::vector<Words> prefixes;     // of each translation
  std::vector<index_t> source_of;  // each translation
  nn::Context<Cpu> ctx = searched.context(device);
  index_t most = 3;  // fewer than some tests decode: the cache then grows a position at a time
  generate::DecoderCache<typename Searched::Model, Cpu> cache{ctx, searched.model(),
                                                              sequences(device, sources), most};

  //! Continues translations `parents`, one word each, and checks the decoder's output.
  void step(const std::vector<index_t>& parents, const Words& words) {
    std::vector<Words> next_prefixes;
    std::vector<index_t> next_source_of, counts(sources.size());
    std::vector<Words> read;
    for (std::size_t h = 0; h < parents.size(); ++h) {
      const auto parent = static_cast<std::size_t>(parents[h]);
      next_prefixes.push_back(prefixes[parent]);
      next_prefixes.back().push_back(words[h]);
      next_source_of.push_back(source_of[parent]);
      ++counts[static_cast<std::size_t>(source_of[parent])];
      read.push_back(sources[static_cast<std::size_t>(source_of[parent])]);
    }
    prefixes = next_prefixes;
    source_of = next_source_of;

    const auto length = cache.length();
    const auto is = to_host(cache.step(ctx, words, parents, counts));
    CHECK(cache.length() == length + 1);
    const auto should = uncached(device, searched, read, prefixes);
    REQUIRE(is.size() == should.size());
    // Rows are normalised last, so their numbers are about 1. On the way there are some 20
    // products of up to 48 terms and as many normalisations, each wrong by sqrt(48) * 6e-8 at
    // random: 20 * 4e-7.
    for (std::size_t i = 0; i < is.size(); ++i) {
      REQUIRE(static_cast<double>(is[i]) == Approx(static_cast<double>(should[i])).margin(8e-6));
    }
  }
};

template <class Searched>
Replay<Searched> replay(Cpu& device, const Searched& searched) {
  const auto all = random_sources(vocabulary);
  const std::vector<Words> sources{all[0], all[1], all[2]};
  return {device, searched, sources, {{}, {}, {}}, {0, 1, 2}};
}

}  // namespace

TEMPLATE_TEST_CASE("a step gives what the whole decoder gives for the last position", "", PostNorm,
                   PreNorm, FinalNorms, WithRotary) {
  Cpu device(2);
  const TestType searched(vocabulary);
  auto decoding = replay(device, searched);
  decoding.step({0, 1, 2}, {bos, bos, bos});
  decoding.step({0, 1, 2}, {5, 6, 7});
  decoding.step({0, 1, 2}, {8, 4, 36});
  decoding.step({0, 1, 2}, {9, 9, 9});
}

TEMPLATE_TEST_CASE("translations fork, change places and end, source by source", "", PostNorm,
                   PreNorm, WithRotary) {
  Cpu device(2);
  const TestType searched(vocabulary);
  auto decoding = replay(device, searched);
  decoding.step({0, 1, 2}, {bos, bos, bos});
  decoding.step({0, 0, 1, 2, 2, 2}, {5, 6, 7, 8, 9, 10});       // fork
  decoding.step({1, 0, 2, 2, 5, 3}, {11, 12, 13, 14, 15, 16});  // swap, drop, fork
  decoding.step({0, 1, 4, 5, 5, 5}, {17, 18, 19, 20, 21, 22});  // the second source has ended
  decoding.step({2, 3, 4, 5}, {23, 24, 25, 26});                // the first one too
  decoding.step({3}, {27});
}

TEST_CASE("no translation is longer than the positions") {
  Cpu device;
  const index_t longest = 4;
  const PostNorm searched(vocabulary, longest);
  Replay<PostNorm> decoding{device, searched, {{5, eos}}, {{}}, {0}};
  for (index_t t = 0; t < longest; ++t) decoding.step({0}, {bos});
  auto ctx = searched.context(device);
  const Words word{bos};
  const std::vector<index_t> parent{0}, count{1};
  CHECK(message_of<ShapeError>([&] { return decoding.cache.step(ctx, word, parent, count); }) ==
        "embedding: a sequence of 5 tokens is longer than the 4 positions");
}

}  // namespace decoder_cache_tests
