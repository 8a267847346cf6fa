// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/cuda.cuh>

#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

#include <weft/ops/convert.hpp>
#include <weft/testing/difference.hpp>
#include <weft/testing/random.hpp>
#include <weft/testing/widened.hpp>

#include "device_difference.hpp"
#include "low_scores.hpp"
#include "share_of_norm.hpp"

namespace attention_tests {

using namespace weft;
using namespace weft::testing;

namespace {

struct Lengths {
  std::vector<index_t> queries, keys;
};
//! Shorter and longer than a block of queries and a tile of keys; one has no keys.
const Lengths others = {{1, 7, 40, 150, 0}, {150, 1, 33, 0, 70}},
              themselves = {{1, 7, 40, 150}, {1, 7, 40, 150}};
//! A block of keys has one warp, a tile of queries more rows than that has threads.
const Lengths few_keys = {{50, 40, 3}, {16, 3, 10}};
//! All keys of each are in one block, which has room for 32 or for 64; one has no keys, one no
//! queries, one neither, and some have fewer of either than of the other.
const Lengths few_queries = {{5, 16, 0, 3, 17, 0}, {32, 20, 4, 0, 7, 0}},
              short_others = {{1, 7, 64, 20, 0, 33}, {64, 1, 33, 0, 9, 50}},
              short_themselves = {{1, 40, 64}, {1, 40, 64}},
              shorter_themselves = {{32, 1, 17}, {32, 1, 17}};

//! The result of an attention of three heads and its gradients; or of two groups of heads that
//! share keys and values.
template <class D, class Head = ops::AnyHeadSize>
Results<D> attend(D& device, index_t size, bool causal, const ops::DropoutMask& mask,
                  const Lengths& lengths, Head head = {}, Scores scores = Scores::around_0,
                  int sharing = 1) {
  const index_t H = sharing == 1 ? 3 : 2 * sharing;
  const index_t C = H * size, K = C / sharing;
  const auto queries = layout_of(device, lengths.queries);
  const auto keys = layout_of(device, lengths.keys);
  const index_t N = queries->rows(), M = keys->rows();
  auto q = random_tensor(device, {N, C}, 1), k = random_tensor(device, {M, K}, 2);
  if (scores == Scores::low) {
    q = with_columns(device, q, 0, C, size, low_query);
    k = with_columns(device, k, 0, C, size, low_key);
  }
  const auto v = random_tensor(device, {M, K}, 3), dy = random_tensor(device, {N, C}, 4);
  const auto y = nan_tensor(device, {N, C}), log_sums = nan_tensor(device, {N, H});
  const auto dq = nan_tensor(device, {N, C});
  const auto dk = nan_tensor(device, {M, K}), dv = nan_tensor(device, {M, K});
  const ops::AttentionProblem<D> problem{H, size, causal, 0.3f, queries.get(), keys.get(), mask};
  const auto in = [&](const Tensor<float, D>& x) {
    return ops::HeadRows<const float>{x.data(), C};
  };
  const auto out = [&](const Tensor<float, D>& x) { return ops::HeadRows<float>{x.data(), C}; };
  const auto of_keys = [&](const Tensor<float, D>& x) {
    return ops::AnyHeadRows<void>(x.data(), K, sharing);
  };
  ops::attention(device, problem, in(q), of_keys(k), of_keys(v), out(y), log_sums.data(), head);
  ops::attention_backward(device, problem, in(q), of_keys(k), of_keys(v), in(y), log_sums.data(),
                          in(dy), out(dq), of_keys(dk), of_keys(dv), head);
  return {y, log_sums, dq, dk, dv};
}

}  // namespace

TEST_CASE("attention of heads of 8 channels and fewer, known to the compiler") {
  for (const auto& mask : {nothing_dropped, some_dropped}) {
    CAPTURE(mask.active());
    const auto difference = [&]<class Head>(Head head, index_t size, bool causal,
                                            const Lengths& lengths) {
      return device_difference(
          [&](auto& device) { return attend(device, size, causal, mask, lengths, head); });
    };
    CHECK(difference(ops::HeadSize<8>(), 8, false, others) == "");
    CHECK(difference(ops::HeadSize<8>(), 8, true, themselves) == "");
    CHECK(difference(ops::HeadSize<5>(), 5, false, few_keys) == "");
  }
}

TEST_CASE("attention and its gradients are those of a processor") {
  for (const index_t size : {5, 32, 48, 128, 200}) {
    for (const auto& mask : {nothing_dropped, some_dropped}) {
      CAPTURE(size, mask.active());
      const auto difference = [&](bool causal, const Lengths& lengths) {
        return device_difference(
            [&](auto& device) { return attend(device, size, causal, mask, lengths); });
      };
      CHECK(difference(false, others) == "");
      CHECK(difference(false, few_keys) == "");
      CHECK(difference(true, themselves) == "");
    }
  }
}

TEST_CASE("heads share keys and values as on a processor") {
  for (const index_t size : {5, 32, 128}) {
    for (const Lengths* lengths : {&others, &themselves}) {
      CAPTURE(size, lengths->queries);
      CHECK(device_difference([&](auto& device) {
              return attend(device, size, lengths == &themselves, some_dropped, *lengths,
                            ops::AnyHeadSize(), Scores::around_0, 2);
            }) == "");
    }
  }
}

TEST_CASE("a mean over many keys is a processor's to 1e-6") {
  // Tensor cores cut off what a sum has no digits for: of numbers of one sign some of each.
  constexpr index_t size = 64, M = 4000;
  CHECK(device_difference(
            [&](auto& device) {
              const auto queries = layout_of(device, {16}), keys = layout_of(device, {M});
              const auto q = to_device<float>(device, std::vector<float>(16 * size), {16, size});
              const auto k = random_tensor(device, {M, size}, 1);
              const auto v = random_tensor(device, {M, size}, 2, 0.5f, 1.5f);
              const auto y = nan_tensor(device, {16, size}), log_sums = nan_tensor(device, {16, 1});
              const ops::AttentionProblem<std::remove_cvref_t<decltype(device)>> problem{
                  1, size, false, 1.0f, queries.get(), keys.get(), nothing_dropped};
              ops::attention(device, problem, {q.data(), size}, {k.data(), size}, {v.data(), size},
                             {y.data(), size}, log_sums.data());
              return std::vector{y};
            },
            1e-6) == "");
}

TEST_CASE("earlier keys weigh as much as later ones of the same score, however large that is") {
  // Of keys that are all alike the first half has the value 1, the other 0.
  constexpr index_t size = 64, M = 4000;
  std::vector<float> of_queries(16 * size), values(M * size);
  for (std::size_t i = 0; i < of_queries.size(); ++i) {
    of_queries[i] = static_cast<float>(i / size + 1) * 0.4f;  // scores of 25 to 410
  }
  std::fill_n(values.begin(), values.size() / 2, 1.0f);
  Cuda device;
  device.set_product_precision(GENERATE(ProductPrecision::float32, ProductPrecision::bfloat16));
  const auto queries = layout_of(device, {16}), keys = layout_of(device, {M});
  const auto q = to_device<float>(device, of_queries, {16, size});
  const auto k = to_device<float>(device, std::vector<float>(M * size, 1.0f), {M, size});
  const auto v = to_device<float>(device, values, {M, size});
  const auto y = nan_tensor(device, {16, size}), log_sums = nan_tensor(device, {16, 1});
  const ops::AttentionProblem<Cuda> problem{1,     size,          false,      1.0f, queries.get(),
                                            keys.get(), nothing_dropped};
  ops::attention(device, problem, {q.data(), size}, {k.data(), size}, {v.data(), size},
                 {y.data(), size}, log_sums.data());
  for (const float mean : to_host(y)) CHECK(mean == Approx(0.5f).epsilon(2e-5));
}

namespace {

//! Makes the device multiply by warpgroups or without, if its GPU and its code do.
bool multiplies_as(Cuda& gpu, bool wgmma) {
  gpu.set_wgmma(wgmma);
  return gpu.uses_wgmma() == wgmma;
}

//! Empty if attention of rounded factors differs by what rounding does: by less than `bound` of the
//! norm of each result, but by something.
std::string rounding_difference(Cuda& gpu, index_t size, bool causal, const Lengths& lengths,
                                double bound, const ops::DropoutMask& mask = some_dropped,
                                Scores scores = Scores::around_0, int sharing = 1) {
  Cpu cpu;
  const auto attend_on = [&](auto& device) {
    return attend(device, size, causal, mask, lengths, ops::AnyHeadSize(), scores, sharing);
  };
  const Results<Cpu> expected = attend_on(cpu);
  const Results<Cuda> found = attend_on(gpu);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double share = share_of_norm(to_host(found[i]), to_host(expected[i]));
    if (!(share > 0.0 && share < bound)) return text("result ", i, " is off by ", share);
  }
  return {};
}

}  // namespace

