// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/device/team.hpp>

#include <catch2/catch.hpp>
#include <chrono>
#include <set>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "../message_of.hpp"

namespace team_tests {

using namespace weft;
using weft::testing::message_of;

namespace {

std::string what_of(Team& team, auto f) {
  try {
    team.run(f);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "(nothing)";
}

}  // namespace

TEST_CASE("every member runs the function once, each on a thread of its own") {
  for (const int size : {1, 2, 3, 8}) {
    Team team(size);
    CHECK(team.size() == size);
    std::vector<int> calls(static_cast<std::size_t>(size), 0);
    std::vector<std::thread::id> ids(calls.size());
    for (int round = 1; round <= 3; ++round) {
      team.run([&](int member) {
        ++calls[static_cast<std::size_t>(member)];
        ids[static_cast<std::size_t>(member)] = std::this_thread::get_id();
      });
      CHECK(calls == std::vector<int>(calls.size(), round));
      CHECK(ids[0] == std::this_thread::get_id());
      CHECK(std::set(ids.begin(), ids.end()).size() == ids.size());
    }
  }
}

TEST_CASE("the first members of a team run a function of their own") {
  Team team(4);
  for (const int members : {1, 2, 3, 4, 1}) {
    std::vector<int> calls(4, 0);
    team.run(members, [&](int member) { ++calls[static_cast<std::size_t>(member)]; });
    for (int member = 0; member < 4; ++member) {
      CAPTURE(members, member);
      CHECK(calls[static_cast<std::size_t>(member)] == (member < members ? 1 : 0));
    }
  }
}

TEST_CASE("what one round writes, all members read in the next") {
  Team team(3);
  std::vector<int> values{0, 0, 0};
  std::vector<int> sums{0, 0, 0};
  for (int round = 1; round <= 500; ++round) {
    team.run([&](int member) { values[static_cast<std::size_t>(member)] = round; });
    team.run([&](int member) {
      sums[static_cast<std::size_t>(member)] += values[0] + values[1] + values[2];
    });
  }
  CHECK(sums == std::vector<int>(3, 3 * 500 * 501 / 2));
}

TEST_CASE("members that fell asleep wake up") {
  Team team(3);
  int calls[3] = {};
  for (int round = 1; round <= 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    team.run([&](int member) {
      if (member == round % 3) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      ++calls[member];
    });
  }
  CHECK((calls[0] == 5 && calls[1] == 5 && calls[2] == 5));
}

TEST_CASE("the exception of the lowest member is rethrown, after all have ended") {
  Team team(4);
  std::vector<int> ended(4, 0);
  const auto fail_from = [&](int lowest) {
    return [&ended, lowest](int member) {
      // The lowest is the last to fail.
      std::this_thread::sleep_for(std::chrono::milliseconds(2 * (4 - member)));
      ended[static_cast<std::size_t>(member)] += 1;
      if (member >= lowest) throw std::runtime_error(text("member ", member));
    };
  };
  CHECK(what_of(team, fail_from(0)) == "member 0");
  CHECK(what_of(team, fail_from(2)) == "member 2");
  CHECK(what_of(team, fail_from(3)) == "member 3");
  CHECK(what_of(team, fail_from(4)) == "(nothing)");  // nothing stays from the rounds before
  CHECK(ended == std::vector<int>(4, 4));
}

TEST_CASE("a team that runs a function refuses another, and goes on") {
  Team team(2);
  std::string refused;
  int calls[2] = {};
  team.run([&](int member) {
    ++calls[member];
    if (member == 0) {
      std::thread([&] {
        refused = message_of<Error>([&] { return team.run([](int) {}), 0; });
      }).join();
    }
  });
  CHECK(refused ==
        "Team: a device's threads are asked to run two functions at once: ranks that are threads "
        "have a device each");
  team.run([&](int member) { ++calls[member]; });
  CHECK((calls[0] == 2 && calls[1] == 2));
}

TEST_CASE("a team of one passes exceptions on and goes on") {
  Team team(1);
  CHECK(what_of(team, [](int) { throw std::runtime_error("alone"); }) == "alone");
  CHECK(what_of(team, [](int) {}) == "(nothing)");
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they need the memory
TEST_CASE("threads that the system does not give are an error, and end no program") {
  // In a process of its own, which may have 1 GiB of addresses: some hundred stacks.
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{rlim_t{1} << 30, rlim_t{1} << 30};
    setrlimit(RLIMIT_AS, &limit);
    const std::string message = message_of<SystemError>([] { return Team(5000).size(); });
    _exit(message.starts_with("Team: the system gave ") &&
                  message.find(" of the 4999 threads besides the caller's: ") != std::string::npos
              ? 0
              : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
}
#endif

TEST_CASE("a team needs at least one thread") {
  CHECK(message_of<ArgumentError>([] { return Team(0).size(); }) ==
        "Team: needs at least one thread, not 0");
  CHECK(message_of<ArgumentError>([] { return Team(-3).size(); }) ==
        "Team: needs at least one thread, not -3");
}

}  // namespace team_tests
