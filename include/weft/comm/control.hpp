// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What ranks that are processes tell each other beside their data.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <weft/comm/communicator.hpp>
#include <weft/comm/late.hpp>
#include <weft/core/text.hpp>

namespace weft::comm {

//! Who failed, and whether a rank that is waited for waits itself. How words travel is the business
//! of whoever derives; nobody answers but in a wait.
class Control {
 public:
  //! Rank `rank` of `size`, which waits for others no longer than `timeout`.
  Control(int rank, int size, Timeout timeout)
      : rank_(rank), timeout_(timeout), waits_(static_cast<std::size_t>(size), false) {}
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;
  virtual ~Control() = default;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return static_cast<int>(waits_.size()); }
  [[nodiscard]] Timeout timeout() const { return timeout_; }

  //! Whether this rank knows of a failure.
  [[nodiscard]] bool failed() const { return failure_.has_value(); }
  //! **Errors.** CommunicatorAborted, with the failure that is known.
  [[noreturn]] void raise() const { throw CommunicatorAborted(failure_->first, failure_->second); }

  //! Tells all other ranks of a failure, unless one is known already.
  void fail(int culprit, const std::string& message) {
    if (failure_) return;
    failure_ = {culprit, message};
    const std::string said = text(culprit, " ", message);
    for (int other = 0; other < size(); ++other) {
      if (other != rank_) say(other, Word::failure, said.substr(0, most_bytes));
    }
  }

  //! Calls `test()`, which makes progress, until it holds.
  //!
  //! When the timeout is over, `missed()` names the rank that is waited for. The one that is late
  //! does not answer; one that waits itself knows better who is.
  //! **Errors.** CommunicatorAborted.
  template <class Test, class Missed>
  void wait(const Purpose& purpose, const Test& test, const Missed& missed) {
    constexpr Timeout patience{1.0};  // for an answer
    constexpr int most_questions = 5;
    auto deadline = after(timeout_);
    int questions = 0, asked = -1;
    while (!test()) {
      listen(/*waiting=*/true);
      if (failed()) raise();
      if (std::chrono::steady_clock::now() < deadline || test()) continue;
      const auto [late, last_seen] = missed();
      if (late == asked && !waits_[static_cast<std::size_t>(late)]) {
        fail(late, late_text(late, purpose, timeout_, last_seen));
      } else if (questions == most_questions) {
        fail(late, text("the ranks wait for each other: rank ", rank_, " in ", to_text(purpose),
                        " for rank ", late));
      } else {
        asked = late;
        waits_[static_cast<std::size_t>(late)] = false;
        say(late, Word::question, {});
        ++questions;
        deadline = after(patience);
      }
    }
  }

  //! Reads what has come. `waiting`: this rank is in a wait and says so to whoever asks.
  virtual void listen(bool waiting) = 0;

 protected:
  //! What ranks tell each other.
  enum class Word : int { failure = 1, question = 2, answer = 3 };
  static constexpr std::size_t most_bytes = 1000;  //!< the longest text of a failure

  //! Sends a word to a rank.
  virtual void say(int to, Word word, const std::string& bytes) = 0;

  //! Takes a word that has come.
  void heard(int from, Word word, const std::string& bytes) {
    if (word == Word::question) {
      say(from, Word::answer, {});
    } else if (word == Word::answer) {
      waits_[static_cast<std::size_t>(from)] = true;
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
  static std::pair<int, std::string> read(const std::string& failure) {
    return {std::atoi(failure.c_str()), failure.substr(failure.find(' ') + 1)};
  }

  static std::chrono::steady_clock::time_point after(Timeout time) {
    return std::chrono::steady_clock::now() +
           std::chrono::duration_cast<std::chrono::steady_clock::duration>(time);
  }

  int rank_;
  Timeout timeout_;
  std::vector<bool> waits_;  // who has said so
  std::optional<std::pair<int, std::string>> failure_;
};

}  // namespace weft::comm
