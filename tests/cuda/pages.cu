// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/device/cuda.cuh>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include <weft/core/chunks.hpp>
#include <weft/core/host_device.hpp>
#include <weft/tensor/tensor.hpp>

#include "../message_of.hpp"

namespace pages_tests {

using namespace weft;
using weft::testing::message_of;

namespace {

constexpr index_t large = index_t{2} << 20;  // bytes: a page, or many
constexpr index_t floats = large / 4;

//! A GPU, and a tensor of which nothing has memory yet. Pieces are numbered, each of a `large`.
struct Reserved {
  Cuda device;
  Tensor<float, Cuda> numbers;

  explicit Reserved(index_t pieces)
      : numbers(Tensor<float, Cuda>::reserved(device, {pieces * floats})) {}

  [[nodiscard]] float* piece(index_t i) const { return numbers.data() + i * floats; }
  //! When the GPU has done what was called before: pages that go are gone.
  void commit(index_t first, index_t pieces = 1) {
    device.synchronize();
    device.commit(piece(first), pieces * large);
  }
  void discard(index_t first, index_t pieces = 1) { device.discard(piece(first), pieces * large); }
  void write(index_t i, float number) { device.upload(piece(i) + 5, &number, sizeof number); }
  [[nodiscard]] float read(index_t i) {
    float number = 0.0f;
    device.download(&number, piece(i) + 5, sizeof number);
    return number;
  }
};

//! Adds 1 to a number, when it is its turn.
struct AddOne {
  float* number;

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t) const {
    lanes.for_each(1, [&](index_t) { *number += 1.0f; });
  }
};

//! What a GPU has no memory for when it is launched.
struct Refused {
  int number;

  cudaError_t operator()(cudaStream_t) const { return cudaErrorMemoryAllocation; }
  friend bool operator==(const Refused&, const Refused&) = default;
};

__global__ void wait_for_host(const volatile int* flag) {
  while (*flag == 0) {
  }
}

//! Whether CUDA ends `action()` only after a kernel of another stream that waits for the host. As
//! NCCL's wait for other ranks: if the driver waited for them, ranks would for each other.
template <class Action>
bool waits_for_kernels(const Action& action) {
  void* pinned = nullptr;
  REQUIRE(cudaMallocHost(&pinned, sizeof(int)) == cudaSuccess);
  auto* const flag = static_cast<volatile int*>(pinned);
  *flag = 0;
  cudaStream_t other = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking) == cudaSuccess);
  std::atomic<bool> is_done = false, has_waited = false;
  std::jthread watch([&] {  // waits for itself if the action throws
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (!is_done && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    has_waited = !is_done;
    *flag = 1;
  });
  // Only now: where a launch waits for its kernel (CUDA_LAUNCH_BLOCKING), this ends, too.
  wait_for_host<<<1, 1, 0, other>>>(flag);
  action();
  is_done = true;
  watch.join();
  CHECK(cudaStreamSynchronize(other) == cudaSuccess);
  CHECK(cudaStreamDestroy(other) == cudaSuccess);
  CHECK(cudaFreeHost(pinned) == cudaSuccess);
  return has_waited;
}

}  // namespace

TEST_CASE(
    "addresses of a GPU have memory where they were committed, until all of it is discarded") {
  Reserved array(64);
  CHECK(array.device.pages().held == 0);
  array.commit(3);
  array.commit(10, 2);
  CHECK(array.device.pages().held == 3 * large);
  for (const index_t i : {3, 10, 11}) array.write(i, static_cast<float>(i));
  array.commit(3);  // has it
  CHECK(array.read(3) == 3.0f);
  array.discard(10);
  array.commit(20);  // takes what piece 10 had
  array.write(20, 20.0f);
  CHECK(array.device.pages().held == 3 * large);
  for (const index_t i : {3, 11, 20}) CHECK(array.read(i) == static_cast<float>(i));
}

TEST_CASE("a page goes when its last byte is discarded, in whatever pieces") {
  Reserved array(4);
  array.commit(0, 2);
  array.write(0, 1.0f);
  const auto discard = [&](Range elements) {
    array.device.discard(array.numbers.data() + elements.begin, elements.size() * 4);
  };
  discard({floats / 2 + 10, 2 * floats});
  discard({0, 3});
  array.commit(2);  // takes what piece 1 had
  const index_t before = array.device.pages().held;
  CHECK(array.read(0) == 1.0f);
  discard({100, floats / 2 + 10});
  discard({3, 100});
  array.commit(3);  // takes what piece 0 had
  CHECK(array.device.pages().held == before);
  CHECK(before <= 2 * large);
}

