// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
// States that ranks save and load together.
#include <weft/train/saved_model.hpp>
#include <weft/train/saved_state.hpp>

#include <weft/comm/launch.hpp>
#include <weft/parallel/distributed_data_parallel.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "../message_of.hpp"
#include "../temporary_folder.hpp"
#include "small_runs.hpp"

namespace states_of_ranks_tests {

using namespace weft;
using namespace weft::testing;
using namespace weft::train;
using comm::ThreadCommunicator;
using parallel::Shard;

namespace {

constexpr comm::Timeout patience{60.0};

//! Calls `f(strategy)` on every rank, with buckets so small that a rank's share is in many pieces.
template <Shard shard, class F>
void on_ranks(int ranks, const F& f) {
  comm::launch_threads(ranks, patience, [&](ThreadCommunicator& communicator) {
    Cpu device;
    DistributedDataParallel<SmallModel, SmallLoss, shard> strategy(
        device, communicator, small_objective(), optim::Adam(), small_recipe,
        {2 * ops::block_size * 4, 4});
    f(strategy);
  });
}

//! Saves a state after three updates, as `file` has it, and goes on from `file` to `end`.
template <Shard shard>
void save_and_go_on(int ranks, const TemporaryFolder& folder, const std::string& file,
                    const std::vector<float>& end) {
  const std::string path = folder.path("state");
  on_ranks<shard>(ranks, [&](auto& strategy) {
    train_on(strategy, 0, 3);
    save_state(strategy, path, {});
  });
  CAPTURE(static_cast<int>(shard), ranks);
  CHECK(bytes_of(path) == bytes_of(file));
  std::vector<int> same(static_cast<std::size_t>(ranks));
  on_ranks<shard>(ranks, [&](auto& strategy) {
    load_state(strategy, file);
    train_on(strategy, 3, 6);
    [[maybe_unused]] const auto whole = strategy.whole_values();
    same[static_cast<std::size_t>(strategy.rank())] =
        to_host(strategy.state().values()) == end ? 1 : 0;
  });
  CHECK(same == std::vector<int>(static_cast<std::size_t>(ranks), 1));
}

}  // namespace

TEST_CASE("ranks save the bytes that one device saves, and go on from them with the same bits") {
  const TemporaryFolder folder;
  OneDevice<> whole;
  train_on(whole.strategy, 0, 3);
  const std::string file = folder.path("one");
  save_state(whole.strategy, file, {});
  train_on(whole.strategy, 3, 6);
  const auto end = contents_of(whole.strategy).buffers[0];
  for (const int ranks : {1, 2, 3}) {
    save_and_go_on<Zero<0>>(ranks, folder, file, end);
    save_and_go_on<Zero<1>>(ranks, folder, file, end);
    save_and_go_on<Zero<2>>(ranks, folder, file, end);
    save_and_go_on<Zero<3>>(ranks, folder, file, end);
  }
}

TEST_CASE("ranks save and load a part of a model as one device does") {
  const TemporaryFolder folder;
  const std::string file = folder.path("one"), path = folder.path("ranks");
  OneDevice<> one;
  train_on(one.strategy, 0, 2);
  save_part(one.strategy, one.strategy.objective().model().encoder, file, {});
  OneDevice<> other;
  load_part(other.strategy, other.strategy.objective().model().encoder, file);
  train_on(other.strategy, 0, 2);
  const auto end = contents_of(other.strategy).buffers[0];
  const auto check = [&]<Shard shard>() {
    std::vector<int> same(3);
    on_ranks<shard>(3, [&](auto& strategy) {
      const auto& encoder = strategy.objective().model().encoder;
      load_part(strategy, encoder, file);
      save_part(strategy, encoder, path, {});
      train_on(strategy, 0, 2);
      [[maybe_unused]] const auto whole = strategy.whole_values();
      same[static_cast<std::size_t>(strategy.rank())] =
          to_host(strategy.state().values()) == end ? 1 : 0;
    });
    CAPTURE(static_cast<int>(shard));
    CHECK(bytes_of(path) == bytes_of(file));
    CHECK(same == std::vector<int>{1, 1, 1});
  };
  check.template operator()<Zero<0>>();
  check.template operator()<Zero<1>>();
  check.template operator()<Zero<3>>();
}

TEST_CASE("each rank writes its shard, and together they write everything once") {
  for (const int ranks : {2, 3}) {
    std::vector<std::vector<Range>> saved(static_cast<std::size_t>(ranks));
    nn::ParameterLayout layout;
    on_ranks<Zero<2>>(ranks, [&](auto& strategy) {
      saved[static_cast<std::size_t>(strategy.rank())] = strategy.saved_here();
      if (strategy.is_root()) layout = strategy.objective().layout();
    });
    std::vector<int> times(static_cast<std::size_t>(layout.values));
    for (const auto& of_rank : saved) {
      index_t trained = 0;
      for (const Range range : of_rank) {
        if (range.begin < layout.trained) trained += range.size();
        for (index_t i = range.begin; i < range.end; ++i) ++times[static_cast<std::size_t>(i)];
      }
      CAPTURE(ranks);
      CHECK(trained > layout.trained / ranks - 2 * ops::block_size);
    }
    CHECK(times == std::vector<int>(times.size(), 1));
  }
}

TEST_CASE("where one rank cannot write its share, the old file stays") {
  const TemporaryFolder folder;
  const std::string path = folder.path("state");
  on_ranks<Zero<1>>(2, [&](auto& strategy) { save_state(strategy, path, {}); });
  const auto before = bytes_of(path);
  std::string said, heard;
  try {
    on_ranks<Zero<1>>(2, [&](auto& strategy) {
      train_on(strategy, 0, 1);
      const io::SafetensorsLayout layout({{"numbers", io::dtype_of<float>, {8}}}, {});
      FileOfRanks file(strategy, path, layout);
      const float numbers[4] = {1, 2, 3, 4};
      file.template write<float>(strategy.rank() == 0 ? "numbers" : "letters", 0, numbers);
      try {
        file.commit();
      } catch (const comm::CommunicatorAborted& aborted) {
        heard = aborted.message();
        throw;
      }
    });
  } catch (const comm::RankError& error) {
    said = error.message();
  }
  CHECK_THAT(said,
             Catch::StartsWith("rank 1: ") && Catch::Contains("no tensor is called \"letters\""));
  CHECK(heard == "rank 1 failed: " + said.substr(8));
  CHECK(bytes_of(path) == before);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path("")), {}) == 1);
}

