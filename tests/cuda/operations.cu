// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/cuda.cuh>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <weft/ops/activation.hpp>
#include <weft/ops/append.hpp>
#include <weft/ops/convert.hpp>
#include <weft/ops/cross_entropy.hpp>
#include <weft/ops/gated_activation.hpp>
#include <weft/ops/merge_attention.hpp>
#include <weft/ops/rotary.hpp>
#include <weft/ops/rows.hpp>
#include <weft/ops/softmax.hpp>
#include <weft/ops/updates.hpp>
#include <weft/optim/gradient_scale.hpp>
#include <weft/parallel/primitives.hpp>
#include <weft/testing/difference.hpp>
#include <weft/testing/random.hpp>
#include <weft/testing/widened.hpp>

#include "device_difference.hpp"

namespace operations_tests {

using namespace weft;
using namespace weft::testing;

namespace {

template <class D>
Tensor<token_t, D> words(D& device, index_t N, token_t below) {
  std::vector<token_t> ids(static_cast<std::size_t>(N));
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<token_t>(i * 37 + 5) % below;
  return to_device<token_t>(device, ids, {N});
}

//! Drops elements, and says nothing of how its arrays lie: as docs/write-an-operation.md has it.
struct PlainDropoutRow {
  ops::DropoutMask mask;
  const RowKey* keys;
  const float* x;
  float* y;
  index_t C;

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t n) const {
    mask.write(lanes, keys[n], C, y + n * C,
               [&](auto c, auto factor) { return simd::load(x + n * C, c) * factor; });
  }
};

}  // namespace

TEST_CASE("elements that a GPU drops are those that a processor drops") {
  for (const index_t C : {1, 31, 128, 300, 5000}) {  // a warp a row, and a block
    CAPTURE(C);
    CHECK(device_difference(
              [&](auto& device) {
                const auto layout = layout_of(device, {3, 9});
                const auto x = random_tensor(device, {12, C}, 1), y = nan_tensor(device, {12, C});
                const auto plain = nan_tensor(device, {12, C});
                ops::dropout(device, some_dropped, layout->keys, x, y);
                const View<const RowKey> keys = layout->keys;
                device.for_rows(
                    12, C, PlainDropoutRow{some_dropped, keys.data, x.data(), plain.data(), C});
                return std::vector{y, plain};
              },
              0.0) == "");
  }
}

TEST_CASE("rows are normalised, and their gradients are those of a processor") {
  for (const index_t C : {1, 16, 100, 1024, 3000}) {
    CAPTURE(C);
    CHECK(device_difference([&](auto& device) {
            constexpr index_t N = 39;  // several blocks of rows, and a rest
            const auto layout = layout_of(device, {N});
            const auto x = random_tensor(device, {N, C}, 1), dy = random_tensor(device, {N, C}, 2);
            const auto gain = random_tensor(device, {C}, 3), bias = random_tensor(device, {C}, 4);
            const auto y = nan_tensor(device, {N, C}), dx = nan_tensor(device, {N, C});
            const auto both = nan_tensor(device, {N, C}), dbranch = nan_tensor(device, {N, C});
            const auto gradients = nan_tensor(device, {2 * C});
            using D = std::remove_reference_t<decltype(device)>;
            const Tensor<ops::RowMoments, D> moments(device, {N});
            ops::layer_norm(device, x, gain, bias, y, moments);
            const View<const ops::RowMoments> of_rows = moments;
            ops::column_sums(device, ops::layer_norm_backward(device, x, gain, of_rows, dy, {}, dx),
                             gradients);
            const auto sums = ops::residual_layer_norm_backward(
                device, some_dropped, layout->keys, x, gain, of_rows, dy, {}, both, dbranch);
            const auto in_place = random_tensor(device, {N, C}, 2);  // dy becomes dx
            (void)ops::layer_norm_backward(device, x, gain, of_rows, in_place, {}, in_place);
            // What reaches the sum past the normalisation, too.
            const auto past = random_tensor(device, {N, C}, 5),
                       with_past = nan_tensor(device, {N, C});
            const auto of_branch = nan_tensor(device, {N, C});
            (void)ops::residual_layer_norm_backward(device, some_dropped, layout->keys, x, gain,
                                                    of_rows, dy, past, with_past, of_branch);
            return std::vector{y,    dx,       gradients, both,     dbranch,
                               sums, in_place, with_past, of_branch};
          }) == "");
  }
}

