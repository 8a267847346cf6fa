// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file How a line becomes tokens before it is scored.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/text.hpp>
#include <weft/metrics/tokenizers/char.hpp>
#include <weft/metrics/tokenizers/none.hpp>
#include <weft/metrics/tokenizers/thirteen_a.hpp>
#include <weft/metrics/tokenizers/zh.hpp>

#include <concepts>
#include <functional>
#include <string>
#include <string_view>

namespace weft::metrics {

//! Rewrites a line so that its words are the tokens to score.
//!
//! **Semantics.** A pure function of the line; it takes any bytes.
template <class T>
concept Tokenizer = requires(const T& tokenize, std::string_view line) {
  { tokenize(line) } -> std::convertible_to<std::string>;
};

static_assert(Tokenizer<NoneTokenizer>);
static_assert(Tokenizer<CharTokenizer>);
static_assert(Tokenizer<ThirteenATokenizer>);
static_assert(Tokenizer<ZhTokenizer>);

//! A tokenizer that is chosen at run time.
using AnyTokenizer = std::function<std::string(std::string_view)>;

//! The tokenizer that sacreBLEU knows by this name.
//!
//! **Errors.** ArgumentError, with the names there are.
[[nodiscard]] inline AnyTokenizer tokenizer_named(std::string_view name) {
  if (name == NoneTokenizer::name) return NoneTokenizer();
  if (name == CharTokenizer::name) return CharTokenizer();
  if (name == ThirteenATokenizer::name) return ThirteenATokenizer();
  if (name == ZhTokenizer::name) return ZhTokenizer();
  throw ArgumentError(text("no tokenizer is named \"", name, "\"; there are none, char, 13a, zh"));
}

}  // namespace weft::metrics
