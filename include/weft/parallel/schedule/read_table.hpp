// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Schedules as text, checked when they are read.
//!
//!     # Two ranks, two micro-batches, 1F1B.
//!     F0 F1 B0 B1
//!     F0 B0 F1 B1
//!
//! A line for each rank in turn, with its work in order: F forward, B backward, W weight gradients,
//! and the micro-batch. Where ranks have several stages, `F3.1` is micro-batch 3 in the rank's
//! second stage. What follows a # is a remark. With any W, backward is the input's gradient only.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/io/detail/messages.hpp>
#include <weft/parallel/schedule/action.hpp>
#include <weft/parallel/schedule/laws.hpp>
#include <weft/parallel/schedule/table.hpp>

namespace weft::parallel {

//! A table that owns what it shows, of a size known at run time.
class ReadTable {
 public:
  //! Takes the orders of all ranks. **Errors.** FormatError, with the fault, if a law is broken;
  //! `name` stands before it.
  ReadTable(const std::vector<std::vector<Action>>& orders, const std::string& name) {
    view_.ranks = static_cast<int>(orders.size());
    std::size_t actions = 0;
    for (const auto& order : orders) {
      actions += order.size();
      view_.stride = std::max(view_.stride, static_cast<int>(order.size()));
      for (const Action action : order) {
        view_.stages = std::max(view_.stages, action.stage() + 1);
        view_.micro_batches = std::max(view_.micro_batches, action.micro_batch() + 1);
        if (action.work() == Work::weight_gradients) view_.splits_backward = true;
      }
    }
    if (view_.stages == 0) throw FormatError(name + ": a schedule without any work");
    if (view_.stages % view_.ranks != 0) {
      throw FormatError(
          text(name, ": ", view_.stages, " stages on ", view_.ranks, " ranks: each needs as many"));
    }
    // Checking takes a place for each action that there may be: a slip must not ask for gigabytes.
    const index_t most_places = std::max(index_t{1'000'000}, 3 * static_cast<index_t>(actions));
    if (index_t{3} * view_.stages * view_.micro_batches > most_places) {
      throw FormatError(text(name, ": ", actions, " actions for ", view_.stages, " stages and ",
                             view_.micro_batches, " micro-batches: each of these needs several"));
    }
    // Nor must one long order, for which every rank gets room: of an order that has more actions
    // than there are for a rank, one more is enough to find the fault.
    view_.stride =
        std::min(view_.stride, 3 * (view_.stages / view_.ranks) * view_.micro_batches + 1);
    for (const auto& order : orders) {
      const int count = std::min(view_.stride, static_cast<int>(order.size()));
      counts_.push_back(count);
      actions_.insert(actions_.end(), order.begin(), order.begin() + count);
      actions_.resize(counts_.size() * static_cast<std::size_t>(view_.stride));
    }
    const TableFault fault = first_fault(view());
    if (fault.found()) throw FormatError(name + ": " + to_text(fault));
  }

  //! The table. It must not outlive this.
  [[nodiscard]] TableView view() const& {
    TableView view = view_;
    view.actions = actions_.data();
    view.counts = counts_.data();
    return view;
  }
  //! None of a temporary, which it would outlive: give what `read_table` returns a name.
  TableView view() const&& = delete;

 private:
  TableView view_;  // without the pointers
  std::vector<Action> actions_;
  std::vector<int> counts_;
};

namespace detail {

//! What lies before the first of some characters; takes it, and that one, from `rest`.
inline std::string_view take_until(std::string_view& rest, std::string_view ends) {
  const auto end = std::min(rest.find_first_of(ends), rest.size());
  const auto taken = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return taken;
}

//! "F3.1" on a rank. **Errors.** FormatError.
inline Action read_action(std::string_view word, int rank, int ranks, const std::string& where) {
  const auto refuse = [&]() -> FormatError {
    return FormatError(text(where, ": ", io::detail::in_quotes(word),
                            " is no action: F, B or W and a micro-batch, as in"
                            " F3, or F3.1 in a rank's second stage"));
  };
  const std::string_view kinds = "FBW";
  const auto kind = word.empty() ? std::string_view::npos : kinds.find(word.front());
  if (kind == std::string_view::npos) throw refuse();
  int numbers[2] = {0, 0};
  const char* at = word.data() + 1;
  const char* const end = word.data() + word.size();
  for (int i = 0; i < 2 && (i == 0 || at != end); ++i) {
    if (i == 1 && *at++ != '.') throw refuse();
    const auto [stopped, error] = std::from_chars(at, end, numbers[i]);
    if (error != std::errc{} || numbers[i] < 0) throw refuse();
    at = stopped;
  }
  const auto stage = static_cast<long long>(numbers[1]) * ranks + rank;
  if (at != end) throw refuse();
  if (numbers[0] > Action::largest || stage > Action::largest) {
    throw FormatError(text(where, ": ", io::detail::in_quotes(word),
                           ": the largest stage and micro-batch are ", Action::largest));
  }
  return {static_cast<Work>(kind), static_cast<int>(stage), numbers[0]};
}

}  // namespace detail

//! A schedule as `read_table` reads it.
[[nodiscard]] inline std::string to_text(const TableView& table) {
  std::string lines;
  for (int rank = 0; rank < table.ranks; ++rank) {
    std::string line;
    for (const Action action : table.of(rank)) {
      const int stage = action.stage() / table.ranks;  // of the rank's
      line += text(line.empty() ? "" : " ", "FBW"[static_cast<int>(action.work())],
                   action.micro_batch(), stage > 0 ? text(".", stage) : "");
    }
    lines += line + "\n";
  }
  return lines;
}

//! Reads a schedule; `name` stands in errors, as a file's does.
//!
//! **Errors.** FormatError with the line, or with the action that breaks a law.
[[nodiscard]] inline ReadTable read_table(std::string_view schedule, const std::string& name) {
  std::vector<std::pair<int, std::vector<std::string_view>>> lines;  // that have words
  for (int number = 1; !schedule.empty(); ++number) {
    std::string_view line = detail::take_until(schedule, "\n");
    line = detail::take_until(line, "#");
    std::vector<std::string_view> words;
    while (!line.empty()) {
      const auto word = detail::take_until(line, " \t\r");
      if (!word.empty()) words.push_back(word);
    }
    if (!words.empty()) lines.emplace_back(number, std::move(words));
  }
  const int ranks = static_cast<int>(lines.size());
  std::vector<std::vector<Action>> orders;
  for (const auto& [number, words] : lines) {
    const int rank = static_cast<int>(orders.size());
    auto& order = orders.emplace_back();
    for (const auto word : words) {
      order.push_back(detail::read_action(word, rank, ranks, text(name, ":", number)));
    }
  }
  return ReadTable(orders, name);
}

}  // namespace weft::parallel