TEST_CASE("attention of rounded factors differs from that of floats by what rounding does") {
  Cuda gpu;
  if (!multiplies_as(gpu, GENERATE(true, false))) return;
  const auto precision = GENERATE(ProductPrecision::bfloat16, ProductPrecision::float16);
  gpu.set_product_precision(precision);
  // A factor is off by up to 2^-9 of itself, and two or three products follow one another; of
  // Float16 by 2^-12, and by more where it is below 2^-14.
  const double bound = precision == ProductPrecision::bfloat16 ? 0x1p-7 : 0x1p-9;
  for (const index_t size : {8, 32, 48, 64, 100, 128, 200, 256}) {
    CAPTURE(gpu.uses_wgmma(), to_text(precision), size);
    CHECK(rounding_difference(gpu, size, false, others, bound) == "");
    CHECK(rounding_difference(gpu, size, false, few_keys, bound) == "");
    CHECK(rounding_difference(gpu, size, true, themselves, bound) == "");
    for (const auto& mask : {nothing_dropped, some_dropped}) {
      CAPTURE(mask.active());
      CHECK(rounding_difference(gpu, size, false, few_queries, bound, mask) == "");
      CHECK(rounding_difference(gpu, size, false, short_others, bound, mask) == "");
      CHECK(rounding_difference(gpu, size, true, short_themselves, bound, mask) == "");
      CHECK(rounding_difference(gpu, size, true, shorter_themselves, bound, mask) == "");
    }
  }
}

