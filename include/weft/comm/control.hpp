// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What ranks that are processes tell each other beside their data.
#pragma once

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <weft/comm/communicator.hpp>
#include <weft/comm/late.hpp>
#include <weft/core/text.hpp>

namespace weft::comm {

//! Who failed, and whom a rank that is waited for waits for itself. How words travel is the
//! business of whoever derives; nobody answers but in a wait.
class Control {
 public:
  //! Rank `rank` of `size`, which waits for others no longer than `timeout`.
  Control(int rank, int size, Timeout timeout)
      : rank_(rank), timeout_(timeout), answers_(static_cast<std::size_t>(size)) {}
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;
  virtual ~Control() = default;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return static_cast<int>(answers_.size()); }
  [[nodiscard]] Timeout timeout() const { return timeout_; }

  //! Whether this rank knows of a failure.
  [[nodiscard]] bool failed() const { return failure_.has_value(); }
  //! **Errors.** CommunicatorAborted, with the failure that is known.
  [[noreturn]] void raise() const { throw CommunicatorAborted(failure_->first, failure_->second); }

  //! Tells all other ranks of a failure, unless one is known already.
  void fail(int culprit, const std::string& message) {
    if (failure_) return;
    failure_ = {culprit, message};
    for (int other = 0; other < size(); ++other) {
      if (other != rank_) say(other, Word::failure, joined(*failure_));
    }
  }

  //! Calls `test()`, which makes progress, until it holds.
  //!
  //! `missed()` is the rank that is waited for, and what was last seen of it. When the timeout is
  //! over, that one is asked whom it waits for itself, and so on: the one that is late does not
  //! answer.
  //! **Errors.** CommunicatorAborted.
  template <class Test, class Missed>
  void wait(const Purpose& purpose, const Test& test, const Missed& missed) {
    constexpr Timeout patience{1.0};  // for an answer
    const auto waits_for = [&]() -> RankAndText {
      const auto [rank, last_seen] = missed();
      return {rank, to_text(last_seen)};
    };
    auto deadline = moment_after(timeout_);
    std::vector<int> asked;  // in turn
    std::string last_seen;   // of the last of them
    while (!test()) {
      listen(/*waiting=*/true);
      if (failed()) raise();
      if (test()) return;
      for (const int asker : std::exchange(askers_, {})) {
        say(asker, Word::answer, joined(waits_for()));
      }
      const bool answered = !asked.empty() && answer_of(asked.back());
      if (!answered && std::chrono::steady_clock::now() < deadline) continue;
      const std::optional<RankAndText> next =
          asked.empty() ? waits_for() : std::exchange(answer_of(asked.back()), {});
      if (!next) {
        fail(asked.back(), late_text(asked.back(), purpose, timeout_, last_seen));
      } else if (next->first == rank_ || std::ranges::count(asked, next->first) > 0) {
        fail(asked.front(), text("the ranks wait for each other: rank ", rank_, " in ",
                                 to_text(purpose), " for rank ", asked.front()));
      } else {
        asked.push_back(next->first);
        last_seen = next->second;
        answer_of(asked.back()) = {};
        say(asked.back(), Word::question, {});
        deadline = moment_after(patience);
      }
    }
  }

  //! Reads what has come. `waiting`: this rank has nothing else to do than to wait for it.
  virtual void listen(bool waiting) = 0;

 protected:
  //! What ranks tell each other.
  enum class Word : int { failure = 1, question = 2, answer = 3 };
  static constexpr std::size_t most_bytes = 1000;  //!< the longest text of a word

  //! Sends a word to a rank.
  virtual void say(int to, Word word, const std::string& bytes) = 0;

  //! Takes a word that has come.
  void heard(int from, Word word, const std::string& bytes) {
    if (word == Word::question) {
      askers_.push_back(from);  // to be answered in a wait
    } else if (word == Word::answer) {
      auto answer = read(bytes);
      const bool is_rank = 0 <= answer.first && answer.first < size();
      if (is_rank) answer_of(from) = std::move(answer);  // else it is damaged, and answers nothing
    } else if (!failure_) {
      failure_ = read(bytes);
    }
  }

  //! Tells all others of the failure that this rank has heard of.
  void pass_on(const std::string& failure) {
    const auto [culprit, message] = read(failure);
    fail(culprit, message);
  }

 private:
  //! A rank, and what is said of it.
  using RankAndText = std::pair<int, std::string>;

  static std::string joined(const RankAndText& said) {
    return text(said.first, " ", said.second).substr(0, most_bytes);
  }
  static RankAndText read(const std::string& joined) {
    constexpr int nobody = -1;
    int rank = nobody;
    std::from_chars(joined.data(), joined.data() + joined.size(), rank);
    return {rank, joined.substr(joined.find(' ') + 1)};
  }

  std::optional<RankAndText>& answer_of(int rank) {
    return answers_[static_cast<std::size_t>(rank)];
  }

  int rank_;
  Timeout timeout_;
  std::vector<int> askers_;                          // who has asked and has no answer
  std::vector<std::optional<RankAndText>> answers_;  // whom each waits for, once it has said so
  std::optional<RankAndText> failure_;
};

}  // namespace weft::comm
