// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/parallel/schedule/read_table.hpp>

#include <weft/parallel/schedule/interleaved.hpp>
#include <weft/parallel/schedule/one_forward_one_backward.hpp>
#include <weft/parallel/schedule/proof.hpp>
#include <weft/parallel/schedule/zero_bubble.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <utility>

#include "../../message_of.hpp"

namespace schedule_read_table_tests {

using namespace weft;
using namespace weft::parallel;
using weft::testing::message_of;

namespace {

// What a temporary shows would be gone at the semicolon.
template <class Table>
concept HasView = requires(Table&& table) {
  std::forward<Table>(table).view();
};
static_assert(HasView<ReadTable&> && HasView<const ReadTable&>);
static_assert(!HasView<ReadTable> && !HasView<const ReadTable>);
static_assert(HasView<Table<1, 1>&> && HasView<const Table<1, 1>&>);
static_assert(!HasView<Table<1, 1>> && !HasView<const Table<1, 1>>);

bool equal(const TableView& a, const TableView& b) {
  bool same = a.ranks == b.ranks && a.stages == b.stages && a.micro_batches == b.micro_batches &&
              a.splits_backward == b.splits_backward;
  for (int rank = 0; same && rank < a.ranks; ++rank) {
    same = std::ranges::equal(a.of(rank), b.of(rank));
  }
  return same;
}

std::string refusal(const std::string& schedule) {
  return message_of<FormatError>([&] { return read_table(schedule, "my.schedule"); });
}

}  // namespace

TEST_CASE("a schedule that is written down is the one that the compiler makes") {
  const auto read = read_table(
      "# 1F1B of three\nF0 F1 B0 F2 B1 B2\n\nF0 B0 F1 B1\tF2 B2 # last\r\n", "my.schedule");
  const auto made = OneForwardOneBackward<3>::table<2>();
  CHECK(equal(read.view(), made.view()));

  const auto stages = read_table("F0 F1 F0.1 F1.1 B0.1 B1.1 B0 B1", "my.schedule");
  const auto interleaved = Interleaved<2, 2>::table<1>();
  CHECK(stages.view().stages == 2);
  CHECK(stages.view().stages == interleaved.stages);
  const auto split = read_table("F0 B0 W0", "my.schedule");
  CHECK(split.view().splits_backward);
}

TEST_CASE("what is written of a schedule is read again as the same") {
  CHECK(to_text(table_of<OneForwardOneBackward<2>, 2>.view()) == "F0 F1 B0 B1\nF0 B0 F1 B1\n");
  const auto check = [](const TableView& table) {
    const auto read = read_table(to_text(table), "written");
    CHECK(equal(read.view(), table));
  };
  check(table_of<Interleaved<5, 3>, 4>.view());
  check(table_of<ZeroBubble<9>, 4>.view());
}

TEST_CASE("a schedule that breaks a law is refused with the action that does") {
  CHECK(refusal("F0 B0\nB0 F0") ==
        "my.schedule: rank 0: backward of micro-batch 0 in stage 0 waits for what comes only after "
        "it");
  CHECK(refusal("F0 F0 B0") ==
        "my.schedule: rank 0: forward of micro-batch 0 in stage 0 is there "
        "twice");
  CHECK(refusal("F0 F1 B1") ==
        "my.schedule: rank 0: backward of micro-batch 0 in stage 0 is missing");
  CHECK(refusal("F0 F1 B0 B1 W1 W0") ==
        "my.schedule: rank 0: weight gradients of micro-batch 0 in stage 0 comes after that of "
        "micro-batch 1");
  // A loss has gradients too, which it may add as soon as the last stage's forward is done.
  CHECK(refusal("F1 F0 B0 B1\nF1 F0 B0 B1") ==
        "my.schedule: rank 1: forward of micro-batch 0 in stage 1 comes after that of micro-batch "
        "1");
  CHECK(refusal("F0 F1 B1 B0 W0 W1") ==
        "my.schedule: rank 0: backward of micro-batch 0 in stage 0 comes after that of micro-batch "
        "1");
  CHECK(refusal("F1 F0 B0 B1\nF0 F1 B0 B1") ==
        "my.schedule: rank 0: forward of micro-batch 1 in stage 0 sends before forward of "
        "micro-batch 0 in stage 0, which is waited for first");
  CHECK(refusal("F0 B0\nF0 B0 F0.1 B0.1") ==
        "my.schedule: rank 0: forward of micro-batch 0 in stage 2 is missing");
  CHECK(refusal("F0 B0 F0.1 B0.1\nF0 B0") ==
        "my.schedule: 3 stages on 2 ranks: each needs as many");
}

TEST_CASE("one long order does not ask for its room on every rank") {
  std::string schedule;
  for (int rank = 0; rank < 30'000; ++rank) schedule += "F0 B0\n";
  for (int action = 0; action < 80'000; ++action) schedule += "F0 ";  // 9.6 GB, were all so long
  CHECK(refusal(schedule) ==
        "my.schedule: rank 30000: forward of micro-batch 0 in stage 30000 is there twice");
}

TEST_CASE("a schedule that cannot be read is refused with line and word") {
  CHECK(refusal("") == "my.schedule: a schedule without any work");
  CHECK(refusal("# nothing\n") == "my.schedule: a schedule without any work");
  for (const std::string word : {"X0", "F", "F-1", "F0.", "F0,1", "F0.1x", "F0.-1"}) {
    CHECK(refusal("\nF0 " + word) ==
          "my.schedule:2: \"" + word +
              "\" is no action: F, B or W and a micro-batch, as in F3, or "
              "F3.1 in a rank's second stage");
  }
  CHECK_THAT(refusal("F0 " + std::string(100'000, 'F')),
             Catch::StartsWith("my.schedule:1: \"" + std::string(120, 'F') + "...\" is no action"));
  CHECK_THAT(refusal("F0 \x1B[2J"), Catch::StartsWith("my.schedule:1: \"?[2J\" is no action"));
  CHECK_THAT(refusal("F" + std::string(100'000, '0') + "40000"),
             Catch::EndsWith("000...\": the largest stage and micro-batch are 32767"));
  CHECK(refusal("F40000") ==
        "my.schedule:1: \"F40000\": the largest stage and micro-batch are 32767");
  CHECK(refusal("F32767.32767") ==
        "my.schedule: 1 actions for 32768 stages and 32768 micro-batches: each of these needs "
        "several");
}

}  // namespace schedule_read_table_tests
