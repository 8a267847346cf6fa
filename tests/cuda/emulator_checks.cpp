// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// The emulated GPU itself: what it computes, and what it refuses. A program that does what is
// refused ends, so those run in a process of their own.
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "emulator/decode.hpp"
#include "emulator/launch.hpp"
#include "emulator/memory.hpp"

namespace {

using namespace emulator;

//! Memory of the first GPU, given back at the end.
class Words {
 public:
  explicit Words(std::size_t count)
      : data_(static_cast<std::uint32_t*>(Memory::of_all().allocate(count * 4, 0))) {}
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;
  ~Words() { Memory::of_all().free(data_); }

  [[nodiscard]] std::uint32_t* data() const { return data_; }
  void fill(const std::vector<std::uint32_t>& values) const {
    std::memcpy(data_, values.data(), values.size() * 4);
    Memory::of_all().written(data_, values.size() * 4);
  }

 private:
  std::uint32_t* data_;
};

//! Runs a kernel whose parameter is an address, of which %rd1 is this thread's word, %rd2 the first
//! word and %r1 the thread's number in its block.
void run(const std::string& body, const std::uint32_t* words, unsigned threads,
         unsigned blocks = 1) {
  Module module(
      ".version 9.0\n.target sm_80\n.address_size 64\n"
      ".visible .entry kernel(.param .u64 kernel_param_0)\n{\n"
      ".reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %rd<9>; .reg .f32 %f<32>;\n"
      ".shared .align 1024 .b8 room[4096];\n"
      "ld.param.u64 %rd2, [kernel_param_0];\n"
      "mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd1, %rd2, %rd3;\n"
      "mov.u32 %r2, room;\nshl.b32 %r3, %r1, 2;\nadd.s32 %r4, %r2, %r3;\n" +
      body + "ret;\n}\n");
  const auto address = reinterpret_cast<std::uint64_t>(words);
  run_kernel(*module.kernel("kernel"), {blocks}, {threads}, 0,
             reinterpret_cast<const std::byte*>(&address), 0);
}

//! What the emulator says when it ends the program; empty if it does not.
std::string refusal(const std::string& body, const std::uint32_t* words, unsigned threads,
                    unsigned blocks = 1) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    signal(SIGABRT, SIG_DFL);
    run(body, words, threads, blocks);
    _exit(0);
  }
  close(ends[1]);
  std::string said;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;) {
    said.append(buffer, static_cast<std::size_t>(n));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFSIGNALED(status) == !said.empty());
  return said;
}

constexpr const char* through_shared = "st.shared.u32 [%r4], %r1;\n";
//! Reads the word of the thread that is `by` further.
std::string read_of_another(unsigned by) {
  return "add.s32 %r5, %r1, " + std::to_string(by) +
         ";\nand.b32 %r5, %r5, 63;\nshl.b32 %r5, %r5, 2;\n"
         "add.s32 %r6, %r2, %r5;\nld.shared.u32 %r7, [%r6];\nst.global.u32 [%rd1], %r7;\n";
}

}  // namespace

TEST_CASE("lanes that part meet again, and exchange numbers") {
  const Words words(32);
  // Odd lanes add 100 first; then each gets the number of the lane above.
  run("mov.u32 %r5, %r1;\nand.b32 %r6, %r1, 1;\nsetp.eq.s32 %p1, %r6, 0;\n@%p1 bra $even;\n"
      "add.s32 %r5, %r5, 100;\n$even:\n"
      "shfl.sync.down.b32 %r7|%p2, %r5, 1, 31, -1;\n@!%p2 mov.u32 %r7, 7;\n"
      "st.global.u32 [%rd1], %r7;\n",
      words.data(), 32);
  for (std::uint32_t lane = 0; lane < 31; ++lane) {
    const std::uint32_t above = lane + 1;
    CHECK(words.data()[lane] == above + (above % 2 == 1 ? 100 : 0));
  }
  CHECK(words.data()[31] == 7);
}