TEST_CASE("heads share keys and values of rounded factors, too") {
  Cuda gpu;
  if (!multiplies_as(gpu, GENERATE(true, false))) return;
  gpu.set_product_precision(ProductPrecision::bfloat16);
  for (const index_t size : {32, 64, 128, 200}) {
    for (const Lengths* lengths : {&others, &themselves, &short_others, &short_themselves}) {
      CAPTURE(gpu.uses_wgmma(), size, lengths->queries);
      const bool causal = lengths == &themselves || lengths == &short_themselves;
      CHECK(rounding_difference(gpu, size, causal, *lengths, 0x1p-7, some_dropped, Scores::around_0,
                                2) == "");
    }
  }
}

TEST_CASE("attention takes more sequences than a grid has blocks across") {
  constexpr index_t second_part = 65535;
  std::vector<index_t> lengths(second_part + 2);
  for (const index_t b : {index_t{3}, second_part - 1, second_part, second_part + 1}) {
    lengths[static_cast<std::size_t>(b)] = 10 + b % 7;
  }
  CHECK(device_difference([&](auto& device) {
          return attend(device, 16, false, some_dropped, {lengths, lengths});
        }) == "");
  Cuda gpu;
  gpu.set_product_precision(ProductPrecision::bfloat16);  // these are short sequences' kernels
  CHECK(rounding_difference(gpu, 16, false, {lengths, lengths}, 0x1p-7) == "");
}

TEST_CASE("gradients are numbers where all scores are far below 0") {
  // What a tile has behind the last row scores 0: e to the power of 0 - log_sum is infinite there.
  // A sum of terms near 400 is off by 1.5e-5 at each, the score by 0.3 times that.
  CHECK(device_difference(
            [](auto& device) {
              return attend(device, 48, false, nothing_dropped, others, ops::AnyHeadSize(),
                            Scores::low);
            },
            1e-4) == "");
  Cuda gpu;
  if (!multiplies_as(gpu, GENERATE(true, false))) return;
  gpu.set_product_precision(ProductPrecision::bfloat16);
  for (const index_t size : {64, 200}) {
    for (const Lengths* lengths : {&others, &themselves, &short_others, &short_themselves}) {
      CAPTURE(gpu.uses_wgmma(), size, lengths->queries);
      const bool causal = lengths == &themselves || lengths == &short_themselves;
      CHECK(rounding_difference(gpu, size, causal, *lengths, 0x1p-7, nothing_dropped,
                                Scores::low) == "");
    }
  }
}

