// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/ops/merge_attention.hpp>

#include <weft/ops/attention.hpp>

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <weft/testing/difference.hpp>
#include <weft/testing/matrix.hpp>
#include <weft/testing/random.hpp>

#include "../message_of.hpp"

namespace merge_attention_tests {

using namespace weft;
using namespace weft::testing;

namespace {

struct Attended {
  Tensor<float> values, log_sums;
};

//! Attention of the same queries to some of the keys.
Attended attend(Cpu& device, index_t heads, const Tensor<float>& q, const Tensor<float>& k,
                const Tensor<float>& v, index_t begin, index_t end) {
  const index_t N = q.rows(), C = q.columns();
  const std::vector<index_t> queries{N}, keys{end - begin};
  const auto query_layout = make_layout(device, std::span(queries)),
             key_layout = make_layout(device, std::span(keys));
  Attended attended{nan_tensor(device, {N, C}), nan_tensor(device, {N, heads})};
  const ops::AttentionProblem<Cpu> problem{
      heads, C / heads, false, 0.5f, query_layout.get(), key_layout.get(), {}};
  using Rows = ops::HeadRows<const float>;
  ops::attention(device, problem, Rows{q.data(), C}, Rows{k.data() + begin * C, C},
                 Rows{v.data() + begin * C, C}, ops::HeadRows<float>{attended.values.data(), C},
                 attended.log_sums.data());
  return attended;
}

}  // namespace

TEST_CASE("attention to two sets of keys is merged into that to all of them") {
  Cpu device(2);
  const auto heads = GENERATE(as<index_t>(), 1, 3), size = GENERATE(as<index_t>(), 5, 16, 40);
  CAPTURE(heads, size);
  const index_t C = heads * size;
  const auto q = random_tensor(device, {7, C}, 1), k = random_tensor(device, {30, C}, 2),
             v = random_tensor(device, {30, C}, 3);
  const auto all = attend(device, heads, q, k, v, 0, 30);
  const auto first = attend(device, heads, q, k, v, 0, 11);
  const auto second = attend(device, heads, q, k, v, 11, 30);
  // Of rows 1 and 4 alone: the others stay what they were.
  Matrix should = matrix(second.values);
  for (const index_t n : {1, 4}) {
    for (index_t c = 0; c < C; ++c) should(n, c) = all.values.data()[n * C + c];
  }
  const auto rows = to_device<index_t>(device, std::vector<index_t>{4, 1}, {2});
  ops::merge_attention(device, rows, first.values, first.log_sums, second.values, second.log_sums);
  // Means of numbers up to 1, by shares of which exponents have some ten roundings.
  CHECK(difference(second.values, should, 50 * unit_roundoff) == "");
}

TEST_CASE("of two attentions whose scores are far apart the one with the larger ones is left") {
  Cpu device;
  constexpr float far = 1e4f;
  const auto out = to_device<float>(device, std::vector<float>{1, 2, 3, 4}, {1, 4});
  const auto other = to_device<float>(device, std::vector<float>{5, 6, 7, 8}, {1, 4});
  const auto log_sums = to_device<float>(device, std::vector<float>{far, -far}, {1, 2});
  const auto other_log_sums = to_device<float>(device, std::vector<float>{-far, far}, {1, 2});
  const auto rows = to_device<index_t>(device, std::vector<index_t>{0}, {1});
  ops::merge_attention(device, rows, other, other_log_sums, out, log_sums);
  CHECK(to_host(out) == std::vector<float>{1, 2, 7, 8});
}

TEST_CASE("attentions that do not fit each other are refused") {
  Cpu device;
  const auto rows = to_device<index_t>(device, std::vector<index_t>{0}, {1});
  const auto fault = [&](Shape other, Shape other_log_sums, Shape out, Shape log_sums) {
    return message_of<ShapeError>([&] {
      ops::merge_attention(device, rows, random_tensor(device, other, 1),
                           random_tensor(device, other_log_sums, 2), random_tensor(device, out, 3),
                           random_tensor(device, log_sums, 4));
    });
  };
  CHECK(fault({2, 4}, {3, 2}, {3, 4}, {3, 2}) ==
        "merge_attention: other is (2, 4), should be (3, 4)");
  CHECK(fault({3, 4}, {3, 2}, {3, 4}, {2, 2}) ==
        "merge_attention: log_sums is (2, 2), should be (3, 2)");
  CHECK(fault({3, 4}, {3, 1}, {3, 4}, {3, 2}) ==
        "merge_attention: other_log_sums is (3, 1), should be (3, 2)");
  CHECK(fault({3, 4}, {3, 3}, {3, 4}, {3, 3}) == "merge_attention: 4 channels of 3 heads");
}

}  // namespace merge_attention_tests