TEST_CASE("what was queued before bytes are discarded finds them") {
  Reserved array(3);
  Tensor<float, Cuda> kept(array.device, {1});
  array.commit(0);
  array.write(0, 6.0f);
  array.device.for_rows(1, 1, AddOne{array.piece(0) + 5});
  array.device.copy(kept.data(), array.piece(0) + 5, 4);
  array.discard(0);
  array.device.commit(array.piece(1), large);  // while that is under way, or done
  array.write(1, 1.0f);
  CHECK(array.device.pages().committed == large);
  CHECK(to_host(kept) == std::vector{7.0f});
}

TEST_CASE("what fails as bytes are discarded is thrown by the next call, and once") {
  Reserved array(1);
  array.commit(0);
  array.device.set_graphs(true);
  array.device.call("a call", Refused{1});
  array.discard(0);
  CHECK(array.device.pages().committed == 0);
  CHECK(message_of([&] { array.device.for_rows(1, 1, AddOne{nullptr}); }).find("a call") !=
        std::string::npos);
  CHECK_NOTHROW(array.device.synchronize());
}

TEST_CASE("bytes that are committed again before their page is gone keep it") {
  Reserved array(1);
  array.commit(0);
  array.write(0, 1.0f);
  array.discard(0);
  array.device.commit(array.piece(0), large);
  array.write(0, 2.0f);
  array.device.for_rows(1, 1, AddOne{array.piece(0) + 5});
  CHECK(array.read(0) == 3.0f);
  CHECK(array.device.pages().held == large);
}

TEST_CASE("pages of tensors that are gone serve the next, as graphs are launched too") {
  Cuda device;
  device.set_graphs(GENERATE(false, true));
  const float one = 1.0f;
  Tensor<float, Cuda> kept(device, {1});
  for (int round = 0; round < 4; ++round) {
    const auto tensor = Tensor<float, Cuda>::reserved(device, {3 * floats});
    device.commit(tensor.data(), 3 * large);
    device.upload(tensor.data(), &one, sizeof one);
    device.for_rows(1, 1, AddOne{tensor.data()});
    device.copy(kept.data(), tensor.data(), 4);
  }
  device.synchronize();
  const auto other = Tensor<float, Cuda>::reserved(device, {8 * floats});
  device.commit(other.data() + 4 * floats, 3 * large);
  CHECK(device.pages().committed == 3 * large);
  CHECK(device.pages().held <= 6 * large);
  CHECK(to_host(kept) == std::vector{2.0f});
}

TEST_CASE("a GPU without pages to spare says so, and goes on when some are discarded") {
  Reserved array(4);
  array.commit(0, 2);
  if (array.device.pages().page > 4096) return;  // a real one, which has more
  setenv("EMULATED_PAGES", "1024", 1);
  const std::string message = message_of<SystemError>([&] {
    array.commit(2);
    return 0;
  });
  CHECK(message == text("out of memory: asked the GPU for a page of 4096 bytes while holding ",
                        2 * large, " in pages"));
  array.discard(0);
  array.commit(2);
  array.write(2, 2.0f);
  CHECK(array.read(2) == 2.0f);
  unsetenv("EMULATED_PAGES");
}

TEST_CASE("where a GPU has no other pages, those on their way out are waited for") {
  Reserved array(3);
  array.commit(0, 2);
  if (array.device.pages().page > 4096) return;  // a real one, which has more
  setenv("EMULATED_PAGES", "1024", 1);
  array.write(0, 1.0f);
  array.discard(0);
  array.device.commit(array.piece(2), large);  // before the GPU has done that
  unsetenv("EMULATED_PAGES");
  array.write(2, 2.0f);
  CHECK(array.read(2) == 2.0f);
  CHECK(array.device.pages().held == 2 * large);
}

TEST_CASE("a GPU that had no memory for a page has pages later") {
  Cuda device;
  setenv("EMULATED_PAGES", "0", 1);
  const bool has_pages = device.has_pages();
  unsetenv("EMULATED_PAGES");
  CHECK(device.has_pages());
  if (device.pages().page <= 4096) CHECK_FALSE(has_pages);  // a real one had memory
}

TEST_CASE("memory of pages that nobody uses is there for other tensors") {
  Cuda device;
  {
    const auto tensor = Tensor<float, Cuda>::reserved(device, {4 * floats});
    device.commit(tensor.data(), 4 * large);
    device.discard(tensor.data(), large);
    if (device.pages().page > 4096) return;  // a real GPU has memory for both
  }
  CHECK(device.pages().held == 4 * large);
  setenv("EMULATED_PAGES_FILL", "1", 1);
  const Tensor<float, Cuda> other(device, {16 * floats});
  unsetenv("EMULATED_PAGES_FILL");
  CHECK(device.pages().held == 0);
}