TEST_CASE("how a vector lies changes no bit of a row") {
  Cuda gpu;
  for (const index_t C : {30, 1024, 3000}) {
    const auto x = random_tensor(gpu, {9, C}, 1), vectors = random_tensor(gpu, {C + 1}, 2);
    const auto gain = random_tensor(gpu, {C}, 3);
    const auto results = [&](const float* bias) {
      const auto y = nan_tensor(gpu, {9, C});
      const Tensor<ops::RowMoments, Cuda> moments(gpu, {9});
      ops::layer_norm(gpu, x, gain, View<const float>(bias, {C}), y, moments);
      const auto dx = nan_tensor(gpu, {9, C});
      (void)ops::layer_norm_backward(gpu, x, View<const float>(bias, {C}),
                                     View<const ops::RowMoments>(moments), y, {}, dx);
      return std::pair(to_host(y), to_host(dx));
    };
    const std::vector<float> all = to_host(vectors);
    const auto in_line = to_device<float>(gpu, std::vector<float>(all.begin() + 1, all.end()), {C});
    CHECK(results(vectors.data() + 1) == results(in_line.data()));
  }
}

TEST_CASE(
    "a row has the same bits among many, which a warp takes, as among few, which a block does") {
  constexpr index_t many = 4096, few = 3, C = 1028;
  Cuda gpu;
  const auto layout = layout_of(gpu, {many});
  const auto x = random_tensor(gpu, {many, C}, 1), branch = random_tensor(gpu, {many, C}, 2);
  const auto all = nan_tensor(gpu, {many, C}), some = nan_tensor(gpu, {few, C});
  const auto add = [&](index_t rows, const Tensor<float, Cuda>& sum) {
    ops::residual(gpu, some_dropped, {layout->keys.data(), {rows}}, {x.data(), {rows, C}},
                  View<const float>(branch.data(), {rows, C}), {}, sum);
  };
  add(many, all);
  add(few, some);
  const auto expected = to_host(some), found = to_host(all);
  CHECK(std::equal(expected.begin(), expected.end(), found.begin()));
}

TEST_CASE("rows are divided by the root of their mean square as by a processor") {
  for (const index_t C : {1, 16, 100, 1024, 3000}) {
    CAPTURE(C);
    CHECK(device_difference([&](auto& device) {
            constexpr index_t N = 39;
            constexpr auto none = ops::Centring::none;
            const auto layout = layout_of(device, {N});
            const auto x = random_tensor(device, {N, C}, 1), dy = random_tensor(device, {N, C}, 2),
                       past = random_tensor(device, {N, C}, 5);
            const auto gain = random_tensor(device, {C}, 3), sum = nan_tensor(device, {N, C}),
                       y = nan_tensor(device, {N, C}), of_sum = nan_tensor(device, {N, C}),
                       dx = nan_tensor(device, {N, C}), dbranch = nan_tensor(device, {N, C}),
                       gradient = nan_tensor(device, {C});
            using D = std::remove_reference_t<decltype(device)>;
            const Tensor<ops::RowMoments, D> moments(device, {N}), of_rows(device, {N});
            ops::layer_norm<none>(device, x, gain, {}, y, moments);
            ops::residual_layer_norm<none>(device, some_dropped, layout->keys, x, dy, {}, sum, gain,
                                           {}, of_sum, of_rows);
            const auto sums = ops::residual_layer_norm_backward<none>(
                device, some_dropped, layout->keys, sum, gain, of_rows, dy, past, dx, dbranch);
            ops::column_sums(device, sums, gradient);
            return std::vector{y, sum, of_sum, dx, dbranch, gradient};
          }) == "");
  }
}

TEST_CASE("gates and their gradients are those of a processor") {
  for (const index_t C : {1, 70, 72, 4200}) {
    CAPTURE(C);
    CHECK(device_difference([&](auto& device) {
            using ops::Activation;
            const auto layout = layout_of(device, {4, 5});
            const auto x = random_tensor(device, {9, 2 * C}, 1),
                       dy = random_tensor(device, {9, C}, 2);
            const auto y = nan_tensor(device, {9, C}), dx = nan_tensor(device, {9, 2 * C});
            ops::gated_activation_dropout<Activation::silu>(device, some_dropped, layout->keys, x,
                                                            y);
            ops::gated_activation_dropout_backward<Activation::silu>(device, some_dropped,
                                                                     layout->keys, x, dy, dx);
            ops::gated_activation_dropout_backward<Activation::silu>(device, some_dropped,
                                                                     layout->keys, x, dy, x);
            return std::vector{y, dx, x};
          }) == "");
  }
}

TEST_CASE("channels are turned by their positions as by a processor") {
  for (const index_t P : {1, 32, 64, 100}) {  // pairs of a head
    CAPTURE(P);
    CHECK(device_difference([&](auto& device) {
            constexpr index_t H = 3;
            const auto layout = layout_of(device, {40, 0, 300});
            const auto x = random_tensor(device, {340, 2 * H * P + 2}, 1);
            const auto frequencies = random_tensor(device, {P}, 2, 0.0f, 1.0f);
            const ops::HeadRows<float> rows{x.data(), 2 * H * P + 2};
            ops::rotary(device, layout->keys, frequencies, rows, H, ops::Turn::forth);
            const auto turned = nan_tensor(device, x.shape());
            ops::copy(device, x, turned);
            ops::rotary(device, layout->keys, frequencies, rows, H, ops::Turn::back);
            return std::vector{turned, x};
          }) == "");
  }
}