TEST_CASE("a product and a sum round once, unless they say how they round") {
  // x x - 1, with x = 1 + 2^-12: exactly 2^-11 + 2^-24, of which a rounded product loses 2^-24.
  const Words words(3);
  const std::string begin = "mov.f32 %f1, 0f3F800800;\nmov.f32 %f9, 0f3F800000;\n";
  const auto result = [&](const std::string& body) {
    run(begin + body + "st.global.f32 [%rd1], %f3;\n", words.data(), 1);
    float value = 0;
    std::memcpy(&value, words.data(), sizeof value);
    return value;
  };
  const float once = std::ldexp(1.0f, -11) + std::ldexp(1.0f, -24), twice = std::ldexp(1.0f, -11);
  CHECK(result("mul.f32 %f2, %f1, %f1;\nsub.f32 %f3, %f2, %f9;\n") == once);
  CHECK(result("mul.f32 %f2, %f1, %f1;\nsub.f32 %f3, %f9, %f2;\n") == -once);
  CHECK(result("neg.f32 %f9, %f9;\nmul.f32 %f2, %f1, %f1;\nadd.f32 %f3, %f9, %f2;\n") == once);
  CHECK(result("mul.rn.f32 %f2, %f1, %f1;\nsub.f32 %f3, %f2, %f9;\n") == twice);
  CHECK(result("mul.f32 %f2, %f1, %f1;\nsub.rn.f32 %f3, %f2, %f9;\n") == twice);
  // A factor that has changed since.
  CHECK(result("mul.f32 %f2, %f1, %f1;\nmov.f32 %f1, %f9;\nsub.f32 %f3, %f2, %f9;\n") == twice);
}

TEST_CASE("a loop that each lane leaves when it likes ends") {
  const Words words(64);
  run("mov.u32 %r5, 0;\n$again:\nadd.s32 %r5, %r5, 3;\nsetp.lt.u32 %p1, %r5, %r1;\n@%p1 bra "
      "$again;\n"
      "bar.warp.sync -1;\nst.global.u32 [%rd1], %r5;\n",
      words.data(), 64);
  for (std::uint32_t thread = 0; thread < 64; ++thread) {
    CHECK(words.data()[thread] == (thread == 0 ? 3 : (thread + 2) / 3 * 3));
  }
}

TEST_CASE("threads that share words wait for one another") {
  const Words words(64);
  const std::string with = std::string(through_shared) + "bar.sync 0;\n";
  const std::string warps = std::string(through_shared) + "bar.warp.sync -1;\n";
  CHECK(refusal(with + read_of_another(40), words.data(), 64) == "");
  // A warp waits for itself, not for others; and none of its lanes is ahead without.
  CHECK(refusal(warps + read_of_another(0), words.data(), 64) == "");
  CHECK_THAT(refusal(warps + read_of_another(40), words.data(), 64), Catch::Contains("a race"));
  CHECK_THAT(refusal(through_shared + read_of_another(1), words.data(), 64),
             Catch::Contains("a race"));
  // What was read is written over.
  CHECK_THAT(refusal(with + read_of_another(40) + through_shared, words.data(), 64),
             Catch::Contains("a race"));
  // One word for all.
  CHECK_THAT(refusal("st.shared.u32 [%r2], %r1;\n", words.data(), 2), Catch::Contains("a race"));
  CHECK(refusal("st.shared.u32 [room], 0;\nbar.sync 0;\natom.shared.add.u32 %r8, [%r2], 1;\n",
                words.data(), 1) == "");
}

