// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
// A hundred runs on three ranks, of which one fails somewhere.
#include <weft/train/trainer.hpp>

#include <weft/comm/decorators.hpp>
#include <weft/comm/launch.hpp>
#include <weft/core/philox.hpp>
#include <weft/optim/schedules.hpp>
#include <weft/parallel/distributed_data_parallel.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "../file_size_limit.hpp"
#include "../temporary_folder.hpp"
#include "small_runs.hpp"

using namespace weft;
using namespace weft::testing;
using comm::ThreadCommunicator;

namespace {

constexpr int ranks = 3;
constexpr comm::Timeout patience{4.0};

struct Fault {
  enum class Kind { none, throws, stops, full_disk, not_finite };

  Kind kind = Kind::none;
  int rank = 0;
  index_t post = 0;    // the number of the rank's post in which it happens
  index_t update = 0;  // after which the disk is full
};

//! What is known of a run.
struct Run {
  std::vector<index_t> posts = std::vector<index_t>(ranks);
  std::vector<index_t> skipped = std::vector<index_t>(ranks);
  std::unique_ptr<FileSizeLimit> limit{};
};

//! Does to a rank what the fault says before it posts messages.
void before_post(const Fault& fault, int rank, index_t number, std::vector<comm::Message>& messages,
                 const comm::Purpose& purpose) {
  static const std::vector<float> not_numbers(1 << 16, std::numeric_limits<float>::quiet_NaN());
  if (rank != fault.rank) return;
  if (fault.kind == Fault::Kind::throws && number == fault.post) throw Error("injected");
  if (fault.kind == Fault::Kind::stops && number == fault.post) {
    std::this_thread::sleep_for(1.7 * patience);
  }
  if (fault.kind == Fault::Kind::not_finite && purpose.update == fault.update &&
      std::string(purpose.collective) == "reduce_scatter") {
    for (comm::Message& message : messages) {
      if (message.direction == comm::Message::Direction::receive) continue;
      message =
          comm::send_to(message.peer, not_numbers.data(), message.bytes / index_t{sizeof(float)});
    }
  }
}

//! Trains three epochs of four updates, from the state in the folder if one is there.
void run_to_the_end(const std::string& path, const Fault& fault, Run& run) {
  const auto train_corpus = random_corpus(22, 1), valid_corpus = random_corpus(9, 2);
  const optim::Noam noam{.d_model = 24, .factor = 0.2, .warmup = 10};
  comm::launch_threads(ranks, patience, [&](ThreadCommunicator& threads) {
    const int rank = threads.rank();
    index_t& posts = run.posts[static_cast<std::size_t>(rank)];
    comm::Observed<ThreadCommunicator> communicator(
        threads, [&](std::vector<comm::Message>& messages, const comm::Purpose& purpose) {
          before_post(fault, rank, posts++, messages, purpose);
        });
    Cpu device;
    DistributedDataParallel<SmallModel, SmallLoss, Zero<2>, optim::Adam, Cpu,
                            comm::Observed<ThreadCommunicator>>
        strategy(device, communicator, small_objective(), optim::Adam(),
                 {.seed = 5, .lanes = 3, .micro_batches = 3},
                 {2 * ops::block_size * 4, 4});
    train::TrainerHooks hooks;
    hooks.after_update = [&](const train::UpdateReport& report) {
      if (fault.kind != Fault::Kind::full_disk || rank != 0) return;
      if (report.update == fault.update) run.limit = std::make_unique<FileSizeLimit>(4096);
    };
    train::Trainer trainer(strategy, train_corpus, valid_corpus,
                           {.unit = data::BatchUnit::sentences, .budget = 6}, noam,
                           train::RunFolder(path), {.max_epochs = 3, .averaged_epochs = 2}, hooks);
    // All look before one of them writes.
    const bool resumes = std::filesystem::exists(path + "/state.safetensors");
    comm::barrier(communicator);
    if (resumes) trainer.resume();
    trainer.run();
    run.skipped[static_cast<std::size_t>(rank)] = strategy.state().skipped();
  });
}

Fault fault_of(std::uint32_t seed, index_t posts) {
  const auto random = philox({seed, 0, 0, 0}, RandomKey(11, 0));
  Fault fault;
  fault.kind = seed % 12 == 0  ? Fault::Kind::stops
               : seed % 4 == 1 ? Fault::Kind::full_disk
               : seed % 4 == 2 ? Fault::Kind::not_finite
                               : Fault::Kind::throws;
  fault.rank = fault.kind == Fault::Kind::full_disk ? 0 : static_cast<int>(random[0] % ranks);
  fault.post = static_cast<index_t>(random[1]) % posts;
  fault.update = 1 + static_cast<index_t>(random[2]) % 11;
  return fault;
}

}  // namespace

TEST_CASE(
    "whatever happens to one of three ranks, the run ends, says whose fault it was, and goes on",
    "[slow]") {
  const TemporaryFolder folder;
  Run undisturbed;
  run_to_the_end(folder.path("whole"), {}, undisturbed);
  const auto whole = files_in(folder.path("whole"));
  const index_t posts = *std::ranges::min_element(undisturbed.posts);
  REQUIRE(posts > 100);

  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    const Fault fault = fault_of(seed, posts);
    const std::string path = folder.path(text("run-", seed));
    CAPTURE(seed, static_cast<int>(fault.kind), fault.rank, fault.post, fault.update);
    Run run;
    const auto begin = std::chrono::steady_clock::now();
    int culprit = -1;
    std::string said;
    try {
      run_to_the_end(path, fault, run);
    } catch (const comm::RankError& error) {
      culprit = error.rank();
      said = error.message();
    } catch (const comm::CommunicatorAborted& aborted) {
      culprit = aborted.culprit();
      said = aborted.message();
    }
    run.limit.reset();
    CHECK(std::chrono::steady_clock::now() - begin < patience + std::chrono::seconds(5));
    CAPTURE(said);
    if (fault.kind == Fault::Kind::not_finite) {
      // No rank fails: the update is left out on all of them, and once.
      CHECK(culprit == -1);
      CHECK(run.skipped == std::vector<index_t>(ranks, 1));
      continue;
    }
    CHECK(culprit == fault.rank);
    if (fault.kind == Fault::Kind::throws) CHECK(said.find("injected") != std::string::npos);
    if (fault.kind == Fault::Kind::stops) CHECK(said.find("has not entered") != std::string::npos);
    if (fault.kind == Fault::Kind::full_disk) CHECK(said.find("cannot write") != std::string::npos);
    Run again;
    run_to_the_end(path, {}, again);
    CHECK(files_in(path) == whole);
    std::filesystem::remove_all(path);
  }
}