TEST_CASE("cross entropy and its gradient are those of a processor") {
  // Held by a warp, by blocks of 256 and of 1,024 threads, and by none; as quads and not.
  for (const index_t V : {6, 200, 600, 1024, 3001, 8192, 9999, 28782, 32768, 40000}) {
    for (const float smoothing : {0.0f, 0.1f}) {
      CAPTURE(V, smoothing);
      CHECK(
          device_difference([&](auto& device) {
            const auto logits = random_tensor(device, {9, V}, 1, -5.0f, 5.0f);
            const auto bias = random_tensor(device, {V}, 2), losses = nan_tensor(device, {9});
            const auto labels = words(device, 9, static_cast<token_t>(V));
            ops::cross_entropy(device, logits, bias, labels, /*ignored=*/5, smoothing, logits,
                               losses);
            // Apart: the gradient at a label is a thousand times that of other words.
            auto gradients = to_host(logits);
            const auto chosen = to_host(labels);
            std::vector<float> of_labels;
            for (std::size_t n = 0; n < chosen.size(); ++n) {
              float& gradient =
                  gradients[n * static_cast<std::size_t>(V) + static_cast<std::size_t>(chosen[n])];
              of_labels.push_back(std::exchange(gradient, 0.0f));
            }
            return std::vector{losses, to_device<float>(device, of_labels, {9}),
                               to_device<float>(device, gradients, {9, V})};
          }) == "");
    }
  }
}

TEST_CASE("cross entropy passes over words that cannot come, and tells of a NaN") {
  const float never = -std::numeric_limits<float>::infinity();
  // Held by a warp, by blocks of 256 and of 1,024 threads, and by none.
  for (const index_t V : {600, 3001, 9999, 40000}) {
    CAPTURE(V);
    const auto losses_and_gradients = [V, never](auto& device, float last) {
      // One, all that a lane begins with, and all but the last and the label.
      auto numbers = random_values(3 * V, 1);
      numbers[1] = never;
      for (index_t v = V + 4; v < 2 * V - 1; v += 128) numbers[v] = never;
      std::fill_n(numbers.begin() + 2 * V + 4, V - 5, never);
      numbers[3 * V - 1] = last;
      const auto logits = to_device<float>(device, numbers, {3, V});
      const auto losses = nan_tensor(device, {3});
      const auto labels = to_device<token_t>(device, std::vector<token_t>{3, 3, 3}, {3});
      ops::cross_entropy(device, logits, {}, labels, ops::ignore_nothing, 0.0f, logits, losses);
      return std::vector{losses, logits};
    };
    CHECK(device_difference([&](auto& device) { return losses_and_gradients(device, 1.0f); }) == "");
    Cuda gpu;
    const auto found = losses_and_gradients(gpu, std::nanf(""));
    const auto losses = to_host(found[0]), gradients = to_host(found[1]);
    CHECK_FALSE(std::isnan(losses[1]));
    CHECK(std::isnan(losses[2]));
    CHECK(std::all_of(gradients.end() - V, gradients.end(), [](float g) { return std::isnan(g); }));
  }
}

TEST_CASE("softmax and its gradient are those of a processor") {
  for (const index_t C : {3, 700, 2500}) {
    CHECK(device_difference([&](auto& device) {
            const auto x = random_tensor(device, {5, C}, 1, -4.0f, 4.0f);
            const auto dy = random_tensor(device, {5, C}, 2), dx = nan_tensor(device, {5, C});
            const auto y = nan_tensor(device, {5, C}), logs = nan_tensor(device, {5, C});
            ops::softmax(device, x, y);
            ops::log_softmax(device, x, logs);
            ops::softmax_backward(device, y, dy, dx);
            return std::vector{y, logs, dx};
          }) == "");
  }
}

TEST_CASE("logits of minus infinity are words that cannot come, and others stay as they are") {
  // One, all that a lane begins with, and all but the last of a row.
  for (const index_t C : {3, 700, 2500}) {
    CHECK(device_difference([&](auto& device) {
            auto numbers = random_values(3 * C, 1);
            const float never = -std::numeric_limits<float>::infinity();
            numbers[1] = never;
            for (index_t c = C; c < 2 * C - 1; c += 32) numbers[c] = never;
            std::fill_n(numbers.begin() + 2 * C, C - 1, never);
            const auto x = to_device<float>(device, numbers, {3, C});
            const auto y = nan_tensor(device, {3, C});
            ops::softmax(device, x, y);
            return std::vector{y};
          }) == "");
  }
}

