// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/cuda.cuh>

#include <catch2/catch.hpp>

#include "rounded_attention.hpp"

namespace cudnn_tests {

using namespace weft;
using namespace weft::testing;
using namespace weft::testing::rounded_attention;

// Attention by cuDNN, which tools/cudnn.cpp brings into this program, is compared with weft's own
// on the same GPU: both read the same rounded numbers. On GPUs that cuDNN is not asked for on there
// is nothing to compare.

namespace {

//! Whether cuDNN is asked at all; says so if not.
bool has_library(Cuda& gpu) {
  if (gpu.attention_library() != nullptr) return true;
  WARN("nothing was compared: attention by cuDNN is not for this GPU");
  return false;
}

}  // namespace

TEST_CASE("attention by cuDNN differs from weft's own by what rounding does") {
  Cuda gpu;
  if (!has_library(gpu)) return;
  const auto precision = GENERATE(ProductPrecision::bfloat16, ProductPrecision::float16);
  gpu.set_product_precision(precision);
  for (const index_t size : {8, 32, 64, 96, 128}) {
    for (const Lengths* lengths : {&themselves, &others}) {
      CAPTURE(to_text(precision), size, lengths->keys.empty());
      const auto own = attend_by_weft(gpu, size, *lengths), library = attend(gpu, size, *lengths);
      CHECK(rounding_difference_of_all(precision, own, library) == "");
      CHECK(bit_difference_of_all(own, library) != "");  // it was cuDNN's
    }
  }
}

TEST_CASE("attention by cuDNN has gradients where all scores are far below 0") {
  // cuDNN's kernels for Hopper give NaN for 64 keys behind a multiple of 128 where no mask of
  // padding hides what stands behind them (https://github.com/NVIDIA/cudnn-frontend/pull/628).
  Cuda gpu;
  if (!has_library(gpu)) return;
  const auto precision = GENERATE(ProductPrecision::bfloat16, ProductPrecision::float16);
  gpu.set_product_precision(precision);
  for (const index_t length : {64, 192, 1216, 1280, 1000}) {
    for (const Lengths& lengths :
         {Lengths{{length, 1, 64}, {}}, Lengths{{length, 1, 64}, {length, 128, 192}}}) {
      CAPTURE(to_text(precision), length, lengths.keys.empty());
      const auto own = attend_by_weft(gpu, 64, lengths, nothing_dropped, Scores::low);
      const auto library = attend(gpu, 64, lengths, nothing_dropped, Scores::low);
      CHECK(rounding_difference_of_all(precision, own, library) == "");
    }
  }
}

TEST_CASE("attention by cuDNN in any order differs by what rounding does") {
  Cuda gpu;
  if (!has_library(gpu)) return;
  gpu.set_product_precision(ProductPrecision::bfloat16);
  const auto ordered = attend(gpu, 64, others);
  gpu.set_deterministic(false);
  const auto in_any_order = attend(gpu, 64, others);
  CHECK(rounding_difference_of_all(ProductPrecision::bfloat16, ordered, in_any_order) == "");
}

TEST_CASE("attention by cuDNN has the same bits each time, on each device, and in a graph") {
  Cuda gpu, other(1, 1);
  if (!has_library(gpu)) return;
  for (Cuda* device : {&gpu, &other}) device->set_product_precision(ProductPrecision::bfloat16);
  for (const Lengths* lengths : {&themselves, &others}) {
    const auto expected = attend(gpu, 64, *lengths);
    CHECK(bit_difference_of_all(expected, attend(gpu, 64, *lengths)) == "");
    CHECK(bit_difference_of_all(expected, attend(other, 64, *lengths)) == "");
    other.set_graphs(true);
    for (int turn = 0; turn < 4; ++turn) {
      CAPTURE(turn);
      CHECK(bit_difference_of_all(expected, attend(other, 64, *lengths)) == "");
    }
    other.set_graphs(false);
  }
}

TEST_CASE("what cuDNN is not asked for is weft's own") {
  Cuda gpu;
  if (!has_library(gpu)) return;
  gpu.set_product_precision(ProductPrecision::bfloat16);
  const auto own = [&](index_t size, const Lengths& lengths, const ops::DropoutMask& mask) {
    return bit_difference_of_all(attend_by_weft(gpu, size, lengths, mask),
                                 attend(gpu, size, lengths, mask));
  };
  CHECK(own(64, themselves, some_dropped) == "");
  CHECK(own(20, themselves, nothing_dropped) == "");              // not 16 bytes
  CHECK(own(136, themselves, nothing_dropped) == "");             // too many channels
  CHECK(own(64, {{63, 5}, {}}, nothing_dropped) == "");           // too short
  CHECK(own(64, {{100, 100}, {100, 0}}, nothing_dropped) == "");  // no keys
  CHECK(own(64, {{100, 0}, {100, 100}}, nothing_dropped) == "");  // no queries
}

}  // namespace cudnn_tests
