// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/parallel/strategy.hpp>

#include <weft/parallel/data_parallel.hpp>
#include <weft/parallel/distributed_data_parallel.hpp>
#include <weft/parallel/distributed_optimizer.hpp>
#include <weft/parallel/gradient_accumulation.hpp>
#include <weft/parallel/pipeline_parallel.hpp>
#include <weft/parallel/schedule/one_forward_one_backward.hpp>
#include <weft/train/device_batch.hpp>

#include <catch2/catch.hpp>

#include <type_traits>
#include <utility>

#include "small_pipes.hpp"

namespace strategy_tests {

using namespace weft;
using namespace weft::testing;
using namespace weft::parallel;

namespace {

using Alone = GradientAccumulation<SmallModel, SmallLoss>;
using Pipes = PipelineParallel<SmallPipe<OneForwardOneBackward<4>, 2>::Type, PipeLoss<false>>;
template <Shard shard>
using Ranks = DistributedDataParallel<SmallModel, SmallLoss, shard>;

// Each lacks a part of the concept, whose name it hides.
struct TrainsNothing : Alone {
  void objective() const;
};
struct KeepsItsState : Alone {
  std::decay_t<decltype(std::declval<Alone&>().state())> state();
};
struct HasNoDevices : Alone {
  void devices() const;
};
struct AsksNobody : Alone {
  void together(int);
};
struct SavesNothing : Alone {
  void saved_here() const;
};
struct ReportsNothing : Alone {
  void step(const train::DeviceBatch&, double);
};

}  // namespace

TEST_CASE("every strategy is one, whatever its ranks share") {
  STATIC_REQUIRE(Strategy<Alone>);
  STATIC_REQUIRE(Strategy<DataParallel<SmallModel, SmallLoss>>);
  STATIC_REQUIRE(Strategy<Ranks<Shard::nothing>>);
  STATIC_REQUIRE(Strategy<Ranks<Shard::optimizer_state>>);
  STATIC_REQUIRE(Strategy<Ranks<Shard::gradients>>);
  STATIC_REQUIRE(Strategy<Ranks<Shard::parameters>>);
  STATIC_REQUIRE(Strategy<Pipes>);
  STATIC_REQUIRE(TrainsOn<Alone, train::DeviceBatch>);
  STATIC_REQUIRE(TrainsOn<Pipes, WordsBatch>);
  STATIC_REQUIRE(!Strategy<SmallModel>);
}

TEST_CASE("what lacks a part of a strategy lacks that part alone") {
  STATIC_REQUIRE(!SaysWhatItTrains<TrainsNothing>);
  STATIC_REQUIRE(!SaysWhatItTrains<KeepsItsState>);
  STATIC_REQUIRE(ShowsDevices<TrainsNothing>);
  STATIC_REQUIRE(!ShowsDevices<HasNoDevices>);
  STATIC_REQUIRE(AsksRanks<HasNoDevices>);
  STATIC_REQUIRE(!AsksRanks<AsksNobody>);
  STATIC_REQUIRE(PlacesParameters<AsksNobody>);
  STATIC_REQUIRE(!PlacesParameters<SavesNothing>);
  STATIC_REQUIRE(SaysWhatItTrains<SavesNothing>);
  STATIC_REQUIRE(Strategy<ReportsNothing>);
  STATIC_REQUIRE(!TrainsOn<ReportsNothing, train::DeviceBatch>);
}

}  // namespace strategy_tests