TEST_CASE("words are embedded, and rows of one word are added up") {
  const auto C = GENERATE(index_t{40}, index_t{4200});

  CHECK(device_difference([&](auto& device) {
          const auto layout = layout_of(device, {4, 5, 30});
          const auto table = random_tensor(device, {5, C}, 1);
          const auto positions = random_tensor(device, {32, C}, 2);
          const auto dy = random_tensor(device, {39, C}, 3), y = nan_tensor(device, {39, C});
          const auto dtable = nan_tensor(device, {5, C}), sums = random_tensor(device, {5, C}, 4);
          const auto dpositions = nan_tensor(device, {32, C});
          const auto ids = words(device, 39, 5);
          ops::embedding(device, some_dropped, *layout, ids, table, 2.0f, positions, y);
          ops::embedding_backward(device, View<const token_t>(ids), dy, 2.0f, dtable,
                                  ops::Write::replace);
          ops::embedding_backward(device, View<const token_t>(ids), dy, 2.0f, sums,
                                  ops::Write::accumulate);
          ops::position_backward(device, *layout, dy, dpositions, ops::Write::replace);
          return std::vector{y, dtable, sums, dpositions};
        }) == "");
}

TEST_CASE("the three products of a linear layer are those of a processor") {
  for (const index_t K : {1, 40, 1000}) {
    CAPTURE(K);
    CHECK(
        device_difference(
            [&](auto& device) {
              const auto a = random_tensor(device, {33, K}, 1),
                         b = random_tensor(device, {20, K}, 2);
              const auto c = random_tensor(device, {K, 20}, 3),
                         d = random_tensor(device, {33, 20}, 4);
              const auto nt = nan_tensor(device, {33, 20}), nn = random_tensor(device, {33, 20}, 5);
              const auto tn = nan_tensor(device, {K, 20});
              ops::matmul_nt(device, a, b, nt);
              ops::matmul_nn(device, a, c, nn, ops::Write::accumulate);
              ops::matmul_tn(device, a, d, tn);
              // A bias that a product adds itself, and one that begins elsewhere.
              const auto bias = random_tensor(device, {24}, 6);
              const auto y = nan_tensor(device, {33, 20}), z = nan_tensor(device, {33, 20});
              ops::linear(device, a, b, {bias.data(), {20}}, y);
              ops::linear(device, a, b, {bias.data() + 1, {20}}, z);
              return std::vector{nt, nn, tn, y, z};
            },
            1e-4) == "");
  }
}

TEST_CASE("products of rounded factors are those of a processor") {
  const auto precision = GENERATE(ProductPrecision::bfloat16, ProductPrecision::float16);
  for (const index_t size : {70, 1030}) {
    CAPTURE(to_text(precision), size);
    CHECK(device_difference(
              [&](auto& device) {
                device.set_product_precision(precision);
                const auto a = random_tensor(device, {size, size}, 1);
                const auto b = random_tensor(device, {size, 1025}, 2);
                const auto c = random_tensor(device, {size, 1025}, 3);
                ops::matmul_nn(device, a, b, c, ops::Write::accumulate);
                return std::vector{c};
              },
              1e-4) == "");
  }
}

TEST_CASE("factors that are rounded once give the products and gradients of a processor") {
  const auto precision = GENERATE(ProductPrecision::bfloat16, ProductPrecision::float16);
  for (const index_t size : {70, 1030}) {
    CAPTURE(to_text(precision), size);
    CHECK(device_difference(
              [&]<class D>(D& device) {
                device.set_product_precision(precision);
                const auto floats = random_tensor(device, {size, 1025}, 1);
                const ops::Factor<D> x(floats), dy(random_tensor(device, {size, 1025}, 2));
                const auto w = random_tensor(device, {33, 1025}, 3);
                const auto y = random_tensor(device, {size, 33}, 4);
                const auto dw = random_tensor(device, {1025, 1025}, 5);
                const auto drelu = random_tensor(device, {size, 1025}, 6);
                ops::matmul_nt(device, x, w, y);
                ops::matmul_tn(device, dy, x, dw, ops::Write::accumulate);
                ops::relu_dropout_backward(device, some_dropped, x, floats, drelu);
                return std::vector{y, dw, drelu};
              },
              1e-4) == "");
  }
}

TEST_CASE("products of which 16 bytes are no part are those of a processor") {
  const auto precision = GENERATE(ProductPrecision::bfloat16, ProductPrecision::float16);
  CAPTURE(to_text(precision));
  constexpr index_t N = 40, in = 1030, out = 1035;  // by eights, 6 and 3 are left over
  CHECK(device_difference(
            [&]<class D>(D& device) {
              device.set_product_precision(precision);
              const ops::Factor<D> x(random_tensor(device, {N, in}, 1)),
                  w(random_tensor(device, {out, in}, 2)), dy(random_tensor(device, {N, out}, 3));
              const auto bias = random_tensor(device, {out}, 4);
              const auto y = nan_tensor(device, {N, out}), dx = nan_tensor(device, {N, in});
              const auto dw = nan_tensor(device, {out, in}), db = nan_tensor(device, {out});
              ops::linear(device, x, w, bias, y);
              ops::matmul_nn(device, dy, w, dx);
              ops::linear_gradients(device, dy, x, dw, ops::Write::replace, db,
                                    ops::Write::replace);
              return std::vector{y, dx, dw, db};
            },
            1e-4) == "");
}

