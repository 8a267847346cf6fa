// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/comm/control.hpp>

#include <catch2/catch.hpp>

#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../message_of.hpp"

namespace control_tests {

using namespace weft;
using comm::CommunicatorAborted;

namespace {

//! Rank 0 of five, which waits for rank 1. Who is asked answers as `answers` says, or not at all.
class Script final : public comm::Control {
 public:
  explicit Script(std::map<int, std::string> answers)
      : Control(0, 5, comm::Timeout(0.1)), answers_(std::move(answers)) {}

  void listen(bool) override {
    for (const auto& [from, answer] : std::exchange(coming_, {})) heard(from, Word::answer, answer);
  }

  void is_asked_by(int rank) { heard(rank, Word::question, {}); }

  //! What the wait throws.
  CommunicatorAborted wait_for_rank_1() {
    try {
      wait(
          {"backward"}, [] { return false; },
          [] { return std::pair(1, comm::Purpose{"forward"}); });
    } catch (const CommunicatorAborted& aborted) {
      return aborted;
    }
    throw std::logic_error("the wait ended without an error");
  }

  std::vector<int> asked;
  std::vector<std::pair<int, std::string>> answered;

 private:
  void say(int to, Word word, const std::string& bytes) override {
    if (word == Word::answer) answered.emplace_back(to, bytes);
    if (word != Word::question) return;
    asked.push_back(to);
    if (answers_.contains(to)) coming_.emplace_back(to, answers_[to]);
  }

  std::map<int, std::string> answers_;
  std::vector<std::pair<int, std::string>> coming_;
};

}  // namespace

TEST_CASE("who is late is found through all that wait") {
  Script control({{1, "3 forward"}, {3, "4 all_reduce of bucket 2"}});
  const auto aborted = control.wait_for_rank_1();
  CHECK(control.asked == std::vector{1, 3, 4});
  CHECK(aborted.culprit() == 4);
  CHECK(aborted.message() ==
        "rank 4 has not entered backward within 0.1 s; last seen in all_reduce of bucket 2");
}

TEST_CASE("a rank that does not answer is late") {
  Script control({});
  const auto aborted = control.wait_for_rank_1();
  CHECK(aborted.culprit() == 1);
  CHECK(aborted.message() == "rank 1 has not entered backward within 0.1 s; last seen in forward");
}

TEST_CASE("an answer that names no rank is none") {
  for (const char* answer : {"5 forward", "-1 forward", "2147483647 x", "99999999999 x", "x", ""}) {
    Script control({{1, answer}});
    CHECK(control.wait_for_rank_1().message() ==
          "rank 1 has not entered backward within 0.1 s; last seen in forward");
    CHECK(control.asked == std::vector{1});
  }
}

TEST_CASE("ranks that wait for each other are said to, whether this one is among them") {
  for (const char* last : {"0 forward", "1 forward"}) {
    Script control({{1, "2 forward"}, {2, last}});
    CHECK(control.wait_for_rank_1().message() ==
          "the ranks wait for each other: rank 0 in backward for rank 1");
    CHECK(control.asked == std::vector{1, 2});
  }
}

TEST_CASE("who asks a rank that waits hears for whom, and what was last seen of that one") {
  Script control({});
  control.is_asked_by(2);
  CHECK(control.answered.empty());  // it does not wait
  (void)control.wait_for_rank_1();
  CHECK(control.answered == std::vector<std::pair<int, std::string>>{{2, "1 forward"}});
}

}  // namespace control_tests
