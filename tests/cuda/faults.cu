// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// GPUs that cannot be used, or no more. After a fault a process has none, so a test here runs this
// program once more for a hidden test, which prints what it caught.
#include <weft/cuda.cuh>

#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include <weft/ops/cross_entropy.hpp>
#include <weft/ops/embedding.hpp>
#include <weft/ops/linear.hpp>
#include <weft/optim/adam.hpp>
#include <weft/parallel/data_parallel.hpp>
#include <weft/parallel/parallel_apply.hpp>
#include <weft/testing/random.hpp>
#include <weft/testing/small_translation.hpp>
#include <weft/train/device_batch.hpp>

#include "device_difference.hpp"

namespace faults_tests {

using namespace weft;
using namespace weft::testing;

namespace {

//! What a hidden test prints, whose environment has these variables more.
std::string printed_by(const std::string& test, const std::string& variables) {
  const std::string command = variables + " /proc/$PPID/exe '" + test + "' 2>&1";
  FILE* const pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string printed;
  std::array<char, 4096> some;
  while (std::fgets(some.data(), some.size(), pipe) != nullptr) printed += some.data();
  CHECK(pclose(pipe) == 0);
  return printed;
}

//! Prints what an attempt ends with.
template <class F>
void print_end(const char* attempt, const F& f) {
  try {
    f();
    std::printf("%s: done\n", attempt);
  } catch (const CudaError& error) {
    std::printf("%s: CudaError: %s\n", attempt, error.what());
  } catch (const parallel::DeviceError& error) {
    std::printf("%s: DeviceError: %s\n", attempt, error.what());
  } catch (const std::exception& error) {
    std::printf("%s: another error: %s\n", attempt, error.what());
  }
}

constexpr token_t vocabulary = 5;

//! The word that a hidden test is to look for.
token_t asked_word() { return static_cast<token_t>(std::atoi(std::getenv("WORD"))); }

void embed(Cuda& device, token_t word) {
  const auto layout = layout_of(device, {3});
  const auto table = random_tensor(device, {vocabulary, 8}, 1), y = nan_tensor(device, {3, 8});
  const auto ids = to_device<token_t>(device, std::vector<token_t>{1, word, 2}, {3});
  ops::embedding(device, {}, *layout, ids, table, 1.0f, {}, y);
}

}  // namespace

TEST_CASE("a machine says what it lacks", "[.][emulated]") {
  const auto lack_with = [](const char* variable, const char* value) {
    setenv(variable, value, 1);
    std::string lack;
    try {
      Cuda device;
    } catch (const CudaError& error) {
      lack = error.what();
    }
    unsetenv(variable);
    return lack;
  };
  CHECK_THAT(lack_with("EMULATED_DRIVER", "0"), Catch::Contains("there is no NVIDIA driver"));
  CHECK_THAT(lack_with("EMULATED_DRIVER", "11080"),
             Catch::Contains("the NVIDIA driver serves CUDA 11.8, the program was compiled with "
                             "CUDA 1") &&
                 Catch::Contains(": install a newer driver"));
  CHECK_THAT(lack_with("EMULATED_NO_GPU", "1"), Catch::Contains("looking for GPUs: "));
  CHECK_THAT(lack_with("EMULATED_NO_CODE", "1"),
             Catch::Contains("GPU 0 (an emulated GPU): ") &&
                 Catch::Contains(". Compile for it: nvcc -gencode arch=compute_90,code=sm_90, with "
                                 "Meson -Dgpu_architectures=90"));
  CHECK(lack_with("EMULATED_NOTHING", "1") == "");
}

TEST_CASE("a word is embedded and waited for", "[.]") {
  Cuda device;
  print_end("embedding", [&] { embed(device, asked_word()); });
  print_end("waiting", [&] { device.synchronize(); });
}

TEST_CASE("the loss of a word is found and waited for", "[.]") {
  Cuda device;
  const auto logits = random_tensor(device, {3, vocabulary}, 1);
  const auto losses = nan_tensor(device, {3});
  const auto labels = to_device<token_t>(device, std::vector<token_t>{1, asked_word(), 2}, {3});
  ops::cross_entropy(device, logits, {}, labels, ops::ignore_nothing, 0.1f, {}, losses);
  print_end("waiting", [&] { device.synchronize(); });
}

TEST_CASE("a word that a table does not have makes a GPU's kernel fault, and no other does",
          "[large]") {
  const std::string test =
      GENERATE("a word is embedded and waited for", "the loss of a word is found and waited for");
  for (const auto& [word, faults] : {std::pair("-1", true), std::pair("0", false),
                                     std::pair("4", false), std::pair("5", true)}) {
    const std::string printed = printed_by(test, std::string("WORD=") + word);
    CAPTURE(test, word, printed);
    CHECK_THAT(printed, Catch::Contains(faults ? "waiting: CudaError: " : "waiting: done"));
    CHECK((printed.find("faulted") != std::string::npos) == faults);
  }
}

TEST_CASE("where launches wait, the operation that faults is named", "[large]") {
  const std::string printed =
      printed_by("a word is embedded and waited for", "CUDA_LAUNCH_BLOCKING=1 WORD=5");
  CHECK_THAT(printed, Catch::Contains("embedding: CudaError: EmbeddingRow: "));
}

TEST_CASE("whatever is called after a fault", "[.]") {
  Cuda device;
  const auto x = random_tensor(device, {3, 8}, 1), w = random_tensor(device, {8, 8}, 2);
  const auto y = random_tensor(device, {3, 8}, 3);
  print_end("a product", [&] { ops::linear(device, x, w, {}, y); });
  embed(device, vocabulary);
  print_end("waiting", [&] { device.synchronize(); });
  print_end("waiting once more", [&] { device.synchronize(); });
  print_end("an upload", [&] { device.upload(x.data(), std::vector<float>(8).data(), 32); });
  print_end("a download", [&] { (void)to_host(x); });
  print_end("a tensor", [&] { const Tensor<float, Cuda> large(device, {1 << 24}); });
  print_end("zeros", [&] { device.clear(y.data(), 96); });
  print_end("a product once more", [&] { ops::linear(device, x, w, {}, y); });
  print_end("an operation", [&] { embed(device, 1); });
  print_end("graphs", [&] {
    device.set_graphs(true);
    embed(device, 1);
    device.synchronize();
  });
  print_end("another device", [&] { Cuda(1, 1); });
}

TEST_CASE("after a fault every call fails, and all that there is ends", "[large]") {
  const std::string printed = printed_by("whatever is called after a fault", "");
  CAPTURE(printed);
  CHECK_THAT(printed, Catch::Contains("a product: done\n"));
  CHECK_THAT(printed, Catch::Contains("waiting: CudaError: waiting for GPU 0, on which was queued "
                                      "last EmbeddingRow: unspecified launch failure"));
  for (const std::string later :
       {"waiting once more", "an upload", "a download", "a tensor", "zeros", "a product once more",
        "an operation", "graphs", "another device"}) {
    const auto begin = printed.find("\n" + later + ": ");
    REQUIRE(begin != std::string::npos);
    CHECK_THAT(printed.substr(begin + 1, printed.find('\n', begin + 1) - begin),
               Catch::StartsWith(later + ": CudaError: ") && Catch::Contains(" faulted, "));
  }
}

TEST_CASE("steps of a batch with a word that is none", "[.]") {
  const bool graphs = std::getenv("GRAPHS") != nullptr;
  const DeviceGroup<Cuda> group(2);
  for (int index = 0; index < 2; ++index) group[index].set_graphs(graphs);
  DataParallel<SmallModel, SmallLoss, optim::Adam, Cuda> train(
      group, small_objective(), optim::Adam(), {.seed = 3, .lanes = 4, .micro_batches = 4});
  auto batch = random_translations(13, 0);
  const auto step = [&] { (void)train.step(train::DeviceBatch(batch), 0.002); };
  for (int again = 0; again < 3; ++again) print_end("a step", step);
  batch.source.tokens[17] = static_cast<token_t>(small_vocabulary);
  print_end("a step with such a word", step);
  batch.source.tokens[17] = 4;
  print_end("a step after it", step);
}

TEST_CASE("a step whose batch has a word that is none fails, and so does the next", "[large]") {
  const std::string printed =
      printed_by("steps of a batch with a word that is none", GENERATE("", "GRAPHS=1"));
  CAPTURE(printed);
  CHECK_THAT(printed, Catch::Contains("a step: done\na step: done\na step: done\n"));
  CHECK_THAT(printed, Catch::Contains("a step with such a word: DeviceError: cuda:") &&
                          Catch::Contains("faulted"));
  CHECK_THAT(printed, Catch::Contains("a step after it: CudaError: "));
}

}  // namespace faults_tests
