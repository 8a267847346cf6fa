// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/train/product_precision.hpp>

#include <weft/parallel/data_parallel.hpp>
#include <weft/testing/small_translation.hpp>
#include <weft/train/device_batch.hpp>

#include "../message_of.hpp"
#include "../parallel/outcome.hpp"

#include <catch2/catch.hpp>

namespace product_precision_tests {

using namespace weft;
using namespace weft::testing;

namespace {

using Parallel = DataParallel<SmallModel, SmallLoss>;

constexpr parallel::Recipe recipe{.seed = 5, .lanes = 2, .micro_batches = 4};

//! 20 updates on some devices of some threads.
Outcome trained(int devices, int threads, std::string_view precision) {
  const DeviceGroup<Cpu> group(devices, threads);
  Parallel strategy(group, small_objective(), optim::Adam(), recipe);
  train::set_product_precision(strategy, precision);
  return train_on_small_batches(strategy);
}

}  // namespace

TEST_CASE("rounded products give the same bits on any number of devices and threads") {
  for (const auto* const precision : {"bfloat16", "float16"}) {
    const auto expected = trained(1, 1, precision);
    CHECK(trained(2, 1, precision) == expected);
    CHECK(trained(1, 3, precision) == expected);
    CHECK_FALSE(trained(1, 1, "float32") == expected);
  }
  CHECK_FALSE(trained(1, 1, "float16") == trained(1, 1, "bfloat16"));
  CHECK(trained(1, 1, "tf32") == trained(1, 1, "float32"));  // of a processor
}

TEST_CASE("devices that multiply with other precisions do not train together") {
  const DeviceGroup<Cpu> group(2);
  Parallel strategy(group, small_objective(), optim::Adam(), recipe);
  const auto translations = random_translations(13, 1);
  const train::DeviceBatch batch(translations);
  const auto values = to_host(strategy.state().values());
  group[1].set_product_precision(ProductPrecision::bfloat16);
  const std::string differ =
      "DataParallel: the product precision of device 0 is float32, that of device 1 bfloat16; "
      "train::set_product_precision sets that of all";
  CHECK(message_of<Error>([&] { return strategy.step(batch, 0.1); }) == differ);
  CHECK(message_of<Error>([&] { strategy.accumulate(batch); }) == differ);
  CHECK(message_of<Error>([&] { return strategy.evaluate(batch); }) == differ);
  CHECK(to_host(strategy.state().values()) == values);
  group[1].set_product_precision(ProductPrecision::float32);
  CHECK_FALSE(strategy.step(batch, 0.1).skipped);
}

TEST_CASE("a precision is set on all devices by its name") {
  const DeviceGroup<Cpu> group(2);
  Parallel strategy(group, small_objective(), optim::Adam(), recipe);
  for (const auto precision : {ProductPrecision::bfloat16, ProductPrecision::float16,
                               ProductPrecision::tf32, ProductPrecision::float32}) {
    CHECK(train::set_product_precision(strategy, to_text(precision)) == precision);
    CHECK(group[0].product_precision() == precision);
    CHECK(group[1].product_precision() == precision);
  }
  const auto fastest = train::set_product_precision(strategy, "fastest");
  CHECK(fastest != ProductPrecision::tf32);
  CHECK(group[1].product_precision() == fastest);
  CHECK(message_of<ArgumentError>([&] { train::set_product_precision(strategy, "half"); }) ==
        "product precision: 'half', there are float32, tf32, bfloat16, float16 and fastest");
}

}  // namespace product_precision_tests
