// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/comm/collectives.hpp>

#include <weft/comm/decorators.hpp>
#include <weft/comm/launch.hpp>
#include <weft/comm/threads.hpp>

#include <catch2/catch.hpp>

#include <functional>
#include <numeric>
#include <vector>

#include "../message_of.hpp"

namespace collectives_tests {

using namespace weft;
using namespace weft::comm;
using weft::testing::message_of;

namespace {

constexpr Timeout patience{20.0};
constexpr index_t n = 7;

using Vector = std::vector<double>;

//! Small whole numbers: sums of products of them are exact in any order.
Vector numbers(int seed, index_t count) {
  Vector result;
  for (index_t i = 0; i < count; ++i) {
    result.push_back(static_cast<double>((i * i + 31 * seed + 7 * i) % 17 - 8));
  }
  return result;
}

double product(const Vector& x, const Vector& y) {
  return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
}

//! What every rank's function returns.
std::vector<Vector> on_ranks(int ranks, const std::function<Vector(ThreadCommunicator&)>& f) {
  std::vector<Vector> results(static_cast<std::size_t>(ranks));
  launch_threads(ranks, patience, [&](ThreadCommunicator& communicator) {
    results[static_cast<std::size_t>(communicator.rank())] = f(communicator);
  });
  return results;
}

//! Checks <A x, y> = <x, A' y>, with x and y spread over the ranks.
template <class A, class Adjoint>
void check_adjoint(int ranks, index_t inputs, index_t outputs, A a, Adjoint adjoint) {
  CAPTURE(ranks);
  const auto x = [&](int rank) { return numbers(rank, inputs); };
  const auto y = [&](int rank) { return numbers(100 + rank, outputs); };
  const auto ax = on_ranks(ranks, [&](auto& c) { return a(c, x(c.rank())); });
  const auto ay = on_ranks(ranks, [&](auto& c) { return adjoint(c, y(c.rank())); });
  double left = 0.0, right = 0.0;
  for (int rank = 0; rank < ranks; ++rank) {
    left += product(ax[static_cast<std::size_t>(rank)], y(rank));
    right += product(x(rank), ay[static_cast<std::size_t>(rank)]);
  }
  CHECK(left == right);
}

using Span = std::span<const double>;

}  // namespace

TEST_CASE("collectives and their adjoints") {
  for (const int ranks : {1, 2, 3, 4, 7}) {
    const index_t all = ranks * n;
    const auto gather = [](auto& c, Vector v) { return all_gather(c, Span(v)); };
    const auto scatter_sum = [](auto& c, Vector v) { return reduce_scatter(c, Span(v)); };
    const auto exchange = [](auto& c, Vector v) { return all_to_all(c, Span(v)); };
    const auto sum = [](auto& c, Vector v) {
      all_reduce(c, std::span(v));
      return v;
    };
    check_adjoint(ranks, n, all, gather, scatter_sum);
    check_adjoint(ranks, all, n, scatter_sum, gather);
    check_adjoint(ranks, all, all, exchange, exchange);
    check_adjoint(ranks, n, n, sum, sum);
  }
}

TEST_CASE("every rank gets what each rank has") {
  const auto results = on_ranks(3, [](auto& c) {
    const Vector mine{10.0 + c.rank(), 20.0 + c.rank()};
    return all_gather(c, Span(mine));
  });
  for (const auto& result : results) CHECK(result == Vector{10, 20, 11, 21, 12, 22});
}

TEST_CASE("a broadcast gives all ranks the root's values, however few") {
  for (const index_t count : {0, 1, 2, 1000}) {
    for (const int root : {0, 2}) {
      CAPTURE(count, root);
      const auto results = on_ranks(4, [&](auto& c) {
        Vector values = numbers(c.rank(), count);
        broadcast(c, std::span(values), root);
        return values;
      });
      for (const auto& result : results) CHECK(result == numbers(root, count));
    }
  }
}

TEST_CASE("no rank that there is not sends, and no value is left over") {
  auto world = ThreadCommunicator::world(2);
  Vector values(7);
  for (const int root : {-1, 2}) {
    CHECK(message_of<ArgumentError>([&] { broadcast(world[0], std::span(values), root); }) ==
          text("broadcast: rank ", root, " of 2"));
  }
  CHECK(message_of<ShapeError>([&] { (void)all_to_all(world[0], Span(values)); }) ==
        "all_to_all: 7 values are no rows for each of 2 ranks");
  CHECK(message_of<ShapeError>([&] { (void)reduce_scatter(world[0], Span(values)); }) ==
        "reduce_scatter: 7 values are no rows for each of 2 ranks");
}

TEST_CASE("a sum over ranks is taken in the order of the tree, whoever comes first") {
  const float values[] = {1.0f, 3e-8f, 3e-8f, 3e-8f, 1e-3f};
  const float expected = ((values[0] + values[1]) + (values[2] + values[3])) + values[4];
  for (int late = 0; late < 5; ++late) {
    std::vector<float> sums(5);
    launch_threads(5, patience, [&](ThreadCommunicator& communicator) {
      auto slow = delaying(
          communicator, [&](const Purpose&) { return communicator.rank() == late ? 0.01 : 0.0; });
      float value = values[communicator.rank()];
      all_reduce(slow, std::span(&value, 1));
      sums[static_cast<std::size_t>(communicator.rank())] = value;
    });
    CHECK(sums == std::vector<float>(5, expected));
  }
}

TEST_CASE("the bytes that a rank sends are those of the formulas") {
  const int ranks = 4;
  std::vector<Traffic> gather(ranks), scatter(ranks), cast(ranks);
  launch_threads(ranks, patience, [&](ThreadCommunicator& communicator) {
    const auto rank = static_cast<std::size_t>(communicator.rank());
    const Vector rows = numbers(1, ranks * n);
    auto first = counting(communicator, gather[rank]);
    static_cast<void>(all_gather(first, Span(rows)));
    auto second = counting(communicator, scatter[rank]);
    static_cast<void>(reduce_scatter(second, Span(rows)));
    auto third = counting(communicator, cast[rank]);
    Vector values = rows;
    broadcast(third, std::span(values), 1);
  });
  constexpr index_t bytes = ranks * n * index_t{sizeof(double)};
  for (std::size_t rank = 0; rank < 4; ++rank) {
    CHECK(gather[rank].bytes == (ranks - 1) * bytes);
    CHECK(scatter[rank].bytes == (ranks - 1) * bytes / ranks);
    CHECK(cast[rank].bytes == (rank == 1 ? 2 : 1) * (ranks - 1) * bytes / ranks);
  }
}

TEST_CASE("split makes a world of each color, in the order of the keys") {
  const auto results = on_ranks(6, [](auto& c) {
    auto part = c.split(c.rank() % 2, -c.rank());
    const Vector mine{static_cast<double>(c.rank())};
    auto members = all_gather(part, Span(mine));
    auto again = part.split(0, part.rank());  // of a part, and with the order kept
    barrier(again);
    members.push_back(part.rank());
    members.push_back(again.size());
    return members;
  });
  CHECK(results[0] == Vector{4, 2, 0, 2, 3});
  CHECK(results[1] == Vector{5, 3, 1, 2, 3});
  CHECK(results[4] == Vector{4, 2, 0, 0, 3});
}

}  // namespace collectives_tests
