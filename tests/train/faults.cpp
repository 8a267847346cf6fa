// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
// A hundred runs on three ranks, of which one fails somewhere.
#include <weft/train/trainer.hpp>

#include <weft/comm/launch.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "../message_of.hpp"
#include "../temporary_folder.hpp"
#include "faulty_run.hpp"

namespace faults_tests {

using namespace weft;
using namespace weft::testing;
using comm::ThreadCommunicator;

namespace {

constexpr comm::Timeout patience{4.0};

//! By rank.
using Run = std::vector<RankRun>;

void run_to_the_end(const std::string& path, const Fault& fault, Run& run) {
  comm::launch_threads(ranks_of_faults, patience, [&](ThreadCommunicator& communicator) {
    train_to_the_end(communicator, path, fault, run[static_cast<std::size_t>(communicator.rank())]);
  });
}

}  // namespace

TEST_CASE(
    "whatever happens to one of three ranks, the run ends, says whose fault it was, and goes on",
    "[slow]") {
  const auto folder = TemporaryFolder::in_memory();
  Run undisturbed(ranks_of_faults);
  run_to_the_end(folder.path("whole"), {}, undisturbed);
  const auto whole = files_in(folder.path("whole"));
  index_t posts = undisturbed[0].posts;
  for (const RankRun& rank : undisturbed) posts = std::min(posts, rank.posts);
  REQUIRE(posts > 100);

  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    Fault fault = fault_of(seed, posts);
    // A limit is the whole process's, and the first rank is the first to write.
    if (fault.kind == Fault::Kind::full_disk) fault.rank = 0;
    const std::string path = folder.path(text("run-", seed));
    CAPTURE(seed, static_cast<int>(fault.kind), fault.rank, fault.post, fault.update);
    Run run(ranks_of_faults);
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
    run[0].limit.reset();
    CHECK(std::chrono::steady_clock::now() - begin < patience + std::chrono::seconds(5));
    CAPTURE(said);
    if (fault.kind == Fault::Kind::not_finite) {
      // No rank fails: the update is left out on all of them, and once.
      CHECK(culprit == -1);
      for (const RankRun& rank : run) CHECK(rank.skipped == 1);
      continue;
    }
    CHECK(culprit == fault.rank);
    if (fault.kind == Fault::Kind::throws) CHECK(said.find("injected") != std::string::npos);
    if (fault.kind == Fault::Kind::stops) CHECK(said.find("has not entered") != std::string::npos);
    if (fault.kind == Fault::Kind::full_disk) CHECK(said.find("cannot write") != std::string::npos);
    Run again(ranks_of_faults);
    run_to_the_end(path, {}, again);
    CHECK(files_in(path) == whole);
    std::filesystem::remove_all(path);
  }
}

TEST_CASE("the first rank's score decides which model is the best, on all ranks") {
  const auto folder = TemporaryFolder::in_memory();
  const auto train_corpus = random_corpus(22, 1), valid_corpus = random_corpus(9, 2);
  const std::vector<std::vector<double>> scores{{1.0, 2.0, 1.0}, {2.0, 1.0, 3.0}};
  std::vector<std::vector<bool>> best(2);
  std::vector<std::vector<double>> reported(2);
  comm::launch_threads(2, patience, [&](ThreadCommunicator& of_rank) {
    const auto rank = static_cast<std::size_t>(of_rank.rank());
    comm::Observed<ThreadCommunicator> communicator(
        of_rank, [](std::vector<comm::Message>&, const comm::Purpose&) {});
    Cpu device;
    DistributedDataParallel<SmallModel, SmallLoss, Zero<3>, optim::Adam, Cpu,
                            comm::Observed<ThreadCommunicator>>
        strategy(device, communicator, small_objective(), optim::Adam(),
                 {.seed = 5, .lanes = 2, .micro_batches = 2});
    train::TrainerHooks hooks;
    hooks.score = [&] { return scores[rank][best[rank].size()]; };
    hooks.after_epoch = [&](const train::EpochReport& report) {
      best[rank].push_back(report.best);
      reported[rank].push_back(report.valid_score.value());
    };
    const train::TranslationData corpora(train_corpus, valid_corpus,
                                         {.unit = data::BatchUnit::sentences, .budget = 6});
    train::Trainer trainer(strategy, corpora, optim::Noam{.d_model = 24, .warmup = 10},
                           train::RunFolder(folder.path("run")), {.max_epochs = 3}, hooks);
    trainer.run();
  });
  for (const std::size_t rank : {0U, 1U}) {
    CHECK(best[rank] == std::vector<bool>{true, true, false});
    CHECK(reported[rank] == scores[0]);
  }
}