TEST_CASE("blocks of a launch do not touch what others write") {
  const Words words(64);
  words.fill(std::vector<std::uint32_t>(64, 5));
  CHECK(refusal("ld.global.u32 %r5, [%rd2];\n", words.data(), 32, 2) == "");
  CHECK_THAT(refusal("st.global.u32 [%rd1], %r1;\n", words.data(), 32, 2),
             Catch::Contains("another block of the launch writes too"));
  CHECK_THAT(refusal("mov.u32 %r5, %ctaid.x;\nsetp.eq.s32 %p1, %r5, 1;\n"
                     "@%p1 ld.global.u32 %r6, [%rd1];\n@!%p1 st.global.u32 [%rd1], %r1;\n",
                     words.data(), 32, 2),
             Catch::Contains("another block of the launch writes"));
  CHECK_THAT(refusal("mov.u32 %r5, %ctaid.x;\nsetp.eq.s32 %p1, %r5, 0;\n"
                     "@%p1 ld.global.u32 %r6, [%rd1];\n@!%p1 st.global.u32 [%rd1], %r1;\n",
                     words.data(), 32, 2),
             Catch::Contains("another block of the launch reads"));
  CHECK(refusal("atom.global.add.u32 %r5, [%rd2], 1;\n", words.data(), 32, 2) == "");
  // What blocks have put in order themselves is read as volatile.
  CHECK(refusal("mov.u32 %r5, %ctaid.x;\nsetp.eq.s32 %p1, %r5, 1;\n"
                "@%p1 ld.volatile.global.u32 %r6, [%rd1];\n@!%p1 st.global.u32 [%rd1], %r1;\n",
                words.data(), 32, 2) == "");
}

TEST_CASE("threads of a block wait before they touch what others write to global memory") {
  const Words words(64);
  words.fill(std::vector<std::uint32_t>(64, 5));
  const std::string write = "st.global.u32 [%rd1], %r1;\n";
  const std::string read =
      "add.s32 %r5, %r1, 40;\nand.b32 %r5, %r5, 63;\nmul.wide.u32 %rd4, %r5, 4;\n"
      "add.s64 %rd5, %rd2, %rd4;\nld.global.u32 %r6, [%rd5];\n";
  CHECK(refusal(write + "ld.global.u32 %r6, [%rd1];\n", words.data(), 64) == "");
  CHECK(refusal(write + "bar.sync 0;\n" + read, words.data(), 64) == "");
  CHECK(refusal(read + "bar.sync 0;\n" + write, words.data(), 64) == "");
  // Whichever of two warps comes first.
  for (const std::string& body :
       {write + "bar.warp.sync -1;\n" + read, read + "bar.warp.sync -1;\n" + write}) {
    CHECK_THAT(refusal(body, words.data(), 64), Catch::Contains("another thread of the block"));
  }
  // Of one warp, and of a launch after the other.
  const std::string read_first = "ld.global.u32 %r6, [%rd2];\n";
  CHECK(refusal(write + "bar.warp.sync -1;\n" + read_first, words.data(), 32) == "");
  CHECK_THAT(refusal(write + read_first, words.data(), 32),
             Catch::Contains("another thread of the block writes"));
  CHECK_THAT(refusal(read_first + write, words.data(), 32),
             Catch::Contains("another thread of the block reads"));
  run(write, words.data(), 64);
  CHECK(refusal(read, words.data(), 64) == "");
  // All may write the same.
  CHECK(refusal("st.global.u32 [%rd2], 7;\n", words.data(), 64) == "");
  CHECK_THAT(refusal("st.global.u32 [%rd2], %r1;\n", words.data(), 64),
             Catch::Contains("another thread of the block writes something else"));
}

TEST_CASE("a counter that wraps counts blocks and is 0 again") {
  const Words words(64);
  words.fill(std::vector<std::uint32_t>(64, 0));
  run("setp.eq.s32 %p1, %r1, 0;\n@%p1 atom.global.inc.u32 %r5, [%rd2], 2;\n"
      "mov.u32 %r6, %ctaid.x;\nmul.wide.u32 %rd4, %r6, 4;\nadd.s64 %rd5, %rd2, %rd4;\n"
      "@%p1 st.global.u32 [%rd5+4], %r5;\n",
      words.data(), 32, 4);
  CHECK(std::vector<std::uint32_t>(words.data(), words.data() + 5) ==
        std::vector<std::uint32_t>{1, 0, 1, 2, 0});
}

