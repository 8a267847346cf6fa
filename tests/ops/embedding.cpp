// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/ops/embedding.hpp>

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include <weft/testing/difference.hpp>
#include <weft/testing/matrix.hpp>
#include <weft/testing/random.hpp>
#include <weft/testing/reference.hpp>
#include <weft/testing/teams.hpp>

#include "../message_of.hpp"

namespace embedding_tests {

using namespace weft;
using namespace weft::testing;
using ops::DropoutMask;
using ops::Write;

namespace {

using Lengths = std::vector<index_t>;

const DropoutMask some_dropped(0.25f, RandomKey(7, 8), 9);

//! Tokens below V, many of them more than once; the last word of the vocabulary is never named.
Tensor<token_t> tokens(Cpu& device, index_t N, index_t V) {
  std::vector<token_t> ids;
  for (index_t n = 0; n < N; ++n) ids.push_back(static_cast<token_t>((n * n) % (V - 1)));
  return to_device<token_t>(device, ids, {N});
}

}  // namespace

TEST_CASE("a row is its token's vector, scaled, with its position's, as dropout leaves it") {
  Cpu device;
  constexpr index_t V = 11;
  constexpr float scale = 5.5f;
  for (const auto& lengths : {Lengths{0}, Lengths{1}, Lengths{3, 0, 6}}) {
    for (const index_t C : {1, 15, 16, 17, 512}) {
      for (const bool with_positions : {false, true}) {
        for (const DropoutMask& mask : {DropoutMask(), some_dropped}) {
          const auto layout = make_layout(device, lengths);
          const index_t N = layout->rows();
          CAPTURE(N, C, with_positions, mask.active());
          const auto ids = tokens(device, N, V);
          const auto table = random_tensor(device, {V, C}, 1), p = random_tensor(device, {6, C}, 2),
                     y = nan_tensor(device, {N, C});
          ops::embedding(device, mask, *layout, ids, table, scale,
                         with_positions ? View<const float>(p) : View<const float>(), y);
          const Matrix words = matrix(table), positions = matrix(p);
          const auto keys = to_host(layout->keys);
          const auto value = [&](index_t n, index_t c, auto magnitude) {
            const RowKey key = keys[static_cast<std::size_t>(n)];
            const double word = static_cast<double>(scale) * words(ids.data()[n], c);
            const double position = with_positions ? positions(key.position, c) : 0.0;
            return dropout_factor(mask, key, c) * (magnitude(word) + magnitude(position));
          };
          CHECK(difference(y,
                           matrix(N, C, [&](index_t n, index_t c) {
                             return value(n, c, [](double x) { return x; });
                           }),
                           matrix(N, C, [&](index_t n, index_t c) {  // scale, sum, factor
                             return 3 * unit_roundoff *
                                    value(n, c, [](double x) { return std::abs(x); });
                           })) == "");
        }
      }
    }
  }
}

TEST_CASE("the gradient of a word is the sum over its rows, and of one without rows it is zero") {
  // A sum of at most N + 1 numbers, each rounded once by the scale.
  Cpu device;
  constexpr index_t V = 7;
  constexpr float scale = 5.5f;
  for (const index_t N : {0, 1, 40}) {
    for (const index_t C : {1, 15, 16, 17, 512}) {
      for (const Write write : {Write::replace, Write::accumulate}) {
        const bool add = write == Write::accumulate;
        CAPTURE(N, C, add);
        const auto ids = tokens(device, N, V);
        const auto dy = random_tensor(device, {N, C}, 1);
        const auto dtable = add ? random_tensor(device, {V, C}, 2) : nan_tensor(device, {V, C});
        Matrix should = add ? matrix(dtable) : Matrix(V, C);
        Matrix bounds = magnitudes(should);
        const Matrix gradient = matrix(dy);
        for (index_t n = 0; n < N; ++n) {
          for (index_t c = 0; c < C; ++c) {
            const double term = static_cast<double>(scale) * gradient(n, c);
            should(ids.data()[n], c) += term;
            bounds(ids.data()[n], c) += std::abs(term);
          }
        }
        for (double& bound : bounds.elements) bound *= static_cast<double>(N + 1) * unit_roundoff;
        for (index_t c = 0; c < C; ++c) bounds(V - 1, c) = 0.0;  // exactly what it was
        ops::embedding_backward(device, ids, dy, scale, dtable, write);
        CHECK(difference(dtable, should, bounds) == "");
      }
    }
  }
}

TEST_CASE("the gradient is the adjoint of the look-up") {
  // <E w, dy> = <w, E' dy>: both are sums of the same N C products; the right one rounds sums of N.
  Cpu device;
  constexpr index_t V = 7, C = 33;
  const auto layout = make_layout(device, Lengths{30, 10});
  const auto ids = tokens(device, 40, V);
  const auto table = random_tensor(device, {V, C}, 1), dy = random_tensor(device, {40, C}, 2),
             y = nan_tensor(device, {40, C}), dtable = nan_tensor(device, {V, C});
  ops::embedding(device, {}, *layout, ids, table, 2.0f, {}, y);
  ops::embedding_backward(device, ids, dy, 2.0f, dtable, Write::replace);
  const double bound = 42 * unit_roundoff * inner(magnitudes(matrix(y)), magnitudes(matrix(dy)));
  CHECK(std::abs(inner(matrix(y), matrix(dy)) - inner(matrix(table), matrix(dtable))) < bound);
}

TEST_CASE("the gradient of a position is the sum over the sentences that reach it") {
  Cpu device;
  constexpr index_t T = 5, C = 21;
  const auto layout = make_layout(device, Lengths{2, 0, 4, 3});
  const auto keys = to_host(layout->keys);
  const auto dy = random_tensor(device, {9, C}, 1);
  for (const Write write : {Write::replace, Write::accumulate}) {
    const bool add = write == Write::accumulate;
    const auto dpositions = add ? random_tensor(device, {T, C}, 2) : nan_tensor(device, {T, C});
    Matrix should = add ? matrix(dpositions) : Matrix(T, C);
    const Matrix gradient = matrix(dy);
    for (index_t n = 0; n < 9; ++n) {
      for (index_t c = 0; c < C; ++c) {
        should(keys[static_cast<std::size_t>(n)].position, c) += gradient(n, c);
      }
    }
    ops::position_backward(device, *layout, dy, dpositions, write);
    CHECK(difference(dpositions, should, 4 * 4 * unit_roundoff) == "");  // 4 numbers below 4
    CHECK(difference(dpositions.slice(4, 5), block(should, 4, 1, 0, C), 0.0) == "");
  }
}

TEST_CASE("embeddings have the same bits on any team") {
  CHECK(team_difference([](Cpu& device) {
          constexpr index_t V = 50, C = 70, N = 400;
          const auto layout = make_layout(device, Lengths{250, 150});
          const auto ids = tokens(device, N, V);
          const auto table = random_tensor(device, {V, C}, 1),
                     positions = random_tensor(device, {250, C}, 2), y = nan_tensor(device, {N, C}),
                     dtable = nan_tensor(device, {V, C}), dpositions = nan_tensor(device, {250, C});
          ops::embedding(device, some_dropped, *layout, ids, table, 3.0f, positions, y);
          ops::embedding_backward(device, ids, y, 3.0f, dtable, Write::replace);
          ops::position_backward(device, *layout, y, dpositions, Write::replace);
          return std::vector{y, dtable, dpositions};
        }) == "");
}

TEST_CASE("a word that the table does not have is refused") {
  Cpu device;
  const auto layout = make_layout(device, Lengths{3, 1});
  const auto table = nan_tensor(device, {5, 2}), y = nan_tensor(device, {4, 2});
  for (const token_t word : {-1, 5, 1'000'000'000}) {
    const std::vector<token_t> ids{4, 0, word, word};
    CHECK(message_of<ArgumentError>([&] {
            ops::embedding(device, {}, *layout, View<const token_t>(ids.data(), {4}), table, 1.0f,
                           {}, y);
          }) == text("embedding: word ", word, ", of row 2, is none of 0 to 4"));
  }
  const std::vector<token_t> ids{4, 0, 0, 0};
  CHECK(message_of<ArgumentError>([&] {
          ops::embedding(device, {}, *layout, View<const token_t>(ids.data(), {4}),
                         nan_tensor(device, {0, 2}), 1.0f, {}, y);
        }) == "embedding: word 4, of row 0, but there are none to choose from: a module was made "
              "for 0");
}

TEST_CASE("what does not fit an embedding is refused") {
  Cpu device;
  const auto layout = make_layout(device, Lengths{3, 1});
  const auto ids = tokens(device, 4, 5), few = tokens(device, 3, 5);
  const auto table = nan_tensor(device, {5, 2}), y = nan_tensor(device, {4, 2}),
             y3 = nan_tensor(device, {3, 2});
  const auto run = [&](const auto& of, View<const float> positions, const auto& to) {
    return message_of<ShapeError>(
        [&] { ops::embedding(device, {}, *layout, of, table, 1.0f, positions, to); });
  };
  CHECK(run(ids, {}, y3) == "embedding: y is (3, 2), should be (4, 2)");
  CHECK(run(few, {}, y3) == "embedding: keys is (4), should be (3)");
  CHECK(run(ids, nan_tensor(device, {2, 2}), y) ==
        "embedding: a sequence of 3 tokens is longer than the 2 positions");
  CHECK(run(ids, nan_tensor(device, {3, 4}), y) ==
        "embedding: positions is (3, 4), should be (3, 2)");
  CHECK(message_of<ShapeError>([&] {
          ops::embedding_backward(device, ids, y3, 1.0f, table, Write::replace);
        }) == "embedding_backward: dy is (3, 2), should be (4, 2)");
  CHECK(message_of<ShapeError>([&] {
          ops::position_backward(device, *layout, y, nan_tensor(device, {2, 2}), Write::replace);
        }) == "position_backward: a sequence of 3 tokens is longer than the 2 positions");
}

}  // namespace embedding_tests