TEST_CASE("a product over no rows is 0, and what lies around it stays as it is") {
  Cuda device;
  device.set_product_precision(ProductPrecision::bfloat16);
  constexpr index_t M = 8, N = 1030, room = 2048;
  const auto before = to_device<float>(device, std::vector<float>(room + M * N + room, 3.0f),
                                       {room + M * N + room});
  const ops::Factor<Cuda> a(Tensor<float, Cuda>(device, {0, M})),
      b(Tensor<float, Cuda>(device, {0, N}));
  ops::matmul_tn(device, a, b, {before.data() + room, {M, N}});
  std::vector<float> expected(room + M * N + room, 3.0f);
  std::fill_n(expected.begin() + room, M * N, 0.0f);
  CHECK(to_host(before) == expected);
  // Nor what lies between its rows.
  const auto apart = to_device<float>(device, std::vector<float>(3 * 5, 3.0f), {15});
  const ops::Factor<Cuda> few(Tensor<float, Cuda>(device, {0, 3})),
      columns(Tensor<float, Cuda>(device, {0, 2}));
  ops::matmul_tn(device, few, columns, {apart.data(), {3, 2}, 5});
  CHECK(to_host(apart) == std::vector<float>{0, 0, 3, 3, 3, 0, 0, 3, 3, 3, 0, 0, 3, 3, 3});
}

TEST_CASE("products are rounded as they are written, with and without a bias") {
  const auto precision = GENERATE(ProductPrecision::bfloat16, ProductPrecision::float16);
  const auto type = GENERATE(FloatType::bfloat16, FloatType::float16);  // of the result
  for (const index_t K : {0, 40, 1000}) {
    CAPTURE(to_text(precision), to_text(type), K);
    // The order of sums decides which way some are rounded: to one of two neighbours.
    CHECK(device_difference(
              [&]<class D>(D& device) {
                device.set_product_precision(precision);
                const auto a = random_tensor(device, {33, K}, 1),
                           b = random_tensor(device, {20, K}, 2);
                const auto bias = random_tensor(device, {24}, 3);
                const ops::Factor<D> c(device, {33, 20}, type), y(device, {33, 20}, type),
                    z(device, {33, 20}, type);
                ops::matmul_nt(device, a, b, c.target());
                ops::linear(device, a, b, {bias.data(), {20}}, y.target());
                ops::linear(device, a, b, {bias.data() + 1, {20}}, z.target());
                return std::vector{widened(c), widened(y), widened(z)};
              },
              0x1p-7) == "");
  }
}

TEST_CASE("what stands around a linear layer's products is that of a processor") {
  // In floats cuBLASLt sums no gradient of a bias, and it replaces sums, never adds to them.
  const auto precision = GENERATE(ProductPrecision::float32, ProductPrecision::bfloat16);
  const auto write = GENERATE(ops::Write::replace, ops::Write::accumulate);
  for (const auto& mask : {nothing_dropped, some_dropped}) {
    for (const index_t offset : {0, 1}) {  // a vector that cuBLASLt takes, and one that it may not
      CAPTURE(to_text(precision), mask.active(), offset);
      CHECK(device_difference(
                [&]<class D>(D& device) {
                  device.set_product_precision(precision);
                  const auto layout = layout_of(device, {20, 13});
                  const ops::Factor<D> x(random_tensor(device, {33, 40}, 1)),
                      dy(random_tensor(device, {33, 24}, 2)), y(device, {33, 24}),
                      without_bias(device, {33, 24}),
                      product(device, {33, 24}, ops::result_type(device));
                  const auto w = random_tensor(device, {24, 40}, 3);
                  const auto dw = random_tensor(device, {24, 40}, 4);
                  const auto b = random_tensor(device, {32}, 5),
                             db = random_tensor(device, {32}, 6);
                  const View<float> of_bias(db.data() + offset, {24});
                  ops::linear_activation_dropout<ops::Activation::relu>(
                      device, mask, layout->keys, x, w, {b.data() + offset, {24}}, product.target(),
                      y.target());
                  ops::linear_activation_dropout<ops::Activation::relu>(
                      device, mask, layout->keys, x, w, {}, product.target(),
                      without_bias.target());
                  ops::linear_gradients(device, dy, x, dw, write, of_bias, write);
                  return std::vector{widened(y), widened(without_bias), dw, db};
                },
                precision == ProductPrecision::float32 ? 1e-5 : 0x1p-7) == "");
    }
  }
}

