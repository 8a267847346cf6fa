// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
// How much of a GPU's memory ranks take that have a part of a model.
#include <weft/cuda.cuh>

#include <array>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <weft/comm/launch.hpp>
#include <weft/core/chunks.hpp>
#include <weft/parallel/distributed_data_parallel.hpp>
#include <weft/parallel/stage_places.hpp>
#include <weft/train/saved_model.hpp>
#include <weft/train/saved_state.hpp>

#include "../temporary_folder.hpp"
#include "updates.hpp"

namespace memory_of_ranks_tests {

using namespace weft;
using namespace weft::testing;
using comm::ThreadCommunicator;

namespace {

constexpr int ranks = 4;

//! What each of four ranks finds.
template <class Result, class Find>
std::vector<Result> on_ranks(const Find& find) {
  std::vector<Result> found(ranks);
  comm::launch_threads(ranks, comm::Timeout(60), [&](ThreadCommunicator& communicator) {
    found[static_cast<std::size_t>(communicator.rank())] = find(communicator);
  });
  return found;
}

//! Bytes of pages that pieces of `size_of_one` bytes a number touch: they begin and end anywhere.
index_t pages_of(const std::vector<Range>& pieces, index_t page, index_t size_of_one = 4) {
  index_t bytes = 0;
  for (const Range piece : pieces) bytes += (piece.size() * size_of_one / page + 2) * page;
  return bytes;
}

auto layers_objective() { return small_pipe_objective<OneForwardOneBackward<4>, ranks>(); }
using Layers = std::remove_cvref_t<decltype(layers_objective().model())>;

struct Found {
  CudaPageUse before{}, after{};  // two updates
  index_t share_before = 0, share_after = 0;
  index_t whole = 0;  // all values and gradients
};

//! What a strategy has when nothing is under way, beside what its rank's parts take.
template <class Strategy>
Found after_updates(Cuda& device, Strategy& strategy, const std::vector<Range>& values,
                    const std::vector<Range>& gradients) {
  const auto& layout = strategy.objective().layout();
  Found found{.before = device.pages(), .whole = 4 * (layout.values + layout.gradients)};
  for (std::uint32_t update = 0; update < 2; ++update) {
    const auto batch = random_translations(13, update);
    (void)strategy.step(WordsBatch(batch), 0.002);
  }
  found.after = device.pages();
  found.share_before = pages_of(values, found.after.page);
  found.share_after = found.share_before + pages_of(gradients, found.after.page);
  return found;
}

template <parallel::Shard shard>
std::vector<Found> found_with() {
  return on_ranks<Found>([](ThreadCommunicator& communicator) {
    Cuda device(1, communicator.rank());
    DistributedDataParallel<Layers, PipeLoss<false>, shard, optim::Adam, Cuda, ThreadCommunicator>
        strategy(device, communicator, layers_objective(), optim::Adam(),
                 {.lanes = ranks, .micro_batches = ranks}, {ops::block_size, ops::block_size});
    const auto& layout = strategy.objective().layout();
    auto values = strategy.state().owned();
    values.push_back({layout.trained, layout.values});
    if (shard != Zero<3>) values.clear();  // which have no pages
    return after_updates(device, strategy, values, strategy.state().owned());
  });
}

void check(const std::vector<Found>& of_ranks) {
  for (const Found& found : of_ranks) {
    CAPTURE(found.before.committed, found.after.committed, found.share_before, found.share_after,
            found.after.held, found.whole);
    CHECK(found.before.committed <= found.share_before);
    CHECK(found.after.committed >= found.before.committed);
    CHECK(found.after.committed <= found.share_after);
    CHECK(found.after.held >= found.after.committed);
    if (found.after.page <= 4096) CHECK(found.share_after < found.whole);  // as emulated
  }
}

}  // namespace

TEST_CASE("with Zero<2> a rank has memory for its share of the gradients between updates") {
  check(found_with<Zero<2>>());
}

TEST_CASE("with Zero<3> a rank has memory for its share of values and gradients") {
  check(found_with<Zero<3>>());
}

TEST_CASE("a rank of a pipeline has memory for its stage") {
  const auto precision = GENERATE(ProductPrecision::float32, ProductPrecision::bfloat16);
  const auto of_ranks = on_ranks<Found>([&](ThreadCommunicator& communicator) {
    Cuda device(1, communicator.rank());
    PipelineParallel<Layers, PipeLoss<false>, Zero<0>, optim::Adam, Cuda, ThreadCommunicator>
        strategy(device, communicator, layers_objective(), optim::Adam(), pipe_recipe);
    device.set_pages(false);  // as a communicator of NCCL does
    device.set_product_precision(precision);
    const auto& layout = strategy.objective().layout();
    const parallel::StagePlaces places(strategy.objective(), ranks);
    auto values = places.read(communicator.rank());
    values.push_back({layout.trained, layout.values});
    Found found = after_updates(device, strategy, values, places.trained(communicator.rank()));
    std::vector<Range> divided;  // which are read whole
    for (const index_t block : places.divided_blocks()) {
      divided.push_back({block * ops::block_size, (block + 1) * ops::block_size});
    }
    found.share_after += pages_of(divided, found.after.page);
    if (precision == ProductPrecision::bfloat16) {
      found.share_after += pages_of(values, found.after.page, 2);
      found.whole += 2 * layout.values;
    }
    found.share_before = found.share_after;  // all that a pipeline has stays
    return found;
  });
  check(of_ranks);
  for (const Found& of_rank : of_ranks) {  // rounded weights have pages, too
    CHECK((of_rank.after.committed > of_rank.before.committed) ==
          (precision == ProductPrecision::bfloat16));
  }
}

namespace {

//! The values after an update, and after the same one from what was saved before it.
template <class Strategy>
std::array<std::vector<float>, 2> saved_and_read(Strategy& strategy, const std::string& path) {
  const auto update = [&](std::uint32_t number) {
    const auto batch = random_translations(13, number);
    (void)strategy.step(WordsBatch(batch), 0.002);
  };
  const auto values = [&] {
    [[maybe_unused]] const auto whole = strategy.whole_values();
    return to_host(strategy.state().values());
  };
  update(0);
  train::save_state(strategy, path + ".state", {});
  train::save_model(strategy, path + ".model", {});
  update(1);
  const auto expected = values();
  (void)train::load_model(strategy, path + ".model");
  (void)train::load_state(strategy, path + ".state");
  update(1);
  return {expected, values()};
}

}  // namespace

TEST_CASE("ranks that have a part of a model save it and read it") {
  const TemporaryFolder folder;
  const auto of_shards =
      on_ranks<std::array<std::vector<float>, 2>>([&](ThreadCommunicator& communicator) {
        Cuda device(1, communicator.rank());
        DistributedDataParallel<Layers, PipeLoss<false>, Zero<3>, optim::Adam, Cuda,
                                ThreadCommunicator>
            strategy(device, communicator, layers_objective(), optim::Adam(),
                     {.lanes = ranks, .micro_batches = ranks}, {ops::block_size, ops::block_size});
        return saved_and_read(strategy, folder.path("shards"));
      });
  const auto of_stages =
      on_ranks<std::array<std::vector<float>, 2>>([&](ThreadCommunicator& communicator) {
        Cuda device(1, communicator.rank());
        PipelineParallel<Layers, PipeLoss<false>, Zero<0>, optim::Adam, Cuda, ThreadCommunicator>
            strategy(device, communicator, layers_objective(), optim::Adam(), pipe_recipe);
        return saved_and_read(strategy, folder.path("stages"));
      });
  for (const auto& ranks_found : {of_shards, of_stages}) {
    for (const auto& [expected, found] : ranks_found) {
      CHECK(found == ranks_found[0][0]);
      CHECK(expected == ranks_found[0][0]);
    }
  }
}

}  // namespace memory_of_ranks_tests
