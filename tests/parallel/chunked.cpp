// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/parallel/chunked.hpp>

#include <weft/nn/criteria.hpp>
#include <weft/nn/generator.hpp>

#include "../message_of.hpp"
#include "../placed.hpp"

#include <catch2/catch.hpp>

#include <cmath>
#include <vector>

namespace chunked_tests {

using namespace weft;
using namespace weft::testing;

namespace {

constexpr index_t C = 4, words = 5;
using Loss = Chunked<nn::BasicGenerator<C, true>, nn::CrossEntropy>;

//! Two sequences of three and two positions.
parallel::LossSum loss_of(const nn::CrossEntropy& criterion, const std::vector<token_t>& labels,
                          index_t chunk = 1) {
  Cpu device;
  const Placed<Loss> placed(device, Loss(nn::BasicGenerator<C, true>(words), criterion, chunk));
  auto ctx = placed.evaluation(device);
  return placed.module
      .forward(ctx, random_rows<C>(device, {3, 2}, 2),
               to_device<token_t>(device, labels, {std::ssize(labels)}))
      .output;
}

}  // namespace

TEST_CASE("any number may be that of the labels that count for nothing") {
  const parallel::LossSum expected = loss_of(nn::CrossEntropy(0), {1, 0, 2, 0, 3});
  CHECK(expected.tokens == Count<of::Tokens>(3));
  for (const token_t ignored : {-1, -100, 5, 1'000'000}) {
    CAPTURE(ignored);
    const parallel::LossSum sum = loss_of(nn::CrossEntropy(ignored), {1, ignored, 2, ignored, 3});
    CHECK(sum.tokens == expected.tokens);
    CHECK(sum.loss.value() == expected.loss.value());
  }
}

TEST_CASE("a label that no word has is named with its row, whatever the chunk") {
  for (const index_t chunk : {1, 2, 100}) {
    for (const token_t label : {-1, -100, 5}) {
      CHECK(message_of<ArgumentError>([&] {
              return loss_of(nn::CrossEntropy(), {1, 0, 2, 4, label}, chunk);
            }) == text("Chunked: label ", label, ", of row 4, is none of 0 to 4"));
    }
  }
}

TEST_CASE("fewer or more labels than rows are refused, and a smoothing that leaves none") {
  CHECK(message_of<ShapeError>([] {
          return loss_of(nn::CrossEntropy(), {1, 0, 2, 4});
        }) == "Chunked: 5 rows and 4 labels");
  CHECK(message_of<ShapeError>([] {
          return loss_of(nn::CrossEntropy(), {1, 0, 2, 4, 1, 1});
        }) == "Chunked: 5 rows and 6 labels");
  for (const float share : {-0.1f, 1.0f, std::nanf("")}) {
    CHECK(message_of<ArgumentError>([&] { return nn::LabelSmoothing(share).smoothing; }) ==
          text("label smoothing of ", share, ", needs 0 <= share < 1"));
  }
}

}  // namespace chunked_tests