TEST_CASE("sums over rows are a processor's, of one block and of many") {
  for (const index_t rows : {1, 256, 257, 2500}) {
    CAPTURE(rows);
    CHECK(device_difference([&](auto& device) {
            const auto x = random_tensor(device, {rows, 70}, 1),
                       sums = random_tensor(device, {70}, 2);
            ops::column_sums(device, x, sums, ops::Write::accumulate);
            // More columns than before, on a device that has counted before.
            const auto wide = random_tensor(device, {600, 2000}, 3),
                       of_wide = nan_tensor(device, {2000});
            ops::column_sums(device, wide, of_wide);
            const auto again = nan_tensor(device, {70});
            ops::column_sums(device, x, again);
            return std::vector{sums, of_wide, again};
          }) == "");
  }
}

TEST_CASE("sums of columns that are read four at a time have the bits of those read one by one") {
  constexpr index_t C = 200;
  Cuda gpu;
  gpu.set_product_precision(
      GENERATE(ProductPrecision::float32, ProductPrecision::bfloat16, ProductPrecision::float16));
  for (const index_t rows : {3, 600}) {
    CAPTURE(to_text(gpu.product_precision()), rows);
    const ops::Factor<Cuda> x(random_tensor(gpu, {rows, C}, 1));
    const auto all = random_tensor(gpu, {C}, 2), some = nan_tensor(gpu, {C});
    gpu.copy(some.data(), all.data(), C * 4);
    ops::column_sums(gpu, x, all, ops::Write::accumulate);
    CHECK(ops::detail::RowTerm{x.numbers(), C}.lies_in_quads());
    CHECK_FALSE(ops::detail::RowTerm{x.numbers() + 1, C}.lies_in_quads());
    // All but the first and the last three begin where no four neighbours do.
    ops::column_sums(gpu, {x.numbers() + 1, {rows, C - 4}, C}, {some.data() + 1, {C - 4}},
                     ops::Write::accumulate);
    const auto expected = to_host(all), found = to_host(some);
    CHECK(std::equal(found.begin() + 1, found.end() - 3, expected.begin() + 1));
  }
}

TEST_CASE("Adam and averages make the updates of a processor") {
  constexpr index_t n = 3 * ops::block_size + 17;
  CHECK(device_difference([&](auto& device) {
          const auto gradients = random_tensor(device, {n}, 1),
                     values = random_tensor(device, {n}, 2);
          const auto m = random_tensor(device, {n}, 3),
                     v = random_tensor(device, {n}, 4, 0.0f, 1.0f);
          const ops::AdamStep adam{0.5f, 0.99f, 0.1f, 0.01f, 0.01f, 3.0f, 1e-8f, 0.01f, 1.0f};
          ops::adam_update(device, adam, n, 0, ops::block_count(n), gradients.data(), values.data(),
                           m.data(), v.data());
          const auto averages = random_tensor(device, {n}, 6);
          ops::average_update(device, 0.3f, nullptr, n, 1, ops::block_count(n), values.data(),
                              averages.data());
          return std::vector{values, m, v, averages};
        }) == "");
}

TEST_CASE("SGD makes the updates of a processor, and rounds the values that it writes") {
  constexpr index_t n = 3 * ops::block_size + 17;
  for (const auto& [momentum, nesterov] :
       {std::pair{0.0f, false}, std::pair{0.9f, false}, std::pair{0.9f, true}}) {
    CAPTURE(momentum, nesterov);
    CHECK(device_difference([&](auto& device) {
            const auto gradients = random_tensor(device, {n}, 1),
                       values = random_tensor(device, {n}, 2),
                       velocities = random_tensor(device, {n}, 3);
            const Tensor<Bfloat16, std::remove_reference_t<decltype(device)>> rounded(device, {n});
            device.clear(rounded.data(), n * index_t{sizeof(Bfloat16)});
            const ops::SgdStep step{0.5f, 0.1f, momentum, 0.01f, nesterov};
            // Without momentum there are no velocities.
            ops::sgd_update(device, step, n, 1, ops::block_count(n), gradients.data(),
                            values.data(), momentum > 0.0f ? velocities.data() : nullptr,
                            rounded.data());
            const auto floats = to_host(values);
            const auto as_written = to_host(rounded);
            std::vector<float> errors;
            for (std::size_t i = ops::block_size; i < floats.size(); ++i) {
              errors.push_back(static_cast<float>(as_written[i]) -
                               static_cast<float>(Bfloat16(floats[i])));
            }
            return std::vector{values, velocities,
                               to_device<float>(device, errors, {n - ops::block_size})};
          }) == "");
  }
}