TEST_CASE("what a GPU would fault at, or read at random, ends the program") {
  const Words words(64);
  CHECK_THAT(
      refusal("ld.global.u32 %r5, [%rd1];\n", words.data(), 1),
      Catch::Contains("bytes that nothing has written: 4 bytes; thread 0 of block (0, 0, 0) in "
                      "kernel, at ld.global.u32 %r5, [%rd1]"));
  CHECK_THAT(refusal("st.global.u32 [%rd1+256], %r1;\n", words.data(), 1),
             Catch::Contains("never allocated") || Catch::Contains("behind an allocation's end"));
  CHECK_THAT(refusal("st.global.u32 [%rd1+2], %r1;\n", words.data(), 1),
             Catch::Contains("is no multiple of 4"));
  CHECK_THAT(refusal("st.shared.u32 [%r4+4096], %r1;\n", words.data(), 1),
             Catch::Contains("bytes 4096 to 4100 of 4096 of shared memory"));
  CHECK_THAT(refusal("setp.lt.u32 %p1, %r1, 8;\n@%p1 bra $less;\nbar.warp.sync -1;\nbra $end;\n"
                     "$less:\nbar.warp.sync -1;\n$end:\n",
                     words.data(), 32),
             Catch::Contains("lanes of a warp wait for one another at different places"));
  CHECK_THAT(refusal("sin.approx.f32 %r5, %r5;\n", words.data(), 1),
             Catch::Contains("unknown: sin.approx.f32 %r5, %r5"));
}

TEST_CASE("sectors of global memory and passes over banks are counted") {
  const Words words(64);
  Counts counts;
  std::uint64_t addresses[32];
  const auto request = [&](unsigned stride) {
    for (unsigned lane = 0; lane < 32; ++lane) addresses[lane] = 4096 + lane * stride;
    counts = {};
    counts.add_global(addresses, all_lanes, 4);
    counts.add_shared(addresses, all_lanes, 4);
  };
  request(4);
  CHECK(counts.sectors == 4);
  CHECK(counts.shared_passes == 1);
  request(32);
  CHECK(counts.sectors == 32);
  CHECK(counts.shared_passes == 8);
  request(0);
  CHECK(counts.sectors == 1);
  CHECK(counts.shared_passes == 1);
}

TEST_CASE("copies come when they are waited for, and nobody reads before or meanwhile") {
  const Words words(128);
  words.fill(std::vector<std::uint32_t>(128, 5));
  // Thread 0 copies the first 4 words; thread 1 reads one.
  const std::string copy =
      "setp.eq.s32 %p1, %r1, 0;\nmov.u32 %r8, 16;\n"
      "@%p1 cp.async.cg.shared.global [%r2], [%rd2], 16, %r8;\n";
  const std::string wait = "cp.async.wait_all;\n", barrier = "bar.sync 0;\n";
  const std::string read =
      "@!%p1 ld.shared.u32 %r7, [%r2];\n@!%p1 st.global.u32 [%rd2+256], %r7;\n";
  CHECK(refusal(copy + wait + barrier + read, words.data(), 2) == "");
  CHECK_THAT(refusal(copy + barrier + read + wait, words.data(), 2), Catch::Contains("a race"));
  CHECK_THAT(refusal(copy + wait + read, words.data(), 2), Catch::Contains("a race"));
  // What is read is copied over too early.
  CHECK_THAT(refusal(copy + wait + barrier + read + copy + barrier + wait, words.data(), 2),
             Catch::Contains("a race"));
  run(copy + wait + barrier + read, words.data(), 2);
  CHECK(words.data()[64] == 5);
  // As many zeros.
  run("mov.u32 %r8, 0;\ncp.async.cg.shared.global [%r2], [%rd2], 16, %r8;\n" + wait +
          "ld.shared.u32 %r7, [%r2];\nst.global.u32 [%rd2+256], %r7;\n",
      words.data(), 1);
  CHECK(words.data()[64] == 0);
}