TEST_CASE("one kernel finds all gradients of short sequences of numbers of 16 bits") {
  Cuda gpu;
  gpu.set_wgmma(false);
  gpu.set_product_precision(ProductPrecision::bfloat16);
  const auto kernels = [&](index_t size, index_t queries, index_t keys) {
    const auto of_queries = layout_of(gpu, {queries}), of_keys = layout_of(gpu, {keys});
    const auto q = random_tensor(gpu, {queries, size}, 1), k = random_tensor(gpu, {keys, size}, 2);
    const auto dq = nan_tensor(gpu, {queries, size}), dk = nan_tensor(gpu, {keys, size});
    const auto log_sums = random_tensor(gpu, {queries, 1}, 3), dv = nan_tensor(gpu, {keys, size});
    const ops::AttentionProblem<Cuda> problem{
        1, size, false, 1.0f, of_queries.get(), of_keys.get(), nothing_dropped};
    const ops::HeadRows<const float> in{q.data(), size}, in_keys{k.data(), size};
    const index_t before = gpu.operations();
    ops::attention_backward(gpu, problem, in, in_keys, in_keys, in, log_sums.data(), in,
                            {dq.data(), size}, {dk.data(), size}, {dv.data(), size});
    return gpu.operations() - before;
  };
  CHECK(kernels(64, 64, 64) == 1);
  CHECK(kernels(128, 64, 64) == 1);
  CHECK(kernels(8, 1, 33) == 1);
  CHECK(kernels(64, 65, 1) == 2);
  CHECK(kernels(64, 1, 65) == 2);
  CHECK(kernels(136, 16, 16) == 2);
  CHECK_NOTHROW(attend(gpu, 64, false, some_dropped, {{0, 0}, {0, 0}}));
  gpu.set_short_attention(false);
  CHECK(kernels(64, 16, 16) == 2);
  gpu.set_short_attention(true);
  gpu.set_product_precision(ProductPrecision::float32);
  CHECK(kernels(64, 16, 16) == 2);
}

TEST_CASE("a scale that is not above 0 is refused") {
  Cuda gpu;
  const auto layout = layout_of(gpu, {4});
  const auto x = random_tensor(gpu, {4, 8}, 1), y = nan_tensor(gpu, {4, 8});
  const Tensor<float, Cuda> log_sums(gpu, {4, 1});
  for (const float scale : {-1.0f, 0.0f, std::nanf("")}) {
    const ops::AttentionProblem<Cuda> problem{1, 8, false, scale, layout.get(), layout.get(), {}};
    const ops::HeadRows<float> rows{x.data(), 8};
    CHECK_THROWS_WITH(
        ops::attention(gpu, problem, rows, rows, rows, ops::HeadRows<float>{y.data(), 8},
                       log_sums.data()),
        Catch::Contains("attention: a scale of") && Catch::Contains("not above 0"));
  }
}