TEST_CASE("what a gradient is multiplied by has the bits of a processor") {
  constexpr index_t n = 2500;
  std::vector<double> sums(n);
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = 1.0 / static_cast<double>(3 * i + 7);
  const auto found = [&](Cuda&& device) {
    const auto on_device = to_device<double>(device, sums, {n});
    const Tensor<optim::GradientScale, Cuda> scale(device, {1});
    optim::find_gradient_scale(device, on_device, 3, 0.1, scale, 65536.0);
    return to_host(scale)[0];
  };
  CHECK(found(Cuda()).factor ==
        optim::GradientScale(ops::ordered_sum(sums), 3, 0.1, 65536.0).factor);
}

TEST_CASE("a weight has the same bits whether it is rounded alone or with all others") {
  Cuda gpu;
  gpu.set_product_precision(ProductPrecision::bfloat16);
  const auto floats = random_tensor(gpu, {4096}, 1), x = random_tensor(gpu, {16, 32}, 2);
  const auto product = [&](const ops::FactorView& weight) {
    const auto y = nan_tensor(gpu, {16, 24});
    ops::matmul_nt(gpu, x, weight, y);
    return to_host(y);
  };
  const ops::Factor<Cuda> all(floats);
  for (const index_t offset : {0, 8, 16, 24}) {  // at 16 bytes, where it is read among all others
    CAPTURE(offset);
    const View<const float> alone(floats.data() + offset, {24, 32});
    const auto expected = product(ops::FactorView(all.numbers() + offset, {24, 32}));
    CHECK(product(alone) == expected);
    CHECK(product(ops::Factor<Cuda>(gpu, alone)) == expected);
  }
}

TEST_CASE("a weight that begins anywhere is rounded to where it reads fast") {
  Cuda gpu;
  gpu.set_product_precision(ProductPrecision::bfloat16);
  const auto floats = random_tensor(gpu, {4096}, 1);
  for (const index_t offset : {1, 2, 5}) {
    const ops::Factor<Cuda> weight(gpu, View<const float>(floats.data() + offset, {24, 32}));
    CHECK(reinterpret_cast<std::uintptr_t>(weight.numbers().data) % 16 == 0);
  }
}

TEST_CASE("products take operands that begin anywhere") {
  for (const index_t offset : {1, 2, 4, 16}) {
    CAPTURE(offset);
    CHECK(device_difference([&](auto& device) {
            const auto buffer = random_tensor(device, {4096}, 1);
            const auto at = [&](index_t place, Shape shape) {
              return View<float>(buffer.data() + place + offset, shape);
            };
            const View<float> a = at(0, {16, 32}), b = at(1024, {24, 32}), c = at(2048, {16, 24});
            ops::matmul_nt(device, a, b, c);
            ops::matmul_tn(device, c, a, at(3072, {24, 32}), ops::Write::accumulate);
            return std::vector{buffer};
          }) == "");
  }
}

TEST_CASE("rows are appended and numbers converted as by a processor") {
  CHECK(device_difference(
            [&](auto& device) {
              const auto cache = random_tensor(device, {2, 3, 40}, 1);
              const auto fresh = random_tensor(device, {2, 40}, 2);
              const auto out = random_tensor(device, {2, 5, 40}, 3);
              const auto parents = to_device<index_t>(device, std::vector<index_t>{1, 1}, {2});
              ops::append_rows(device, cache, 3, parents, {fresh.data(), 40}, out);
              ops::append_rows(device, 4, {fresh.data(), 40}, out);
              const auto places = to_device<index_t>(device, std::vector<index_t>{7, 1}, {2});
              ops::append_rows(device, {fresh.data(), 40}, places,
                               View<float>(out.data(), {10, 40}));
              using D = std::remove_reference_t<decltype(device)>;
              const auto of_16_bits = [&](auto number) {
                const auto back = nan_tensor(device, {10, 40});
                const Tensor<decltype(number), D> narrow(device, {10 * 40});
                ops::convert(device, 10 * 40, out.data(), narrow.data());
                ops::convert(device, 10 * 40, narrow.data(), back.data());
                return back;
              };
              return std::vector{out, of_16_bits(Bfloat16()), of_16_bits(Float16())};
            },
            0.0) == "");
}

TEST_CASE("two attentions are merged as by a processor") {
  CHECK(device_difference(
            [&](auto& device) {
              const auto out = random_tensor(device, {5, 120}, 1);
              const auto rows = to_device<index_t>(device, std::vector<index_t>{3, 0}, {2});
              ops::merge_attention(device, rows, random_tensor(device, {5, 120}, 2),
                                   random_tensor(device, {5, 3}, 3, -4.0f, 4.0f), out,
                                   random_tensor(device, {5, 3}, 4, -4.0f, 4.0f));
              return std::vector{out};
            },
            1e-6) == "");
}