TEST_CASE("what is under way when a thread ends, or was never written, is refused") {
  const Words words(64);
  words.fill({1, 2, 3, 4});
  const std::string copy = "mov.u32 %r8, 16;\ncp.async.cg.shared.global [%r2], [%rd2], 16, %r8;\n";
  CHECK_THAT(refusal(copy, words.data(), 1), Catch::Contains("ends before its copies have come"));
  // Whoever waits for a barrier alone has not waited for the copy.
  CHECK_THAT(refusal(copy + "bar.sync 0;\nld.shared.u32 %r7, [%r2];\nbar.sync 0;\n"
                            "cp.async.wait_all;\n",
                     words.data(), 1),
             Catch::Contains("a race"));
  CHECK_THAT(refusal("mov.u32 %r8, 8;\ncp.async.cg.shared.global [%r2], [%rd2], 16, %r8;\n",
                     words.data(), 1),
             Catch::Contains("copies 8 bytes"));
  CHECK_THAT(refusal("atom.global.add.u32 %r5, [%rd2+128], 1;\n", words.data(), 1),
             Catch::Contains("bytes that nothing has written"));
}

namespace {

// Products of a warpgroup. The second factor has 16 lines, rows of b, of 64 columns; in line k the
// number 1 is in columns 4 k to 4 k + 3, and 0 in the others. It lies in two blocks of eight lines,
// with 16 bytes of line k at their place XOR k modulo 8. Four threads write half of a line each.
constexpr const char* clear =
    "shl.b32 %r5, %r1, 4;\nadd.s32 %r6, %r2, %r5;\nmov.u32 %r7, 0;\n"
    "st.shared.v4.u32 [%r6], {%r7, %r7, %r7, %r7};\nbar.sync 0;\n";
// Threads 0 to 15: 8 bytes of line k at 128 k + ((k / 2) XOR (k modulo 8)) 16 + k modulo 2 * 8.
constexpr const char* write_ones =
    "setp.gt.u32 %p1, %r1, 15;\n@%p1 bra $written;\n"
    "shl.b32 %r5, %r1, 7;\nshr.u32 %r6, %r1, 1;\nand.b32 %r7, %r1, 7;\nxor.b32 %r6, %r6, %r7;\n"
    "shl.b32 %r6, %r6, 4;\nand.b32 %r7, %r1, 1;\nshl.b32 %r7, %r7, 3;\n"
    "add.s32 %r5, %r5, %r6;\nadd.s32 %r5, %r5, %r7;\nadd.s32 %r5, %r2, %r5;\n"
    "mov.u32 %r6, 1065369472;\nst.shared.v2.u32 [%r5], {%r6, %r6};\n"  // pairs of Bfloat16 1
    "$written:\n";
constexpr const char* show = "fence.proxy.async.shared::cta;\n";
constexpr const char* fence = "bar.sync 0;\nwgmma.fence.sync.aligned;\n";
// Lane 4 g + t has the number 1 in row g of a and column 2 t. The descriptor: where
// the factor begins, 1,024 bytes from eight lines to the next, a swizzle of 128 bytes.
std::string product(const std::string& descriptor = "4611686293305294848") {
  std::string results = "%f0";
  for (int i = 1; i < 32; ++i) results += ", %f" + std::to_string(i);
  return "mov.u32 %r8, 16256;\nmov.u32 %r9, 0;\nshr.u32 %r10, %r2, 4;\ncvt.u64.u32 %rd4, %r10;\n"
         "or.b64 %rd4, %rd4, " +
         descriptor +
         ";\n"
         "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" +
         results + "}, {%r8, %r9, %r9, %r9}, %rd4, 0, 1, 1, 1;\n";
}
constexpr const char* wait_for_products =
    "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n";

}  // namespace