TEST_CASE("blocks of attention have as many rows as shared memory has room for") {
  using namespace ops::detail;
  const auto check = []<class Products, int columns>(Products,
                                                     std::integral_constant<int, columns>) {
    CAPTURE(columns);
    constexpr index_t least = rows_together<Products>;
    for (const index_t shared_bytes : {99 * 1024, 163 * 1024, 227 * 1024}) {
      // Products of warpgroups are those of GPUs that have as much.
      if (Products::warps > 1 && shared_bytes < 227 * 1024) continue;
      const auto room = [&]<int warps>(std::integral_constant<int, warps>, auto words) {
        const auto rows_for = [&](index_t longest) {
          return attention_block_rows<Products, warps>(longest, shared_bytes, words);
        };
        const int rows = rows_for(4000);
        CHECK(4 * words(rows) <= shared_bytes);
        CHECK((rows == warps * warp_rows || 4 * words(2 * rows) > shared_bytes));
        CHECK(ops::DropoutMask::group_columns % rows == 0);
        CHECK(rows_for(least + 1) ==
              (4 * words(2 * least) <= shared_bytes && warps * warp_rows > least ? 2 * least
                                                                                 : least));
      };
      using Warps = std::integral_constant<int, attention_warps<Products, columns>>;
      using KeyWarps = std::integral_constant<int, key_warps<Products, columns>>;
      for (int stages = 1; stages <= query_stages<Products, columns, 1>; ++stages) {
        room(Warps(), [=](int rows) { return query_words<Products, columns, 1>(rows, stages); });
      }
      for (int stages = 1; stages <= query_stages<Products, columns, 2>; ++stages) {
        room(Warps(), [=](int rows) { return query_words<Products, columns, 2>(rows, stages); });
      }
      for (int stages = 1; stages <= key_stages<Products, columns>; ++stages) {
        room(KeyWarps(), [=](int rows) { return key_words<Products, columns>(rows, stages); });
      }
    }
  };
  const auto check_all = [&](auto columns) {
    check(RoundedProducts<Bfloat16>(), columns);
    check(FloatProducts(), columns);
    if constexpr (columns() >= 64) check(WarpgroupProducts<Bfloat16>(), columns);
  };
  check_all(std::integral_constant<int, 16>());
  check_all(std::integral_constant<int, 64>());
  check_all(std::integral_constant<int, 128>());
  check_all(std::integral_constant<int, 256>());
}

TEST_CASE("a head of more than 256 channels is refused") {
  Cuda gpu;
  CHECK_THROWS_WITH(attend(gpu, 264, false, nothing_dropped, others),
                    Catch::Contains("a head of 264 channels; a GPU takes 256"));
}

TEST_CASE("attention of rows that were rounded is that of the floats that they are, rounded") {
  constexpr index_t H = 3;
  Cuda gpu;
  const auto precision = GENERATE(ProductPrecision::bfloat16, ProductPrecision::float16);
  gpu.set_product_precision(precision);
  using Factor = ops::Factor<Cuda>;
  if (!multiplies_as(gpu, GENERATE(true, false))) return;
  const auto lengths =
      GENERATE(std::vector<index_t>{1, 7, 40, 150}, std::vector<index_t>{1, 7, 40, 20});
  // Rows of 5 or 43 channels do not begin at multiples of four numbers.
  for (const index_t size : {5, 43, 64}) {
    const index_t C = H * size;
    CAPTURE(to_text(precision), size, lengths);
    const auto layout = layout_of(gpu, lengths);
    const index_t N = layout->rows();
    const auto rounded = [&](std::uint32_t seed) {
      return Factor(random_tensor(gpu, {N, C}, seed));
    };
    const Factor q = rounded(1), k = rounded(2), v = rounded(3), dy = rounded(4);
    const ops::AttentionProblem<Cuda> problem{
        H, size, true, 0.3f, layout.get(), layout.get(), some_dropped};
    const auto log_sums = nan_tensor(gpu, {N, H}), same = nan_tensor(gpu, {N, H});

    const Factor y(gpu, {N, C}), dq(gpu, {N, C}), dk(gpu, {N, C}), dv(gpu, {N, C});
    const auto in = [&](const Factor& x) { return ops::AnyHeadRows(x.numbers(), C); };
    const auto out = [&](const Factor& x) { return ops::AnyHeadRows(x.target().numbers, C); };
    ops::attention(gpu, problem, in(q), in(k), in(v), out(y), log_sums.data());
    ops::attention_backward(gpu, problem, in(q), in(k), in(v), in(y), log_sums.data(), in(dy),
                            out(dq), out(dk), out(dv));

    const auto q_floats = widened(q), k_floats = widened(k), v_floats = widened(v);
    const auto dy_floats = widened(dy), y_floats = nan_tensor(gpu, {N, C});
    const auto dq_floats = nan_tensor(gpu, {N, C}), dk_floats = nan_tensor(gpu, {N, C});
    const auto dv_floats = nan_tensor(gpu, {N, C});
    const auto rows = [&](const Tensor<float, Cuda>& x) {
      return ops::HeadRows<float>{x.data(), C};
    };
    ops::attention(gpu, problem, rows(q_floats), rows(k_floats), rows(v_floats), rows(y_floats),
                   same.data());
    CHECK(bit_difference(log_sums, same) == "");
    CHECK(bit_difference(widened(y), widened(Factor(y_floats))) == "");
    ops::attention_backward(gpu, problem, rows(q_floats), rows(k_floats), rows(v_floats),
                            rows(widened(y)), same.data(), rows(dy_floats), rows(dq_floats),
                            rows(dk_floats), rows(dv_floats));
    CHECK(bit_difference(widened(dq), widened(Factor(dq_floats))) == "");
    CHECK(bit_difference(widened(dk), widened(Factor(dk_floats))) == "");
    CHECK(bit_difference(widened(dv), widened(Factor(dv_floats))) == "");
  }
}