TEST_CASE("what the first rank finds in the folder ends the call on all ranks, which go on") {
  const auto folder = TemporaryFolder::in_memory();
  const auto train_corpus = random_corpus(22, 1), valid_corpus = random_corpus(9, 2);
  const train::TranslationData corpora(train_corpus, valid_corpus,
                                       {.unit = data::BatchUnit::sentences, .budget = 6});
  const auto run = [&](const std::string& path, index_t updates, const auto& f) {
    std::vector<std::string> said(2);
    comm::launch_threads(2, patience, [&](ThreadCommunicator& communicator) {
      Cpu device;
      DistributedDataParallel<SmallModel, SmallLoss> strategy(
          device, communicator, small_objective(), optim::Adam(),
          {.seed = 5, .lanes = 2, .micro_batches = 2});
      const auto trainer = [&] {
        return train::Trainer(strategy, corpora, optim::Noam{.d_model = 24, .warmup = 10},
                              train::RunFolder(path), {.max_updates = updates});
      };
      said[static_cast<std::size_t>(communicator.rank())] = f(strategy, trainer);
    });
    return said;
  };
  const std::string path = folder.path("run");
  run(path, 2, [](auto&, const auto& made) {
    auto trainer = made();
    trainer.run();
    return std::string();
  });
  const std::string holds = path + " holds another run: resume it, or choose another folder";
  const auto said = run(path, 3, [](auto& strategy, const auto& made) {
    auto trainer = made();
    auto message = message_of<Error>([&] { return trainer.run(); });
    trainer.resume();
    trainer.run();
    return text(message, "; ", strategy.state().updates());
  });
  CHECK(said ==
        std::vector<std::string>{text(holds, "; 3"), text("rank 0 failed: ", holds, "; 3")});

  const std::string claimed = folder.path("claimed");
  train::RunFolder other(claimed);
  other.claim();
  for (const auto& message : run(claimed, 1, [](auto&, const auto& made) {
         return message_of<Error>([&] { return made(); });
       })) {
    CHECK(message.find(claimed) != std::string::npos);
  }
}

TEST_CASE("ranks that are not to end alike hear of it before the first update") {
  const auto folder = TemporaryFolder::in_memory();
  const auto corpus = random_corpus(22, 1);
  using Settings = std::vector<train::TrainerSettings>;  // by rank
  const std::vector<std::pair<Settings, std::string>> cases{
      {{{.max_epochs = 1}, {.max_epochs = 2}}, "max_epochs 1, rank 1 has max_epochs 2"},
      {{{.max_updates = 1}, {.max_updates = 2}}, "max_updates 1, rank 1 has max_updates 2"},
      {{{.max_epochs = 1, .patience = 1}, {.max_epochs = 1}}, "patience 1, rank 1 has patience 0"}};
  for (const auto& [settings, difference] : cases) {
    std::vector<std::string> said(2);
    std::vector<index_t> updates(2);
    comm::launch_threads(2, patience, [&](ThreadCommunicator& communicator) {
      const auto rank = static_cast<std::size_t>(communicator.rank());
      Cpu device;
      DistributedDataParallel<SmallModel, SmallLoss> strategy(
          device, communicator, small_objective(), optim::Adam(),
          {.seed = 5, .lanes = 2, .micro_batches = 2});
      const train::TranslationData corpora(corpus, corpus,
                                           {.unit = data::BatchUnit::sentences, .budget = 6});
      train::Trainer trainer(strategy, corpora, optim::Noam{.d_model = 24, .warmup = 10},
                             train::RunFolder(folder.path("run")), settings[rank]);
      said[rank] = message_of([&] { trainer.run(); });
      updates[rank] = strategy.state().updates();
    });
    CHECK(said[0] == "the ranks differ: rank 0 has " + difference);
    CHECK(said[1] == said[0]);
    CHECK(updates == std::vector<index_t>{0, 0});
  }
}

}  // namespace faults_tests
