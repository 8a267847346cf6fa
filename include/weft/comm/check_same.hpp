// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Whether all ranks are about to do the same.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/comm/collectives.hpp>
#include <weft/comm/communicator.hpp>
#include <weft/core/error.hpp>
#include <weft/core/index.hpp>

namespace weft::comm {

//! Thrown on every rank if ranks differ in what has to be the same.
class RanksDiffer : public Error {
 public:
  explicit RanksDiffer(const std::string& message, Place where = Place::here())
      : Error(message, where) {}
};

//! What has to be the same on all ranks: names and values, without tabs and line feeds.
using Facts = std::vector<std::pair<std::string, std::string>>;

namespace detail {

inline std::string written(const Facts& facts) {
  std::string result;
  for (const auto& [name, value] : facts) result += name + "\t" + value + "\n";
  return result;
}

inline Facts read_facts(std::string_view lines) {
  Facts facts;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    const std::size_t tab = line.find('\t');
    facts.emplace_back(line.substr(0, tab), line.substr(tab + 1));
    lines.remove_prefix(line.size() + 1);
  }
  return facts;
}

//! The first fact that differs, in words, or "".
inline std::string difference(const Facts& a, int rank_a, const Facts& b, int rank_b) {
  const auto said = [](const Facts& facts, std::size_t i) {
    return i < facts.size() ? text(facts[i].first, " ", facts[i].second) : "nothing more";
  };
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    if (i < a.size() && i < b.size() && a[i] == b[i]) continue;
    return text("rank ", rank_a, " has ", said(a, i), ", rank ", rank_b, " has ", said(b, i));
  }
  return "";
}

}  // namespace detail

//! Returns if all ranks have the same facts. All ranks call it.
//!
//! **Errors.** RanksDiffer on every rank, with the first fact in which the first rank that differs
//! from rank 0 does.
template <Communicator C>
void check_same(C& communicator, const Facts& facts, const Purpose& purpose = {"a comparison"}) {
  std::string mine = detail::written(facts);
  const auto size = static_cast<index_t>(mine.size());
  const auto sizes = all_gather(communicator, std::span(&size, 1), purpose);
  const index_t longest = *std::ranges::max_element(sizes);
  if (longest == 0) return;
  mine.resize(static_cast<std::size_t>(longest));
  const auto all = all_gather(communicator, std::span<const char>(mine), purpose);
  const auto facts_of = [&](int rank) {
    return detail::read_facts({all.data() + rank * longest,
                               static_cast<std::size_t>(sizes[static_cast<std::size_t>(rank)])});
  };
  const Facts first = facts_of(0);
  for (int rank = 1; rank < communicator.size(); ++rank) {
    const std::string different = detail::difference(first, 0, facts_of(rank), rank);
    if (!different.empty()) throw RanksDiffer("the ranks differ: " + different);
  }
}

}  // namespace weft::comm