TEST_CASE("where the first rank cannot begin a file, all hear of it, and may go on") {
  const TemporaryFolder folder;
  std::vector<std::string> said(2);
  on_ranks<Zero<1>>(2, [&](auto& strategy) {
    try {
      save_state(strategy, folder.path("missing/state"), {});
    } catch (const Error& error) {
      said[static_cast<std::size_t>(strategy.rank())] = error.message();
    }
    save_state(strategy, folder.path("state"), {});
  });
  CHECK_THAT(said[0], Catch::StartsWith("cannot create " + folder.path("missing/state")));
  CHECK(said[1] == "rank 0 failed: " + said[0]);
  CHECK(std::filesystem::exists(folder.path("state")));
}

TEST_CASE("where one rank cannot read a model or a state, none has changed, and all may go on") {
  const TemporaryFolder folder;
  std::vector<std::string> of_model(2), of_state(2);
  std::vector<std::vector<float>> values(2);
  on_ranks<Zero<0>>(2, [&](auto& strategy) {
    const auto rank = static_cast<std::size_t>(strategy.rank());
    const auto path = [&](const std::string& name) {
      return folder.path(rank == 0 ? name : "missing");
    };
    save_model(strategy, folder.path("model"), {});
    save_state(strategy, folder.path("state"), {});
    train_on(strategy, 0, 1);
    of_model[rank] = message_of([&] { return load_model(strategy, path("model")); });
    of_state[rank] = message_of([&] { return load_state(strategy, path("state")); });
    train_on(strategy, 1, 2);
    values[rank] = to_host(strategy.state().values());
  });
  CHECK_THAT(of_model[1], Catch::StartsWith("cannot") && Catch::Contains("missing"));
  CHECK(of_model[0] == "rank 1 failed: " + of_model[1]);
  CHECK(of_state == of_model);
  CHECK(values[0] == values[1]);
}

TEST_CASE("ranks that would load different files all hear of it, and none has changed") {
  const TemporaryFolder folder;
  std::vector<std::string> of_model(2), of_state(2);
  std::vector<int> alike(2);
  on_ranks<Zero<0>>(2, [&](auto& strategy) {
    const auto rank = static_cast<std::size_t>(strategy.rank());
    const auto path = [&](const std::string& name, std::size_t number) {
      return folder.path(text(name, "-", number));
    };
    for (std::size_t number = 0; number < 2; ++number) {
      train_on(strategy, static_cast<std::uint32_t>(number),
               static_cast<std::uint32_t>(number) + 1);
      save_model(strategy, path("model", number), {{"epoch", std::to_string(number)}});
      save_state(strategy, path("state", number), {});
    }
    const auto before = to_host(strategy.state().values());
    of_model[rank] = message_of([&] { return load_model(strategy, path("model", rank)); });
    of_state[rank] = message_of([&] { return load_state(strategy, path("state", rank)); });
    alike[rank] = to_host(strategy.state().values()) == before ? 1 : 0;
  });
  CHECK(of_model[0] ==
        "the ranks differ: rank 0 has the saved epoch 0, rank 1 has the saved epoch 1");
  CHECK(of_state[0] ==
        "the ranks differ: rank 0 has the saved updates 1, rank 1 has the saved updates 2");
  CHECK(of_model[1] == of_model[0]);
  CHECK(of_state[1] == of_state[0]);
  CHECK(alike == std::vector{1, 1});
}

TEST_CASE("a rank throws what it has failed with, also where others have ended of it already") {
  struct {
    std::vector<std::string> texts_of_all(const std::string&) {
      throw comm::CommunicatorAborted(1, "rank 1 failed: rank 0 failed: disk full");
    }
  } strategy;
  const auto said_after = [&](const std::exception_ptr& failure) {
    return message_of([&] {
      throw_together(strategy, failure);
      return 0;
    });
  };
  CHECK(said_after(std::make_exception_ptr(SystemError("disk full"))) == "disk full");
  CHECK(said_after(nullptr) == "rank 1 failed: rank 0 failed: disk full");
}

TEST_CASE("what ranks have saved each of them finds at once") {
  const TemporaryFolder folder;
  std::vector<int> alike(2);
  comm::launch_threads(2, patience, [&](ThreadCommunicator& communicator) {
    Cpu device;
    DistributedDataParallel<SmallModel, SmallLoss> strategy(device, communicator, small_objective(),
                                                            optim::Adam(), small_recipe);
    for (std::uint32_t update = 0; update < 20; ++update) {
      (void)strategy.step(train::DeviceBatch(random_translations(7, update)), 0.003);
      const auto before = to_host(strategy.state().values());
      save_model(strategy, folder.path("model"), {});
      load_model(strategy, folder.path("model"));
      alike[static_cast<std::size_t>(communicator.rank())] +=
          to_host(strategy.state().values()) == before ? 1 : 0;
    }
  });
  CHECK(alike == std::vector{20, 20});
}

}  // namespace states_of_ranks_tests