TEST_CASE("pages come and go while a kernel of another stream waits for the host") {
  Reserved array(4);
  array.commit(0, 2);
  if (array.device.pages().page <= 4096) return;  // emulated: kernels cannot read the host's memory
  CHECK_FALSE(waits_for_kernels([&] {
    array.discard(0);
    array.commit(2);  // takes what piece 0 had
    array.discard(1, 2);
    array.device.synchronize();
    array.commit(0, 4);  // and two that are new
  }));
}

TEST_CASE("what a step may need is made while a kernel of another stream waits for the host") {
  Reserved array(1);
  if (array.device.pages().page <= 4096) return;  // emulated
  void *memory = nullptr, *pinned = nullptr;
  CHECK_FALSE(
      waits_for_kernels([&] { CHECK(cudaMalloc(&memory, std::size_t{64} << 20) == cudaSuccess); }));
  CHECK_FALSE(waits_for_kernels(
      [&] { CHECK(cudaMallocHost(&pinned, std::size_t{16} << 20) == cudaSuccess); }));
  CHECK(cudaFree(memory) == cudaSuccess);
  CHECK(cudaFreeHost(pinned) == cudaSuccess);

  array.commit(0);
  array.write(0, 0.0f);
  array.device.set_graphs(true);
  const index_t before = array.device.launches();
  for (int step = 0; step < 3; ++step) {  // one of them makes a graph
    CHECK_FALSE(waits_for_kernels([&] {
      for (int i = 0; i < 3; ++i) array.device.for_rows(1, 1, AddOne{array.piece(0) + 5});
      array.device.synchronize();
    }));
  }
  CHECK(array.device.launches() == before + 3 + 1 + 1);
  CHECK(array.read(0) == 9.0f);
}

TEST_CASE("with graphs, free memory goes back where there is no other") {
  Cuda device;
  device.set_graphs(true);
  const Tensor<float, Cuda> kept(device, {1});
  const auto queue = [&](index_t pieces) {
    const Tensor<float, Cuda> tensor(device, {pieces * floats});
    const float one = 1.0f;
    device.upload(tensor.data(), &one, sizeof one);
    device.for_rows(1, 1, AddOne{tensor.data()});
    device.copy(kept.data(), tensor.data(), 4);
  };
  const auto pieces = {12, 12, 12, 24, 24, 24};  // one of three makes a graph
  setenv("EMULATED_SEGMENTS", "2", 1);           // of which one has `kept`
  for (const index_t count : pieces) {
    queue(count);
    queue(count + 12);  // while that is listed
    CHECK(to_host(kept) == std::vector{2.0f});
  }
  unsetenv("EMULATED_SEGMENTS");
}

TEST_CASE("memory goes back to the GPU once what uses it has ended") {
  Cuda device;
  const Tensor<float, Cuda> kept(device, {1});
  setenv("EMULATED_SEGMENTS", "2", 1);  // of which one has `kept`
  for (const index_t pieces : {12, 24, 36}) {
    const Tensor<float, Cuda> tensor(device, {pieces * floats});  // in the place of the one before
    const float one = 1.0f;
    device.upload(tensor.data(), &one, sizeof one);
    device.for_rows(1, 1, AddOne{tensor.data()});
    device.copy(kept.data(), tensor.data(), 4);
  }
  unsetenv("EMULATED_SEGMENTS");
  CHECK(to_host(kept) == std::vector{2.0f});
}

TEST_CASE("after graphs the pool gives memory back again, unless it is kept for ranks") {
  const bool is_kept = GENERATE(false, true);
  Cuda device;
  if (is_kept) device.keep_segments();
  device.set_graphs(true);
  device.set_graphs(false);
  index_t all = 0;
  for (index_t i = 0; i < 8; ++i) {
    const index_t bytes = least_segment + i * large;
    static_cast<void>(device.allocate(bytes));  // has no room for the next
    all += bytes;
  }
  const ArenaStatistics statistics = device.memory().statistics();
  if (is_kept) {
    CHECK(statistics.held == all);
  } else {
    CHECK(statistics.held <= 2 * statistics.peak + least_segment);
  }
}

TEST_CASE("of memory that was allocated nothing is committed or discarded") {
  Cuda device;
  const Tensor<float, Cuda> tensor(device, {floats});
  const float number = 4.0f;
  device.upload(tensor.data(), &number, sizeof number);
  device.discard(tensor.data(), large);
  device.commit(tensor.data(), large);
  float found = 0.0f;
  device.download(&found, tensor.data(), sizeof found);
  CHECK(found == 4.0f);
  CHECK(device.pages().held == 0);
}

}  // namespace pages_tests
