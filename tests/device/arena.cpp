// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/device/arena.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <weft/device/host_memory.hpp>

#include "../message_of.hpp"

namespace arena_tests {

using namespace weft;
using weft::testing::message_of;

namespace {

constexpr index_t mebibyte = index_t{1} << 20;

struct Piece {
  Memory memory;
  index_t size;
  unsigned char mark;
};

Piece take(Arena& arena, index_t size, unsigned char mark) {
  Memory memory = arena.allocate(size);
  std::memset(memory.data(), mark, static_cast<std::size_t>(size));
  return {std::move(memory), size, mark};
}

bool is_intact(const Piece& piece) {
  return std::all_of(piece.memory.data(), piece.memory.data() + piece.size,
                     [&](std::byte byte) { return byte == std::byte{piece.mark}; });
}

}  // namespace

TEST_CASE("blocks are aligned and do not overlap") {
  Arena arena;
  std::vector<Piece> pieces;
  unsigned char mark = 0;
  for (const index_t size : {1, 63, 64, 65, 127, 4096, 100000, 1, 0, 64}) {
    pieces.push_back(take(arena, size, ++mark));
    CHECK(reinterpret_cast<std::uintptr_t>(pieces.back().memory.data()) % 64 == 0);
  }
  for (const Piece& piece : pieces) CHECK(is_intact(piece));
}

TEST_CASE("blocks of no bytes are different blocks") {
  Arena arena;
  const Memory first = arena.allocate(0), second = arena.allocate(0);
  CHECK(first.data() != second.data());
}

TEST_CASE("memory is given back with the last of its copies") {
  Arena arena;
  Memory first = arena.allocate(100);
  Memory second = first;
  CHECK(second.data() == first.data());
  first = {};
  CHECK(first.data() == nullptr);
  CHECK(arena.statistics().live > 0);
  const Memory third = std::move(second);
  CHECK(second.empty());
  CHECK(arena.statistics().live > 0);
  const auto drop = [](Memory) {};
  drop(third);
  CHECK(arena.statistics().live > 0);
  second = third;
  Memory& same = second;
  second = same;
  CHECK(second.data() == third.data());
}

TEST_CASE("memory given back is handed out again, without asking the system") {
  Arena arena;
  const std::byte* first = arena.allocate(5 * mebibyte).data();  // and given back
  CHECK(arena.allocate(5 * mebibyte).data() == first);
  CHECK(arena.statistics().system_requests == 1);
}

TEST_CASE("free neighbours are joined, in whatever order they become free") {
  std::array<std::size_t, 4> order{0, 1, 2, 3};
  do {
    Arena arena;
    std::array<Memory, 4> blocks;
    for (Memory& block : blocks) block = arena.allocate(3 * mebibyte);
    const std::byte* first = blocks[0].data();
    for (const std::size_t i : order) blocks[i] = {};
    const index_t requests = arena.statistics().system_requests;
    CHECK(arena.allocate(12 * mebibyte).data() == first);  // only all four can hold it
    CHECK(arena.statistics().system_requests == requests);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("the smallest free block that fits is taken") {
  Arena arena;
  Memory large = arena.allocate(90000);
  const Memory between = arena.allocate(64);
  Memory small = arena.allocate(70000);  // in the same bin as the large one
  const Memory after = arena.allocate(64);
  const std::byte* const at_large = large.data();
  const std::byte* const at_small = small.data();
  for (const bool small_first : {true, false}) {
    (small_first ? small : large) = {};
    (small_first ? large : small) = {};
    small = arena.allocate(69000);
    large = arena.allocate(80000);
    CHECK(small.data() == at_small);
    CHECK(large.data() == at_large);
  }
}

TEST_CASE("the bytes of a large block are reused by smaller ones") {
  Arena arena;
  Memory block = arena.allocate(40 * mebibyte);
  CHECK(arena.statistics().held == 40 * mebibyte);
  block = {};
  std::array<Memory, 4> parts;
  for (Memory& part : parts) part = arena.allocate(9 * mebibyte);
  CHECK(arena.statistics().system_requests == 1);
}

TEST_CASE("a large block takes what is free at the end, and asks for no more than is missing") {
  Arena arena;
  const Memory first = arena.allocate(6 * mebibyte);
  Memory last = arena.allocate(4 * mebibyte);
  CHECK(arena.statistics().held == 10 * mebibyte);
  const std::byte* const at_last = last.data();
  CHECK(at_last == first.data() + 6 * mebibyte);
  last = {};
  last = arena.allocate(7 * mebibyte);
  CHECK(last.data() == at_last);
  CHECK(arena.statistics().held == 14 * mebibyte);  // the system's pages are of 2 MiB
  const Memory behind = arena.allocate(2 * mebibyte);
  CHECK(behind.data() == at_last + 7 * mebibyte);
  CHECK(arena.statistics().held == 16 * mebibyte);
  std::memset(last.data(), 1, std::size_t{7} * mebibyte);
  std::memset(behind.data(), 2, std::size_t{2} * mebibyte);
}

TEST_CASE("where addresses are limited, none are reserved ahead") {
  rlimit limit{};
  REQUIRE(getrlimit(RLIMIT_AS, &limit) == 0);
  const rlim_t before = std::exchange(limit.rlim_cur, std::min(limit.rlim_max, rlim_t{1} << 60));
  REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
  {
    const Segment segment = HostMemory::request(3 * mebibyte);
    CHECK(segment.size == 16 * mebibyte);  // what is left would be lost to others
    CHECK(segment.room == 16 * mebibyte);
    HostMemory::give_back(segment);
    Arena arena;
    std::vector<Piece> pieces;
    for (unsigned char i = 1; i < 30; ++i) pieces.push_back(take(arena, mebibyte, i));
    for (const Piece& piece : pieces) CHECK(is_intact(piece));
    CHECK(arena.statistics().held == 32 * mebibyte);
  }
  limit.rlim_cur = before;
  REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
}

#ifndef __SANITIZE_THREAD__  // which asks the system for memory of its own whenever a range is
                             // taken
TEST_CASE("what the system refuses changes no segment") {
  rlimit limit{};
  REQUIRE(getrlimit(RLIMIT_DATA, &limit) == 0);
  Segment segment = HostMemory::request(mebibyte);
  REQUIRE(segment.data != nullptr);
  const Segment before = segment;
  rlimit none{1, limit.rlim_max};  // of 0 the system makes an exception
  REQUIRE(setrlimit(RLIMIT_DATA, &none) == 0);
  const bool grew = HostMemory::grow(segment, mebibyte);
  const Segment another = HostMemory::request(mebibyte);
  REQUIRE(setrlimit(RLIMIT_DATA, &limit) == 0);
  CHECK_FALSE(grew);
  CHECK(another.data == nullptr);
  CHECK(segment.size == before.size);
  std::memset(segment.data, 1, static_cast<std::size_t>(segment.size));
  CHECK(HostMemory::grow(segment, mebibyte));
  HostMemory::give_back(segment);
}
#endif

TEST_CASE("a segment that cannot grow is followed by another") {
  static bool grows;
  grows = true;
  Arena arena(
      {64,
       [](index_t bytes) {
         void* data = ::operator new (static_cast<std::size_t>(4 * bytes), std::align_val_t{64});
         return Segment{static_cast<std::byte*>(data), bytes, 4 * bytes};
       },
       [](const Segment& segment) { ::operator delete (segment.data, std::align_val_t{64}); },
       [](Segment& segment, index_t bytes) {
         if (grows) segment.size += bytes;
         return grows;
       }});
  {
    const Memory first = arena.allocate(640), second = arena.allocate(1280);
    CHECK(second.data() == first.data() + 640);
    const Memory third = arena.allocate(1280);  // three times 640 of four are taken
    CHECK(third.data() != second.data() + 1280);
    CHECK(arena.statistics().held == 640 + 1280 + 1280);
    grows = false;
    const Memory fourth = arena.allocate(1280);
    CHECK(fourth.data() != third.data() + 1280);
    grows = true;
    const Memory fifth = arena.allocate(64);
    CHECK(fifth.data() == fourth.data() + 1280);
    CHECK(arena.statistics().system_requests == 5);
  }
  CHECK(arena.statistics().live == 0);
  const Memory all = arena.allocate(1344);  // what the last segment has now
  CHECK(arena.statistics().system_requests == 5);
}

TEST_CASE("a free end that cannot grow stays what it was") {
  static bool grows;
  grows = false;
  static std::array<std::byte, 4096> bytes[2];
  static std::size_t taken;
  taken = 0;
  Arena arena({64,
               [](index_t size) {
                 return Segment{bytes[taken++].data(), size, 4096};
               },
               [](const Segment&) {},
               [](Segment& segment, index_t more) {
                 if (grows) segment.size += more;
                 return grows;
               }});
  const Memory first = arena.allocate(64);
  grows = true;
  Memory end = arena.allocate(640);
  grows = false;
  const std::byte* const at_end = end.data();
  end = {};
  const Memory larger = arena.allocate(1280);
  CHECK(larger.data() == bytes[1].data());
  end = arena.allocate(640);
  CHECK(end.data() == at_end);
  CHECK(arena.statistics().held == 64 + 640 + 1280);
}

TEST_CASE("what is held stays near the peak under ever other shapes") {
  // Tensors of 60 batches of sentences: every round has sizes that no round had before, some of
  // them outlive it, and they are dropped in another order than they were made in.
  Arena arena;
  std::mt19937 random(1);
  const auto below = [&](std::uint32_t n) { return static_cast<index_t>(random() % n); };
  std::vector<Memory> survivors;
  index_t requests_when_warm = 0;
  for (int round = 0; round < 300; ++round) {
    const index_t tokens = 500 + below(500);
    std::vector<Memory> blocks = std::exchange(survivors, {});
    for (int i = 0; i < 60; ++i) blocks.push_back(arena.allocate(tokens * 4 * (1 + below(500))));
    std::shuffle(blocks.begin(), blocks.end(), random);
    survivors.assign(blocks.begin(), blocks.begin() + 5);
    if (round == 99) requests_when_warm = arena.statistics().system_requests;
  }
  const ArenaStatistics statistics = arena.statistics();
  CHECK(statistics.held < statistics.peak * 5 / 4);
  CHECK(statistics.system_requests <= requests_when_warm + 1);
}

TEST_CASE("statistics tell what is live, what was, and what is held") {
  Arena arena;
  CHECK(arena.statistics().held == 0);
  Memory a = arena.allocate(1000);
  const index_t one = arena.statistics().live;
  CHECK((one >= 1000 && one < 1000 + 256));
  Memory b = arena.allocate(1000);
  CHECK(arena.statistics().live == 2 * one);
  a = {};
  CHECK(arena.statistics().live == one);
  CHECK(arena.statistics().peak == 2 * one);
  arena.reset_peak();
  CHECK(arena.statistics().peak == one);
  b = {};
  CHECK(arena.statistics().live == 0);
  CHECK(arena.statistics().held == 2 * mebibyte);
  CHECK(arena.statistics().system_requests == 1);
}

TEST_CASE("blocks may be taken and given back on any thread") {
  Arena arena;
  constexpr int threads = 4;
  std::array<bool, threads> intact{};
  std::array<std::vector<Piece>, threads> left;
  const auto run_all = [&](auto f) {
    std::vector<std::thread> running;
    for (std::size_t t = 0; t < threads; ++t) running.emplace_back(f, t);
    for (std::thread& thread : running) thread.join();
  };
  run_all([&](std::size_t t) {
    std::mt19937 random(static_cast<std::uint32_t>(t));
    bool good = true;
    for (int i = 0; i < 2000; ++i) {
      left[t].push_back(take(arena, static_cast<index_t>(random() % 3000),
                             static_cast<unsigned char>(16 * t + 1)));
      if (left[t].size() < 20) continue;
      std::swap(left[t].back(), left[t][random() % left[t].size()]);
      good = good && is_intact(left[t].back());
      left[t].pop_back();
    }
    intact[t] = good;
  });
  run_all([&](std::size_t t) {  // what another thread took
    left[(t + 1) % threads].clear();
  });
  CHECK(intact == std::array<bool, threads>{true, true, true, true});
  CHECK(arena.statistics().live == 0);
}

TEST_CASE("memory that the system does not have is an error that says so, and no more") {
  Arena arena;
  const Memory some = arena.allocate(1000);
  const index_t held = arena.statistics().held;
  const std::string message =
      message_of<SystemError>([&] { return arena.allocate(index_t{1} << 60); });
  CHECK(message.starts_with("out of memory: asked the system for 1152921504606"));
  CHECK(message.find(" while holding 2097152, of which ") != std::string::npos);
  CHECK(arena.statistics().held == held);
  CHECK(!arena.allocate(1000).empty());
}

TEST_CASE("where the system has no more, free segments go back before memory is refused") {
  static int segments;
  segments = 2;
  Arena arena({64,
               [](index_t bytes) -> Segment {
                 if (segments == 0) return {};
                 --segments;
                 void* data =
                     ::operator new (static_cast<std::size_t>(bytes), std::align_val_t{64});
                 return {static_cast<std::byte*>(data), bytes, bytes};
               },
               [](const Segment& segment) {
                 ++segments;
                 ::operator delete (segment.data, std::align_val_t{64});
               }});
  {
    const Memory first = arena.allocate(16 * mebibyte), second = arena.allocate(16 * mebibyte);
    CHECK_THROWS_AS(arena.allocate(mebibyte), SystemError);
  }
  CHECK(arena.statistics().held == 32 * mebibyte);
  const Memory larger = arena.allocate(20 * mebibyte);
  CHECK(arena.statistics().held == 20 * mebibyte);
}

TEST_CASE("what is live is counted by what it is for") {
  Arena arena;
  const auto kept = [&](MemoryKind kind) {
    return arena.statistics().kept[static_cast<std::size_t>(kind)];
  };
  const Memory activations = arena.allocate(640);
  {
    const Memory parameters = arena.allocate(1000);  // 1024 with what aligns the next
    parameters.mark(MemoryKind::parameters);
    const Memory gradients = arena.allocate(64), copy = gradients;
    copy.mark(MemoryKind::gradients);
    CHECK(kept(MemoryKind::parameters) == 1024);
    CHECK(kept(MemoryKind::gradients) == 64);
    gradients.mark(MemoryKind::optimizer);
    CHECK(kept(MemoryKind::gradients) == 0);
    CHECK(kept(MemoryKind::optimizer) == 64);
  }
  CHECK(arena.statistics().live == 640);
  CHECK(kept(MemoryKind::parameters) == 0);
  CHECK(kept(MemoryKind::optimizer) == 0);
  const Memory again = arena.allocate(1000);  // a block that was marked before
  CHECK(kept(MemoryKind::parameters) == 0);
}

namespace {

//! Segments of what is asked for, as a GPU's are.
constexpr MemorySource without_room{
    64,
    [](index_t bytes) {
      void* data = ::operator new (static_cast<std::size_t>(bytes), std::align_val_t{64});
      return Segment{static_cast<std::byte*>(data), bytes, bytes};
    },
    [](const Segment& segment) { ::operator delete (segment.data, std::align_val_t{64}); }};

//! An array that grew from 1 MiB to `most`, a MiB at a time, to another place each time.
Memory grown_array(Arena& arena, index_t most) {
  Memory array = arena.allocate(mebibyte);
  for (index_t size = 2; size <= most; ++size) array = arena.allocate(size * mebibyte);
  CHECK(arena.statistics().live == most * mebibyte);
  CHECK(arena.statistics().peak == (2 * most - 1) * mebibyte);
  return array;
}

}  // namespace

TEST_CASE("arrays that grow do not leave their old places behind") {
  Arena growing, giving_back(without_room);
  for (Arena* arena : {&growing, &giving_back}) {
    Memory array = grown_array(*arena, 200);
    const ArenaStatistics statistics = arena->statistics();
    CHECK(statistics.held <= 2 * statistics.peak + 16 * mebibyte);
    array = arena->allocate(150 * mebibyte);  // what was given back is not handed out again
    std::memset(array.data(), 1, std::size_t{150} * mebibyte);
  }
}

TEST_CASE("before segments go back, the source waits for those who use them, once") {
  static int waits = 0, segments = 0;
  waits = segments = 0;
  MemorySource source = without_room;
  source.request = [](index_t bytes) { return ++segments, without_room.request(bytes); };
  source.give_back = [](const Segment& segment) {
    CHECK(waits == 1);
    --segments;
    without_room.give_back(segment);
  };
  source.wait = [](void* context) {
    ++waits;
    CHECK(segments == *static_cast<int*>(context));
  };
  int before = 3;
  source.context = &before;
  Arena arena(source);
  {
    const Memory first = arena.allocate(mebibyte), second = arena.allocate(2 * mebibyte);
    const Memory third = arena.allocate(3 * mebibyte);
  }
  CHECK(waits == 0);
  CHECK(arena.give_back_free());
  CHECK(segments == 0);
  CHECK(waits == 1);
  CHECK_FALSE(arena.give_back_free());
  CHECK(waits == 1);
}

TEST_CASE("segments that are to be kept do not go back") {
  Arena arena(without_room);
  arena.keep_segments(true);
  const Memory array = grown_array(arena, 40);
  CHECK(arena.statistics().held == 40 * 41 / 2 * mebibyte);  // no old place has room for the next
  CHECK(arena.give_back_free());                             // but when somebody says so
  CHECK(arena.statistics().held == 40 * mebibyte);
  CHECK_FALSE(arena.give_back_free());
}

}  // namespace arena_tests
