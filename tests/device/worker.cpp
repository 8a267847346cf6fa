// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/device/worker.hpp>

#include <catch2/catch.hpp>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

#include "../message_of.hpp"
#include "../no_threads.hpp"

namespace worker_tests {

using namespace weft;

namespace {

//! Writes its number down.
struct Note {
  std::vector<int>* notes;
  int number;

  static void write(void* self) noexcept {
    const auto* note = static_cast<Note*>(self);
    note->notes->push_back(note->number);
  }
};

std::vector<Note> numbered(std::vector<int>& notes, int n) {
  std::vector<Note> tasks;
  for (int i = 0; i < n; ++i) tasks.push_back({&notes, i});
  return tasks;
}

std::vector<int> ascending(int n) {
  std::vector<int> numbers(static_cast<std::size_t>(n));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

}  // namespace

TEST_CASE("tasks run in the order of their submission, all before the worker ends") {
  std::vector<int> notes;
  auto tasks = numbered(notes, 1000);
  {
    Worker worker;
    for (Note& task : tasks) worker.submit({&Note::write, &task});
  }
  CHECK(notes == ascending(1000));
}

TEST_CASE("a slow task holds up what was submitted after it, not who submits") {
  std::vector<int> notes;
  auto tasks = numbered(notes, 3);
  const auto sleep_then_write = [](void* task) noexcept {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    Note::write(task);
  };
  {
    Worker worker;
    worker.submit({sleep_then_write, &tasks[0]});
    worker.submit({&Note::write, &tasks[1]});
    worker.submit({&Note::write, &tasks[2]});
  }
  CHECK(notes == ascending(3));
}

TEST_CASE("tasks run on one thread, which is not the caller's") {
  std::vector<std::thread::id> ids(2);
  {
    Worker worker;
    for (std::thread::id& id : ids) {
      worker.submit({[](void* to) noexcept {
                       *static_cast<std::thread::id*>(to) = std::this_thread::get_id();
                     },
                     &id});
    }
  }
  CHECK(ids[0] == ids[1]);
  CHECK(ids[0] != std::thread::id());
  CHECK(ids[0] != std::this_thread::get_id());
}

TEST_CASE("a task may submit another, which still runs before the worker ends") {
  struct Chain {
    Worker* worker;
    int left;
    static void run(void* self) noexcept {
      auto* chain = static_cast<Chain*>(self);
      if (--chain->left > 0) chain->worker->submit({&Chain::run, chain});
    }
  };
  Chain chain{nullptr, 50};
  {
    Worker worker;
    chain.worker = &worker;
    worker.submit({&Chain::run, &chain});
  }
  CHECK(chain.left == 0);
}

TEST_CASE("each of several submitting threads finds its own tasks in order") {
  std::vector<int> notes;
  std::vector<std::vector<Note>> tasks;
  for (int thread = 0; thread < 3; ++thread) {
    tasks.emplace_back();
    for (int i = 0; i < 300; ++i) tasks.back().push_back({&notes, 1000 * thread + i});
  }
  {
    Worker worker;
    std::vector<std::thread> threads;
    for (auto& own : tasks) {
      threads.emplace_back([&worker, &own] {
        for (Note& task : own) worker.submit({&Note::write, &task});
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  REQUIRE(notes.size() == 900);
  int next[3] = {};
  for (const int note : notes) CHECK(note % 1000 == next[note / 1000]++);
}

TEST_CASE("a worker without tasks ends") {
  Worker worker;
}

TEST_CASE("without a thread there is no worker, and an error says so") {
  const testing::NoThreads none;
  CHECK_THAT(testing::message_of<SystemError>([] { return Worker(), 0; }),
             Catch::StartsWith("Worker: the system gave no thread: "));
}

}  // namespace worker_tests
