// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/data/prefetcher.hpp>

#include "../message_of.hpp"
#include "../no_threads.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace prefetcher_tests {

using namespace weft;
using namespace weft::data;
using namespace std::chrono_literals;
using weft::testing::message_of;

namespace {

//! Waits until `condition` holds; false if it does not within ten seconds.
template <class Condition>
bool eventually(Condition condition) {
  for (int tries = 0; tries < 10'000; ++tries) {
    if (condition()) return true;
    std::this_thread::sleep_for(1ms);
  }
  return false;
}

}  // namespace

TEST_CASE("items come in the order in which they are made, whatever the depth") {
  const auto depth = GENERATE(index_t{1}, index_t{2}, index_t{5});
  Prefetcher<int> prefetcher([made = 0](int& item) mutable { item = made++; }, depth);
  int item = -1;
  for (int expected = 0; expected < 1000; ++expected) {
    prefetcher.next(item);
    if (item != expected) FAIL("got " << item << " for " << expected);
  }
}

TEST_CASE("exactly the depth is made ahead, and one more for each item taken") {
  std::atomic<int> made = 0;
  Prefetcher<int> prefetcher([&](int&) { ++made; }, 3);
  CHECK(eventually([&] { return made == 3; }));
  std::this_thread::sleep_for(20ms);
  CHECK(made == 3);
  int item = 0;
  prefetcher.next(item);
  CHECK(eventually([&] { return made == 4; }));
  std::this_thread::sleep_for(20ms);
  CHECK(made == 4);
}

TEST_CASE("items are made in the memory of those given back") {
  std::set<const int*> places;  // written by the thread, read after it has ended
  {
    Prefetcher<std::unique_ptr<int>> prefetcher(
        [&](std::unique_ptr<int>& item) {
          if (!item) item = std::make_unique<int>(0);
          ++*item;
          places.insert(item.get());
        },
        2);
    std::unique_ptr<int> item;
    for (int taken = 0; taken < 100; ++taken) prefetcher.next(item);
    CHECK(*item > 10);
  }
  CHECK(places.size() == 3);  // two in the ring and the consumer's
}

TEST_CASE("what the thread throws comes after the items before it, and stays") {
  Prefetcher<int> prefetcher(
      [made = 0](int& item) mutable {
        if (made == 2) throw DataError("no third item");
        item = made++;
      },
      4);
  int item = -1;
  prefetcher.next(item);
  CHECK(item == 0);
  prefetcher.next(item);
  CHECK(item == 1);
  for (int again = 0; again < 3; ++again) {
    CHECK(message_of<DataError>([&] { prefetcher.next(item); }) == "no third item");
  }
}

TEST_CASE("a prefetcher ends at any moment: just begun, full, or failed") {
  for (int round = 0; round < 200; ++round) {
    Prefetcher<int> just_begun([](int&) {}, 2);
  }
  std::atomic<int> made = 0;
  {
    Prefetcher<int> full([&](int&) { ++made; }, 2);
    CHECK(eventually([&] { return made == 2; }));
  }
  {
    Prefetcher<int> failed(
        [&](int&) {
          ++made;
          throw DataError("failed");
        },
        2);
    CHECK(eventually([&] { return made == 3; }));
  }
}

TEST_CASE("a prefetcher that makes nothing ahead is an error") {
  CHECK(message_of<ArgumentError>([] { Prefetcher<int>([](int&) {}, 0); }) ==
        "prefetcher: its depth is 0");
}

TEST_CASE("a prefetcher that ends waits for the item under way and no more") {
  std::atomic<int> begun = 0;
  {
    const Prefetcher<int> prefetcher(
        [&](int&) {
          ++begun;
          std::this_thread::sleep_for(50ms);
        },
        8);
    CHECK(eventually([&] { return begun >= 1; }));
  }
  CHECK(begun < 8);  // the destructor may come as the second begins
}

TEST_CASE("without a thread there is no prefetcher, and an error says so") {
  const testing::NoThreads none;
  CHECK_THAT(message_of<SystemError>([] { return Prefetcher<int>([](int&) {}, 1), 0; }),
             Catch::StartsWith("prefetcher: the system gave no thread: "));
}

}  // namespace prefetcher_tests