TEST_CASE("rows of attention are floats, or all of what the device multiplies") {
  const auto refused = [](auto& device, ProductPrecision precision, bool all) {
    device.set_product_precision(precision);
    using D = std::remove_cvref_t<decltype(device)>;
    const auto layout = layout_of(device, {4});
    const auto floats = random_tensor(device, {4, 8}, 1);
    const Tensor<float, D> log_sums(device, {4, 1});
    const ops::Factor<D> rounded(device, {4, 8}, FloatType::bfloat16);
    const ops::Factor<D> results(device, {4, 8}, FloatType::bfloat16);
    ops::convert(device, 32, floats.data(), rounded.target().numbers);
    const ops::AttentionProblem<D> problem{1, 8, false, 1.0f, layout.get(), layout.get(), {}};
    const ops::AnyHeadRows<const void> rows(rounded.numbers(), 8);
    const ops::AnyHeadRows<void> all_rounded(results.target().numbers, 8), others(floats.data(), 8);
    ops::attention(device, problem, rows, rows, rows, all ? all_rounded : others, log_sums.data());
  };
  Cpu cpu;
  Cuda gpu;
  CHECK_THROWS_WITH(
      refused(gpu, ProductPrecision::bfloat16, false),
      Catch::Contains("attention: rows of bfloat16 and float32 on a device that takes "
                      "float32 or bfloat16: all rows must be of one type"));
  CHECK_THROWS_WITH(
      refused(gpu, ProductPrecision::float32, true),
      Catch::Contains("rows of bfloat16 and bfloat16 on a device that takes float32:"));
  CHECK_THROWS_WITH(
      refused(cpu, ProductPrecision::bfloat16, true),
      Catch::Contains("rows of bfloat16 and bfloat16 on a device that takes float32:"));
  CHECK_NOTHROW(refused(gpu, ProductPrecision::bfloat16, true));
}

TEST_CASE("graphs of attention take sequences of any length") {
  // 62,208 bytes of shared memory for the longest of head 64, less than an untold 48 KiB for
  // others.
  const auto attended = [](bool graphs) {
    Cuda device;
    device.set_graphs(graphs);
    std::vector<std::vector<float>> results;
    std::vector<index_t> launches;
    for (const index_t length : {20, 20, 20, 150, 20, 150}) {
      const auto layout = layout_of(device, {length});
      const auto q = random_tensor(device, {length, 64}, 1);
      const auto k = random_tensor(device, {length, 64}, 2);
      const auto v = random_tensor(device, {length, 64}, 3);
      const auto y = nan_tensor(device, {length, 64}), log_sums = nan_tensor(device, {length, 1});
      const ops::AttentionProblem<Cuda> problem{1, 64, true, 0.3f, layout.get(), layout.get(), {}};
      device.synchronize();  // the arrays are there
      const auto in = [&](const Tensor<float, Cuda>& x) {
        return ops::HeadRows<const float>{x.data(), 64};
      };
      const index_t before = device.launches();
      for (int again = 0; again < 3; ++again) {  // enough for a graph
        ops::attention(device, problem, in(q), in(k), in(v), {y.data(), 64}, log_sums.data());
      }
      results.push_back(to_host(y));
      launches.push_back(device.launches() - before);
    }
    CHECK(launches ==
          (graphs ? std::vector<index_t>{3, 1, 1, 1, 1, 1} : std::vector<index_t>(6, 3)));
    return results;
  };
  CHECK(attended(true) == attended(false));
}

}  // namespace attention_tests
