// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Attention on a GPU beside a processor's, with random heads, lengths, types of numbers and
//! places in memory.
#include <weft/cuda.cuh>

#include <catch2/catch.hpp>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <weft/ops/attention.hpp>
#include <weft/testing/random.hpp>

#include "device_difference.hpp"
#include "random_cases.hpp"
#include "share_of_norm.hpp"

namespace random_attention_tests {

using namespace weft;
using namespace weft::testing;

namespace {

//! What a GPU multiplies, and how.
struct Kernels {
  ProductPrecision precision;
  bool wgmma, short_attention;
};

Kernels kernels_of(Choices& choices) {
  constexpr ProductPrecision precisions[] = {ProductPrecision::float32, ProductPrecision::bfloat16,
                                             ProductPrecision::float16};
  return {precisions[choices.below(3)], choices.maybe(), choices.maybe()};
}

//! The result of an attention, its log_sums, and the gradients.
template <class D>
std::vector<std::vector<float>> attend(D& device, Choices choices, ProductPrecision precision) {
  constexpr index_t usual[] = {8, 16, 32, 48, 64, 96, 128, 256};
  const index_t size = choices.maybe() ? usual[choices.below(8)] : 1 + choices.below(256);
  const index_t sharing = choices.maybe() ? 1 : 2, heads = sharing * (1 + choices.below(2));
  const index_t C = heads * size, K = C / sharing;
  const bool self = choices.maybe();
  const index_t longest = choices.maybe() ? 64 : 150;
  std::vector<index_t> of_queries{9 + choices.below(longest - 9)}, of_keys = of_queries;
  for (index_t b = choices.below(3); b > 0; --b) {
    of_queries.push_back(choices.below(longest));
    of_keys.push_back(self ? of_queries.back() : choices.below(longest));
  }
  const auto queries = layout_of(device, of_queries), keys = layout_of(device, of_keys);
  const index_t N = queries->rows(), M = keys->rows();
  const ops::AttentionProblem<D> problem{heads,
                                         size,
                                         choices.maybe(),
                                         0.3f,
                                         queries.get(),
                                         keys.get(),
                                         choices.maybe() ? some_dropped : nothing_dropped};

  FloatType type = FloatType::float32;
  if (choices.maybe()) {
    if (precision == ProductPrecision::bfloat16) type = FloatType::bfloat16;
    if (precision == ProductPrecision::float16) type = FloatType::float16;
  }
  // Rows that begin at multiples of 16 bytes, or anywhere.
  const bool in_line = choices.maybe();
  std::uint32_t seed = 0;
  const auto placed = [&](index_t rows, index_t columns, bool read) {
    const index_t gap = in_line ? 8 * choices.below(3) + (8 - columns % 8) % 8 : choices.below(9);
    const Shape all{1, rows * (columns + gap) + PlacedRows<D>::room};
    const PlacedRows<D> x(device, choices, {rows, columns}, type,
                          read ? random_tensor(device, all, ++seed) : nan_tensor(device, all),
                          in_line);
    return std::is_same_v<D, Cpu> ? x.as_floats() : x;
  };
  const auto q = placed(N, C, true), k = placed(M, K, true), v = placed(M, K, true),
             dy = placed(N, C, true), y = placed(N, C, false), dq = placed(N, C, false),
             dk = placed(M, K, false), dv = placed(M, K, false);
  const auto log_sums = nan_tensor(device, {N, heads});
  const auto in = [](const PlacedRows<D>& x, index_t shared) {
    return ops::AnyHeadRows<const void>(x.view().numbers, x.view().stride,
                                        static_cast<int>(shared));
  };
  const auto out = [](const PlacedRows<D>& x, index_t shared) {
    return ops::AnyHeadRows<void>(x.target().numbers, x.target().stride, static_cast<int>(shared));
  };
  ops::attention(device, problem, in(q, 1), in(k, sharing), in(v, sharing), out(y, 1),
                 log_sums.data());
  ops::attention_backward(device, problem, in(q, 1), in(k, sharing), in(v, sharing), in(y, 1),
                          log_sums.data(), in(dy, 1), out(dq, 1), out(dk, sharing),
                          out(dv, sharing));
  return {to_host(y.all()), to_host(log_sums), to_host(dq.all()), to_host(dk.all()),
          to_host(dv.all())};
}

}  // namespace

TEST_CASE("attention of any heads, lengths, numbers and places is that of a processor") {
  for (std::uint32_t seed = 0; seed < 120; ++seed) {
    Choices choices(seed);
    const auto [precision, wgmma, short_attention] = kernels_of(choices);
    Cpu cpu;
    Cuda gpu;
    gpu.set_product_precision(precision);
    gpu.set_wgmma(wgmma);
    gpu.set_short_attention(short_attention);
    const auto expected = attend(cpu, choices, precision), found = attend(gpu, choices, precision);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CAPTURE(seed, to_text(precision), gpu.uses_wgmma(), i);
      // A factor is off by up to 2^-9 of itself, and two or three products follow one another; of
      // Float16 by 2^-12, and by more where it is below 2^-14.
      const double bound = precision == ProductPrecision::float32    ? testing::close
                           : precision == ProductPrecision::bfloat16 ? 0x1p-6
                                                                     : 0x1p-8;
      CHECK(share_of_norm(found[i], expected[i]) < bound);
    }
  }
}

}  // namespace random_attention_tests