TEST_CASE("a warpgroup multiplies its rows by a factor in shared memory") {
  const Words words(128);
  // Row g of a has the number 1 in columns 0, 2, 4 and 6, a lane each: row g of the result is the
  // sum of those rows of b. A lane's first number of piece n is of column 8 n + 2 t.
  run(clear + std::string(write_ones) + show + fence + product() + wait_for_products +
          "st.global.f32 [%rd1], %f28;\n",
      words.data(), 128);
  for (std::uint32_t thread = 0; thread < 128; ++thread) {
    CAPTURE(thread);
    CHECK(words.data()[thread] == 0u);
  }
  run(clear + std::string(write_ones) + show + fence + product() + wait_for_products +
          "st.global.f32 [%rd1], %f12;\n",
      words.data(), 128);
  for (std::uint32_t thread = 0; thread < 128; ++thread) {
    CAPTURE(thread);
    CHECK(words.data()[thread] == (thread % 4 < 2 ? 0x3f800000u : 0u));
  }
}

TEST_CASE("what a warpgroup would multiply wrongly is refused") {
  const Words words(128);
  const std::string written = clear + std::string(write_ones);
  CHECK_THAT(refusal(written + fence + product() + wait_for_products, words.data(), 128),
             Catch::Contains("written, but not shown by fence.proxy.async"));
  CHECK_THAT(
      refusal(written + show + "bar.sync 0;\n" + product() + wait_for_products, words.data(), 128),
      Catch::Contains("a product without wgmma.fence before it"));
  CHECK_THAT(refusal(written + show + fence + product() + "bar.sync 0;\n", words.data(), 128),
             Catch::Contains("goes on before its products are done"));
  CHECK_THAT(refusal(written + show + fence + product() + "wgmma.wait_group.sync.aligned 0;\n",
                     words.data(), 128),
             Catch::Contains("waits for products of no group"));
  CHECK_THAT(refusal(written + show + fence + product() + wait_for_products, words.data(), 96),
             Catch::Contains("a product of fewer than four warps"));
  CHECK_THAT(refusal(written + show + fence + "setp.gt.u32 %p1, %r1, 31;\n@%p1 bra $end;\n" +
                         product() + wait_for_products + "$end:\n",
                     words.data(), 128),
             Catch::Contains("comes to other products than its warpgroup"));
  CHECK_THAT(
      refusal(written + show + fence + "add.s32 %r2, %r2, 128;\n" + product() + wait_for_products,
              words.data(), 128),
      Catch::Contains("does not begin in the first line of a block"));
  CHECK_THAT(refusal(written + "bar.sync 0;\n" + show + "wgmma.fence.sync.aligned;\n" + product() +
                         wait_for_products,
                     words.data(), 128),
             Catch::Contains("written, but not shown by fence.proxy.async"));
  // One lane, or one warp, whose factor begins 32 bytes later than that of the others.
  const std::string later = "@%p1 add.s32 %r2, %r2, 32;\n";
  CHECK_THAT(refusal(written + show + fence + "setp.eq.s32 %p1, %r1, 5;\n" + later + product() +
                         wait_for_products,
                     words.data(), 128),
             Catch::Contains("another descriptor than lane 0 has"));
  CHECK_THAT(refusal(written + show + fence + "setp.gt.u32 %p1, %r1, 95;\n" + later + product() +
                         wait_for_products,
                     words.data(), 128),
             Catch::Contains("comes to other products than its warpgroup"));
  CHECK_THAT(refusal(written + show + fence + product("4611967768282005504") + wait_for_products,
                     words.data(), 128),
             Catch::Contains("with bits that are none"));
}

