// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/generate/beam_search.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "../message_of.hpp"
#include "random_models.hpp"

namespace beam_search_tests {

using namespace weft;
using namespace weft::testing;
using generate::beam_search;
using generate::Hypothesis;
using generate::Rules;
using generate::SearchSettings;

namespace {

using Found = std::vector<std::vector<Hypothesis>>;

constexpr index_t vocabulary = 37;

template <class Searched>
Found search(Cpu& device, const Searched& searched, const std::vector<Words>& sources,
             const SearchSettings& settings) {
  auto ctx = searched.context(device);
  return beam_search(ctx, searched.model(), searched.generator(), sequences(device, sources),
                     settings);
}

//! The logarithms of the probabilities of the word after a prefix, if `excluded` words have none;
//! every position computed anew.
template <class Searched>
std::vector<double> next_word(Cpu& device, const Searched& searched, const Words& source,
                              const Words& prefix, const Words& excluded = {}) {
  auto ctx = searched.context(device);
  Words read{bos};
  read.insert(read.end(), prefix.begin(), prefix.end());
  const nn::TranslationInput<> input{sequences(device, {source}), sequences(device, {read})};
  const auto output = searched.model().forward(ctx, input).output;
  const index_t N = output.values.rows();
  const auto logits = to_host(searched.generator().logits(ctx, output.values.slice(N - 1, N)));
  std::vector<double> result;
  double sum = 0.0;
  for (std::size_t v = 0; v < logits.size(); ++v) {
    result.push_back(static_cast<double>(logits[v]));
    if (std::ranges::count(excluded, static_cast<token_t>(v)) > 0) {
      result[v] = -std::numeric_limits<double>::infinity();
    }
    sum += std::exp(result[v]);
  }
  for (double& value : result) value -= std::log(sum);
  return result;
}

//! A search, one source at a time, nothing cached, in double.
struct PlainSearch {
  std::vector<Hypothesis> finished;
  //! By how much the closest of two scores whose order was asked for differ.
  double closest = std::numeric_limits<double>::infinity();

  template <class Searched>
  PlainSearch(Cpu& device, const Searched& searched, const Words& source,
              const SearchSettings& settings) {
    const auto beam = static_cast<std::size_t>(settings.beam);
    const auto most_words =
        std::min(static_cast<index_t>(settings.max_length_a * static_cast<double>(source.size()) +
                                      static_cast<double>(settings.max_length_b)),
                 searched.model().longest() - 1);
    const bool fairseq = settings.rules == Rules::fairseq;
    const Words excluded = settings.renormalize ? settings.forbidden : Words{};
    const auto normalised = [&](double score, index_t length) {
      return score / std::pow(static_cast<double>(length), settings.length_penalty);
    };
    std::vector<std::pair<double, Words>> active{{0.0, {}}};
    for (index_t step = 0; !active.empty() && step <= most_words; ++step) {
      std::vector<std::tuple<double, token_t, Words>> candidates;
      for (const auto& [score, prefix] : active) {
        auto next = next_word(device, searched, source, prefix, excluded);
        if (!fairseq && step == most_words) next[static_cast<std::size_t>(settings.eos)] = 0.0;
        for (token_t word = 0; word < std::ssize(next); ++word) {
          if (std::ranges::count(settings.forbidden, word) > 0) continue;
          if (fairseq && step == 0 && word == settings.eos) continue;
          if (step == most_words && word != settings.eos) continue;
          candidates.emplace_back(score + next[static_cast<std::size_t>(word)], word, prefix);
        }
      }
      std::ranges::sort(candidates, std::greater{});
      std::vector<double> ranked;
      for (const auto& candidate : candidates) ranked.push_back(std::get<0>(candidate));
      note_gaps(ranked, 2 * beam);
      if (candidates.size() > 2 * beam) candidates.resize(2 * beam);
      active.clear();
      for (std::size_t rank = 0; rank < candidates.size(); ++rank) {
        const auto& [score, word, prefix] = candidates[rank];
        if (word != settings.eos && active.size() < beam) {
          active.emplace_back(score, prefix);
          active.back().second.push_back(word);
        } else if (word == settings.eos && rank < beam && (!fairseq || finished.size() < beam)) {
          finished.push_back({prefix, normalised(score, step + 1)});
        }
      }
      if (!fairseq) keep_best(beam);
      if (finished.size() < beam || active.empty()) continue;
      const double gain = normalised(active[0].first, step + 1) - finished.back().score;
      if (!fairseq) closest = std::min(closest, std::abs(gain));
      if (fairseq || gain <= 0.0) active.clear();
    }
    keep_best(beam);
  }

