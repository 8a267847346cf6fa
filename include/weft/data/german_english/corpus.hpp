// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A German-English corpus that needs no download.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/data/german_english/sentences.hpp>
#include <weft/data/parallel_text.hpp>
#include <weft/data/shuffle.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace weft::data::german_english {

//! A training text and one to judge the training by, which share no German sentence.
struct SplitText {
  ParallelText training;  //!< to train on
  ParallelText held_out;  //!< to judge by
};

//! Whether a German sentence is for judging, whatever the seed: one in twenty, by its FNV-1a hash.
//!
//! So no corpus trains on what another one is judged by.
[[nodiscard]] constexpr bool is_held_out(std::string_view german) noexcept {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const char byte : german) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001B3;
  }
  return (hash >> 32) % 20 == 0;  // the low bits of FNV-1a depend on few of the letters' bits
}

//! The most pairs that generate_corpus makes.
inline constexpr index_t largest_corpus = 1'000'000;

//! Generates `count` different sentences with their translations, about 19 of 20 for training.
//!
//! The sentences are about numbers (0 to 999,999), dates, times and prices, with some two hundred
//! words a language. Word order differs as it does between the languages: units stand before tens,
//! verbs last or second, the day before the time. Each German sentence has one translation, and the
//! corpus is a function of its seed.
//!
//! **Errors.** ArgumentError unless 1 <= count <= largest_corpus.
[[nodiscard]] inline SplitText generate_corpus(std::uint64_t seed, index_t count) {
  if (count < 1 || count > largest_corpus) {
    throw ArgumentError(text("generate_corpus: ", count, " is not in 1 to ", largest_corpus));
  }
  SplitText out;
  out.training.name = text("generated German and English, seed ", seed, ", for training");
  out.held_out.name = text("generated German and English, seed ", seed, ", held out");
  SplitMix64 random(seed);
  std::unordered_set<std::string> seen;
  while (static_cast<index_t>(seen.size()) < count) {
    auto [german, english] = sentence(random);
    if (!seen.insert(german).second) continue;
    auto& side = is_held_out(german) ? out.held_out : out.training;
    side.add(static_cast<index_t>(seen.size()), std::move(german), std::move(english));
  }
  return out;
}

}  // namespace weft::data::german_english