TEST_CASE("a kernel that stops itself ends where it does") {
  const Words words(64);
  words.fill(std::vector<std::uint32_t>(64));
  const std::string one = "mov.u32 %r5, 1;\n";
  const std::string body =
      one + "setp.eq.s32 %p1, %r1, 5;\n@%p1 trap;\nst.global.u32 [%rd1], %r5;\n";
  std::string where;
  try {
    run(body, words.data(), 32);
  } catch (const Fault& fault) {
    where = fault.where;
  }
  CHECK_THAT(where, Catch::Contains("thread 5 of block (0, 0, 0)") && Catch::Contains("trap"));
  CHECK(words.data()[0] == 0);
}

TEST_CASE("atomics have an order, and what is read beside them has none") {
  const Words words(64);
  const std::string add = "atom.shared.add.u32 %r5, [%r2], 1;\n";
  const std::string clear = "setp.eq.s32 %p1, %r1, 0;\n@%p1 st.shared.u32 [%r2], 0;\nbar.sync 0;\n";
  CHECK(refusal(clear + add + "bar.sync 0;\nld.shared.u32 %r6, [%r2];\n", words.data(), 64) == "");
  CHECK_THAT(refusal(clear + add + "ld.shared.u32 %r6, [%r2];\n", words.data(), 64),
             Catch::Contains("a race"));
}

TEST_CASE("a copy of what nobody has written is not written") {
  const Words from(64), to(64);
  auto& memory = Memory::of_all();
  from.fill({1, 2});
  memory.copied(to.data(), from.data(), 16);
  CHECK(refusal("ld.global.u32 %r5, [%rd2+4];\n", to.data(), 1) == "");
  CHECK_THAT(refusal("ld.global.u32 %r5, [%rd2+8];\n", to.data(), 1),
             Catch::Contains("bytes that nothing has written"));
}

TEST_CASE("halves of a word are touched apart from each other") {
  const Words words(64);
  const std::string half = "shl.b32 %r5, %r1, 1;\nadd.s32 %r5, %r2, %r5;\n";
  const std::string write = half + "st.shared.u16 [%r5], %r1;\n";
  const std::string read_word = "ld.shared.u32 %r6, [%r2];\n";
  // Two threads, of one warp and of two.
  CHECK(refusal(write + "bar.sync 0;\n" + read_word, words.data(), 64) == "");
  CHECK_THAT(refusal(write + read_word, words.data(), 64), Catch::Contains("a race"));
  CHECK_THAT(refusal("st.shared.u16 [%r2], %r1;\n", words.data(), 2), Catch::Contains("a race"));
  CHECK_THAT(
      refusal("st.shared.u32 [room], 0;\nbar.sync 0;\n" + read_word + write, words.data(), 2),
      Catch::Contains("a race"));
  // A word is one again for the next launch.
  run(write, words.data(), 64);
  CHECK(refusal("st.shared.u32 [%r4], %r1;\n", words.data(), 64) == "");
  // Two blocks.
  const std::string write_of_block =
      "mov.u32 %r5, %ctaid.x;\nmul.wide.u32 %rd3, %r5, 2;\nadd.s64 %rd4, %rd2, %rd3;\n"
      "st.global.u16 [%rd4], %r5;\n";
  CHECK(refusal(write_of_block + "ld.global.u16 %r6, [%rd4];\n", words.data(), 1, 2) == "");
  CHECK_THAT(refusal(write_of_block + "ld.global.u32 %r6, [%rd2];\n", words.data(), 1, 2),
             Catch::Contains("bytes that nothing has written"));
  // What is copied, or written by a library, may be half a word too.
  const Words from(1), to(1);
  auto& memory = Memory::of_all();
  memory.written(from.data(), 2);
  memory.copied(to.data(), from.data(), 4);
  CHECK(refusal("ld.global.u16 %r5, [%rd2];\n", to.data(), 1) == "");
  CHECK_THAT(refusal("ld.global.u16 %r5, [%rd2+2];\n", to.data(), 1),
             Catch::Contains("bytes that nothing has written"));
}