 private:
  void keep_best(std::size_t beam) {
    std::ranges::stable_sort(finished, std::greater{}, &Hypothesis::score);
    std::vector<double> ranked;
    for (const auto& hypothesis : finished) ranked.push_back(hypothesis.score);
    note_gaps(ranked, beam);
    if (finished.size() > beam) finished.resize(beam);
  }

  void note_gaps(const std::vector<double>& ranked, std::size_t ranks) {
    for (std::size_t i = 0; i < ranks && i + 1 < ranked.size(); ++i) {
      closest = std::min(closest, ranked[i] - ranked[i + 1]);
    }
  }
};

//! The decoder's rows have numbers of about 1, wrong by some 1e-5 at most (see decoder_cache.cpp);
//! a logit adds 32 of them with weights of size 1 at random, sqrt(32) * 1e-5. A score is a mean of
//! such logarithms, or for a length penalty of 0 a sum of fewer than 24.
constexpr double score_error = 6e-5;

template <class Searched>
void check_against_plain_search(const Searched& searched, const std::vector<Words>& sources,
                                const SearchSettings& settings) {
  Cpu device(2);
  const auto found = search(device, searched, sources, settings);
  REQUIRE(found.size() == sources.size());
  for (std::size_t b = 0; b < sources.size(); ++b) {
    CAPTURE(b, settings.beam, settings.length_penalty);
    const PlainSearch plain(device, searched, sources[b], settings);
    // Otherwise either order would be right.
    REQUIRE(plain.closest > 2 * score_error);
    REQUIRE(found[b].size() == plain.finished.size());
    for (std::size_t i = 0; i < found[b].size(); ++i) {
      CHECK(found[b][i].tokens == plain.finished[i].tokens);
      CHECK(found[b][i].score == Approx(plain.finished[i].score).margin(score_error));
    }
  }
}

std::size_t length_of(const Hypothesis& hypothesis) { return hypothesis.tokens.size(); }

//! A model that says each word with its probability, whatever was said before.
PostNorm memoryless(const std::vector<double>& probabilities, index_t longest = 24) {
  PostNorm searched(std::ssize(probabilities), longest);
  const auto& [weight, bias, source] = searched.generator();
  std::fill_n(searched.values.begin() + weight.value_offset, weight.size(), 0.0f);
  for (std::size_t word = 0; word < probabilities.size(); ++word) {
    searched.values[static_cast<std::size_t>(bias.value_offset) + word] =
        static_cast<float>(std::log(probabilities[word]));
  }
  return searched;
}

}  // namespace

TEMPLATE_TEST_CASE("the search with a cache finds what a plain one finds that computes all anew",
                   "", PostNorm, PreNorm) {
  const auto beam = GENERATE(as<index_t>(), 1, 2, 5);
  const TestType searched(vocabulary);
  check_against_plain_search(searched, random_sources(vocabulary),
                             {.beam = beam, .max_length_b = 10});
}

TEMPLATE_TEST_CASE("it does under other penalties and limits, and with words forbidden", "",
                   PostNorm, PreNorm) {
  const TestType searched(vocabulary);
  const auto sources = random_sources(vocabulary);
  check_against_plain_search(searched, sources,
                             {.beam = 3, .length_penalty = 0.0, .max_length_b = 6});
  check_against_plain_search(searched, sources,
                             {.beam = 2, .length_penalty = 1.7, .max_length_b = 14});
  check_against_plain_search(searched, sources,
                             {.beam = 4, .max_length_a = 0.7, .max_length_b = 1});
  check_against_plain_search(searched, sources,
                             {.beam = 3, .max_length_b = 8, .forbidden = {0, 1, 2, 5, 9, 20, 30}});
}

TEMPLATE_TEST_CASE("it does by the rules of transformers", "", PostNorm, PreNorm, FinalNorms) {
  const TestType searched(vocabulary);
  const auto sources = random_sources(vocabulary);
  for (const index_t beam : {1, 2, 4}) {
    check_against_plain_search(searched, sources,
                               {.beam = beam, .max_length_b = 10, .rules = Rules::transformers});
  }
  check_against_plain_search(searched, sources,
                             {.beam = 2,
                              .length_penalty = 0.3,
                              .max_length_b = 12,
                              .forbidden = {0, 6, 9, 20},
                              .renormalize = true,
                              .rules = Rules::transformers});
  check_against_plain_search(
      searched, sources,
      {.beam = 3, .length_penalty = 2.0, .max_length_b = 4, .rules = Rules::transformers});
}

TEMPLATE_TEST_CASE("it does with fewer words than a beam asks for", "", PostNorm, PreNorm) {
  const index_t few = 6;
  const TestType searched(few);
  check_against_plain_search(searched, random_sources(few), {.beam = 8, .max_length_b = 4});
}

TEMPLATE_TEST_CASE("the beam of one takes the most probable word each time", "", PostNorm,
                   PreNorm) {
  Cpu device;
  const TestType searched(vocabulary);
  const auto sources = random_sources(vocabulary);
  const auto found = search(device, searched, sources, {.beam = 1, .max_length_b = 12});
  for (std::size_t b = 0; b < sources.size(); ++b) {
    CAPTURE(b);
    Words words;
    double sum = 0.0;
    for (;;) {
      auto next = next_word(device, searched, sources[b], words);
      next[0] = -1e30;
      if (words.empty()) next[eos] = -1e30;
      const auto best = words.size() == 12 ? next.begin() + eos : std::ranges::max_element(next);
      sum += *best;
      if (best - next.begin() == eos) break;
      words.push_back(static_cast<token_t>(best - next.begin()));
    }
    REQUIRE(found[b].size() == 1);
    CHECK(found[b][0].tokens == words);
    CHECK(found[b][0].score ==
          Approx(sum / static_cast<double>(words.size() + 1)).margin(score_error));
  }
}

TEMPLATE_TEST_CASE("what a source becomes does not depend on its company", "", PostNorm, PreNorm) {
  Cpu device;
  const TestType searched(vocabulary);
  const auto sources = random_sources(vocabulary);
  const SearchSettings settings{.beam = 3, .max_length_b = 12};
  const auto together = search(device, searched, sources, settings);
  const auto reversed = search(device, searched, {sources.rbegin(), sources.rend()}, settings);
  for (std::size_t b = 0; b < sources.size(); ++b) {
    CAPTURE(b);
    REQUIRE(PlainSearch(device, searched, sources[b], settings).closest > 2 * score_error);
    const auto alone = search(device, searched, {sources[b]}, settings);
    for (const auto& other : {alone[0], reversed[sources.size() - 1 - b]}) {
      REQUIRE(other.size() == together[b].size());
      for (std::size_t i = 0; i < other.size(); ++i) {
        CHECK(other[i].tokens == together[b][i].tokens);
        CHECK(other[i].score == Approx(together[b][i].score).margin(score_error));
      }
    }
  }
}

TEMPLATE_TEST_CASE("any number of threads finds the same, bit for bit", "", PostNorm, PreNorm) {
  const TestType searched(vocabulary);
  const auto sources = random_sources(vocabulary);
  Cpu one(1), three(3);
  const auto found = search(one, searched, sources, {.max_length_b = 12});
  CHECK(search(three, searched, sources, {.max_length_b = 12}) == found);
}

TEMPLATE_TEST_CASE("weights that are rounded once change no bit of what rounded products find", "",
                   PostNorm, PreNorm) {
  Cpu device;
  const TestType searched(vocabulary);
  for (const index_t beam : {1, 4}) {
    const SearchSettings settings{.beam = beam};
    const std::vector<Words> sources{{4, 5, 6, eos}, {7, eos}};
    device.set_product_precision(ProductPrecision::float32);
    const auto floats = search(device, searched, sources, settings);
    for (const auto precision : {ProductPrecision::bfloat16, ProductPrecision::float16}) {
      device.set_product_precision(precision);
      const auto expected = search(device, searched, sources, settings);
      auto ctx = searched.context(device);
      ctx.round_weights(searched.objective.layout());
      CHECK(beam_search(ctx, searched.model(), searched.generator(), sequences(device, sources),
                        settings) == expected);
      CHECK_FALSE(expected == floats);
    }
  }
}

TEST_CASE("a length penalty decides between a short and a long translation") {
  Cpu device;
  // After the first word, which is no end, p(end) = 0.3 and p(4) = 0.6. With a beam of 2 the search
  // is over when "4" and "4 4" have ended: ln 0.6 + ln 0.3 = -1.715 and 2 ln 0.6 + ln 0.3 = -2.226.
  const auto searched = memoryless({0, 0, 0, 0.3, 0.6, 0.1});
  const auto found = [&](double length_penalty) {
    return search(device, searched, {{4, 5, eos}},
                  {.beam = 2, .length_penalty = length_penalty, .max_length_b = 9})[0];
  };
  const double once = std::log(0.6) + std::log(0.3), twice = once + std::log(0.6);
  const auto sums = found(0.0);
  REQUIRE(sums.size() == 2);
  CHECK(sums[0].tokens == Words{4});
  CHECK(sums[0].score == Approx(once));
  CHECK(sums[1].tokens == Words{4, 4});
  CHECK(sums[1].score == Approx(twice));

  const auto means = found(1.0);
  CHECK(means[0].tokens == Words{4, 4});
  CHECK(means[0].score == Approx(twice / 3));
  CHECK(means[1].tokens == Words{4});
  CHECK(means[1].score == Approx(once / 2));

  CHECK(found(2.0)[0].score == Approx(twice / 9));
}

TEST_CASE("by the rules of transformers a search goes on while a better translation is possible") {
  Cpu device;
  const auto searched = memoryless({0, 0, 0, 0.3, 0.6, 0.1});
  const auto found = [&](Rules rules, double length_penalty, index_t most_words) {
    return search(device, searched, {{4, eos}},
                  {.beam = 2,
                   .length_penalty = length_penalty,
                   .max_length_b = most_words,
                   .rules = rules})[0];
  };
  // Divided by their lengths, "" has ln 0.3 = -1.204, "4" has -0.857 and so on: each is better than
  // those before it, until the greatest length, whose end is free.
  const auto means = found(Rules::transformers, 1.0, 3);
  REQUIRE(means.size() == 2);
  CHECK(means[0].tokens == Words{4, 4, 4});
  CHECK(means[0].score == Approx(3 * std::log(0.6) / 4));
  CHECK(means[1].tokens == Words{4, 4});
  CHECK(means[1].score == Approx((2 * std::log(0.6) + std::log(0.3)) / 3));
  CHECK(found(Rules::fairseq, 1.0, 3)[0].tokens == Words{4, 4});

  // Undivided, "" and "4" have -1.204 and -1.715, and "4 4 4" has -1.532 without its end: where it
  // is cut off it comes second, otherwise nothing is better once "4 4 4 4" has -2.043.
  const auto cut = found(Rules::transformers, 0.0, 3), whole = found(Rules::transformers, 0.0, 9);
  for (const auto& sums : {cut, whole}) {
    REQUIRE(sums.size() == 2);
    CHECK(sums[0].tokens.empty());
    CHECK(sums[0].score == Approx(std::log(0.3)));
  }
  CHECK(cut[1].tokens == Words{4, 4, 4});
  CHECK(cut[1].score == Approx(3 * std::log(0.6)));
  CHECK(whole[1].tokens == Words{4});
  CHECK(found(Rules::fairseq, 0.0, 9)[0].tokens == Words{4});
}

namespace {

struct CountingGenerator {
  using Counted = std::remove_cvref_t<decltype(std::declval<PreNorm>().generator())>;
  const Counted& counted;
  int& calls;