TEST_CASE("many uploads that nobody waits for keep their bytes") {
  Cuda gpu;
  std::vector<Tensor<float, Cuda>> tensors;
  for (int i = 0; i < 100; ++i) {
    const std::vector<float> host(64, static_cast<float>(i));
    tensors.push_back(to_device<float>(gpu, host, {64}));
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    CAPTURE(i);
    CHECK(to_host(tensors[i]) == std::vector<float>(64, static_cast<float>(i)));
  }
}

TEST_CASE("tensors go to the devices of a group, and come back as they were") {
  const bool graphs = GENERATE(false, true);
  const DeviceGroup<Cuda> group(3);
  for (int index = 0; index < group.size(); ++index) group[index].set_graphs(graphs);
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    const auto x = random_tensor(group[0], {7, 33}, seed);
    const auto pieces = parallel::scatter(group, x);
    CHECK(bit_difference(parallel::gather(group[1], pieces), x) == "");
    const auto copies = parallel::broadcast(group, x);
    const Matrix once = matrix(x);
    const Matrix sum = matrix(7, 33, [&](index_t r, index_t c) { return 3 * once(r, c); });
    CHECK(difference(parallel::reduce_add(group[2], copies), sum, 1e-6) == "");
    for (int index = 1; index < group.size(); ++index) group[0].wait_for(group[index]);
  }
}

namespace {

//! A call that can be launched, but not recorded.
struct Unrecordable {
  int* launches;

  [[nodiscard]] cudaError_t operator()(cudaStream_t) const {
    if (++*launches > 1) throw CudaError("a call that cannot be recorded");
    return cudaSuccess;
  }
  friend bool operator==(const Unrecordable&, const Unrecordable&) = default;
};

}  // namespace

TEST_CASE("what cannot be recorded is an error, and the device goes on") {
  Cuda device;
  device.set_graphs(true);
  const Tensor<float, Cuda> zeros(device, {6});
  int launches = 0;
  const auto queue = [&] {  // enough for a graph
    device.clear(zeros.data(), 4);
    device.call("a call", Unrecordable{&launches});
    device.clear(zeros.data() + 1, 20);
  };
  queue();
  device.synchronize();
  queue();
  CHECK_THROWS_WITH(device.synchronize(), Catch::Contains("cannot be recorded"));
  CHECK(launches == 3);  // the second while it was recorded, the third in place of that
  CHECK(to_host(zeros) == std::vector<float>(6));
  const auto x = random_tensor(device, {5, 6}, 1);
  CHECK(to_host(x) == to_host(random_tensor(device, {5, 6}, 1)));
}

TEST_CASE("sums over rows are right after an error, also the first ones of a device") {
  Cuda device;
  const auto x = to_device<float>(device, std::vector<float>(3000, 1.0f), {1000, 3});
  const auto sums = nan_tensor(device, {3});
  device.set_graphs(true);
  int launches = 0;
  device.call("a call", Unrecordable{&launches});
  device.synchronize();
  device.call("a call", Unrecordable{&launches});
  const auto add_up = [&] {
    ops::column_sums(device, x, sums);
    return to_host(sums);
  };
  CHECK_THROWS_WITH(add_up(), Catch::Contains("cannot be recorded"));
  for (int again = 0; again < 3; ++again) CHECK(add_up() == std::vector<float>(3, 1000.0f));
}

TEST_CASE("the same operation gives the same bits on a GPU twice") {
  Cuda device;
  const auto dy = random_tensor(device, {3000, 50}, 1);
  const auto ids = words(device, 3000, 5);
  const auto first = nan_tensor(device, {5, 50}), second = nan_tensor(device, {5, 50});
  for (const auto& table : {first, second}) {
    ops::embedding_backward(device, View<const token_t>(ids), dy, 1.0f, table, ops::Write::replace);
  }
  CHECK(bit_difference(first, second) == "");
}

TEST_CASE("the gradients of a linear layer have the same bits on a GPU each time") {
  Cuda device;
  device.set_product_precision(GENERATE(ProductPrecision::float32, ProductPrecision::bfloat16));
  constexpr index_t N = 4096, in = 64, out = 128;  // so many rows may be divided among blocks
  const ops::Factor<Cuda> x(random_tensor(device, {N, in}, 1)),
      dy(random_tensor(device, {N, out}, 2));
  const auto gradients = [&] {
    const auto dw = nan_tensor(device, {out, in}), db = nan_tensor(device, {out});
    ops::linear_gradients(device, dy, x, dw, ops::Write::replace, db, ops::Write::replace);
    return std::pair(dw, db);
  };
  const auto [dw, db] = gradients();
  for (int again = 0; again < 10; ++again) {
    const auto [dw_again, db_again] = gradients();
    CHECK(bit_difference(dw, dw_again) == "");
    CHECK(bit_difference(db, db_again) == "");
  }
}

}  // namespace operations_tests