  [[nodiscard]] index_t vocabulary() const { return counted.vocabulary(); }
  [[nodiscard]] Tensor<float> logits(nn::Context<Cpu>& ctx, const Tensor<float>& x) const {
    ++calls;
    return counted.logits(ctx, x);
  }
};

}  // namespace

TEST_CASE("only where the end of what is cut off counts is a step made for it") {
  Cpu device;
  const PreNorm searched(37);
  auto ctx = searched.context(device);
  for (const auto& [rules, steps] : {std::pair{Rules::transformers, 5}, {Rules::fairseq, 6}}) {
    int calls = 0;
    const auto found =
        beam_search(ctx, searched.model(), CountingGenerator{searched.generator(), calls},
                    sequences(device, {{4, 5, eos}}),
                    {.beam = 2, .max_length_b = 5, .forbidden = {0, eos}, .rules = rules});
    CHECK(found[0][0].tokens.size() == 5);
    CHECK(calls == steps);
  }
}

TEST_CASE("the probability of forbidden words may go to the others") {
  Cpu device;
  const auto searched = memoryless({0.5, 0.1, 0, 0.3, 0.06, 0.04});
  const SearchSettings settings{
      .beam = 1, .max_length_b = 9, .forbidden = {0, 1}, .renormalize = true};
  const auto found = search(device, searched, {{4, eos}}, settings)[0];
  REQUIRE(found.size() == 1);
  CHECK(found[0].tokens == Words{4});
  CHECK(found[0].score == Approx((std::log(0.06 / 0.4) + std::log(0.3 / 0.4)) / 2));
}

TEST_CASE("that forbidden words have no probability is no fault where results are looked at") {
  Cpu device;
  const ops::CheckFinite checks;
  const auto searched = memoryless({0.5, 0.1, 0.01, 0.29, 0.06, 0.04});
  CHECK_NOTHROW(search(device, searched, {{4, eos}}, {.forbidden = {0}, .renormalize = true}));
}

TEST_CASE("only what is among the best of a beam may end") {
  Cpu device;
  // After "4" the end is fourth: 0.49 for "4 4", 0.14 for "4 5" and "5 4", 0.07 for "4", 0.04 for
  // "5 5". Later it is third at best, so that a beam of 2 goes on to the greatest length.
  const auto searched = memoryless({0, 0, 0, 0.1, 0.7, 0.2});
  const auto two = search(device, searched, {{4, eos}}, {.beam = 2, .max_length_b = 5})[0];
  REQUIRE(two.size() == 2);
  CHECK(two[0].tokens == Words{4, 4, 4, 4, 4});
  CHECK(two[0].score == Approx((5 * std::log(0.7) + std::log(0.1)) / 6));
  const auto four = search(device, searched, {{4, eos}}, {.beam = 4, .max_length_b = 5})[0];
  REQUIRE(four.size() == 4);
  CHECK(std::ranges::count(four, Words{4}, &Hypothesis::tokens) == 1);
}

TEST_CASE("a greatest length ends every translation that has not ended") {
  Cpu device;
  const auto searched = memoryless({0, 0, 0, 1e-6, 0.4, 0.35, 0.25 - 1e-6}, 9);
  const std::vector<Words> sources{{4, eos}, {4, 5, 6, 4, 5, 6, 4, eos}};
  const auto words = [&](const SearchSettings& settings) {
    const auto found = search(device, searched, sources, settings);
    std::vector<std::size_t> lengths;
    for (const auto& hypotheses : found) {
      REQUIRE(hypotheses.size() == 3);
      for (const auto& hypothesis : hypotheses) {
        REQUIRE(hypothesis.tokens.size() == hypotheses[0].tokens.size());
      }
      lengths.push_back(hypotheses[0].tokens.size());
    }
    return lengths;
  };
  using Lengths = std::vector<std::size_t>;
  CHECK(words({.beam = 3, .max_length_b = 1}) == Lengths{1, 1});
  CHECK(words({.beam = 3, .max_length_b = 4}) == Lengths{4, 4});
  CHECK(words({.beam = 3, .max_length_a = 0.6, .max_length_b = 1}) == Lengths{2, 5});
  // Nine positions: that of the beginning, and eight words.
  CHECK(words({.beam = 3}) == Lengths{8, 8});
  CHECK(words({.beam = 3, .max_length_a = 1e300, .max_length_b = 1}) == Lengths{8, 8});
}

TEMPLATE_TEST_CASE("a search goes on while any of its sources has not ended", "", PostNorm,
                   PreNorm) {
  Cpu device;
  const TestType searched(vocabulary);
  const auto sources = random_sources(vocabulary);
  const SearchSettings settings{.beam = 3, .max_length_b = 20};
  std::vector<std::size_t> steps;
  for (const auto& hypotheses : search(device, searched, sources, settings)) {
    steps.push_back(std::ranges::max(hypotheses, {}, length_of).tokens.size());
  }
  // Otherwise the comparisons with the plain search would not have seen sources that end early.
  CAPTURE(steps);
  CHECK(std::ranges::min(steps) < 6);
  CHECK(std::ranges::max(steps) == 20);
  check_against_plain_search(searched, sources, settings);
}

TEMPLATE_TEST_CASE("no translation is empty or holds a forbidden word or a mark of the end", "",
                   PostNorm, PreNorm) {
  Cpu device;
  const TestType searched(vocabulary);
  const Words forbidden{0, 1, 2, 7, 8, 31};
  const auto found = search(device, searched, random_sources(vocabulary),
                            {.max_length_b = 12, .forbidden = forbidden});
  for (const auto& hypotheses : found) {
    REQUIRE(hypotheses.size() == 5);
    for (const auto& hypothesis : hypotheses) {
      CHECK_FALSE(hypothesis.tokens.empty());
      for (const token_t word : hypothesis.tokens) {
        CHECK(word != eos);
        CHECK(std::ranges::count(forbidden, word) == 0);
      }
    }
  }
}

TEST_CASE("the best words of all may be forbidden") {
  Cpu device;
  const auto searched = memoryless({0.5, 0.1, 0, 0.3, 0.06, 0.04});
  const auto found =
      search(device, searched, {{4, eos}}, {.beam = 1, .max_length_b = 9, .forbidden = {0, 1}})[0];
  REQUIRE(found.size() == 1);
  CHECK(found[0].tokens == Words{4});
  CHECK(found[0].score == Approx((std::log(0.06) + std::log(0.3)) / 2));
}

TEST_CASE("no sources have no translations") {
  Cpu device;
  CHECK(search(device, PostNorm(vocabulary), {}, {}).empty());
}

TEST_CASE("a source without words is translated too") {
  Cpu device;
  const PostNorm searched(vocabulary);
  const auto found = search(device, searched, {{eos}, {4, eos}, {}}, {.max_length_b = 5});
  REQUIRE(found.size() == 3);
  for (const auto& hypotheses : found) CHECK(hypotheses.size() == 5);
}

TEST_CASE("a model whose logits are not numbers finds nothing, and does not crash") {
  Cpu device;
  PostNorm searched(vocabulary);
  const float bad =
      GENERATE(std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity());
  searched.values[static_cast<std::size_t>(searched.generator().bias.value_offset) + 5] = bad;
  const auto found = search(device, searched, {{4, eos}, {5, eos}}, {.max_length_b = 5});
  CHECK(found == Found(2));
}

TEST_CASE("a translation that cannot end is none at the greatest length either") {
  const std::vector<float> ends{-1.0f, -HUGE_VALF, std::nanf("")};
  generate::detail::SourceSearch search{{{{5}, -2.0, 0}, {{6}, -1.0, 1}, {{7}, -1.0, 2}}, {}, 9};
  generate::detail::end_all(search, ends, {.beam = 3, .length_penalty = 0.0});
  REQUIRE(search.finished.size() == 1);
  CHECK(search.finished[0].tokens == std::vector<token_t>{5});
  CHECK(search.finished[0].score == -3.0);
}

TEST_CASE("a search that cannot be is refused with what was asked for") {
  Cpu device;
  const PostNorm searched(vocabulary), narrow(vocabulary, 1);
  const auto refusal = [&](const SearchSettings& settings, const PostNorm& model) {
    return message_of<ArgumentError>([&] { return search(device, model, {{eos}}, settings); });
  };
  CHECK(refusal({.beam = 0}, searched) ==
        "beam_search: a beam of 0 and at most 0 * length + 200 words");
  CHECK(refusal({.max_length_a = -0.5}, searched) ==
        "beam_search: a beam of 5 and at most -0.5 * length + 200 words");
  CHECK(refusal({.max_length_a = std::nan("")}, searched) ==
        "beam_search: a beam of 5 and at most nan * length + 200 words");
  CHECK(refusal({.max_length_b = 0}, searched) ==
        "beam_search: a beam of 5 and at most 0 * length + 0 words");
  CHECK(refusal({.bos = 37}, searched) ==
        "beam_search: bos 37 and eos 3 for a model of 37 words and 24 positions");
  CHECK(refusal({.eos = -1}, searched) ==
        "beam_search: bos 2 and eos -1 for a model of 37 words and 24 positions");
  CHECK(refusal({}, narrow) ==
        "beam_search: bos 2 and eos 3 for a model of 37 words and 1 positions");
}

}  // namespace beam_search_tests
