// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/ops/check_finite.hpp>

#include <weft/core/philox.hpp>
#include <weft/ops/activation.hpp>
#include <weft/ops/attention.hpp>
#include <weft/ops/column_sums.hpp>
#include <weft/ops/cross_entropy.hpp>
#include <weft/ops/dropout.hpp>
#include <weft/ops/embedding.hpp>
#include <weft/ops/factor.hpp>
#include <weft/ops/gated_activation.hpp>
#include <weft/ops/layer_norm.hpp>
#include <weft/ops/linear.hpp>
#include <weft/ops/matmul.hpp>
#include <weft/ops/merge_attention.hpp>
#include <weft/ops/residual.hpp>
#include <weft/ops/rotary.hpp>
#include <weft/ops/rows.hpp>
#include <weft/ops/softmax.hpp>
#include <weft/tensor/sequences.hpp>
#include <weft/tensor/tensor.hpp>
#include <weft/testing/far_device.hpp>

#include <catch2/catch.hpp>

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "../message_of.hpp"

namespace check_finite_tests {

using namespace weft;
using namespace weft::ops;
using namespace weft::testing;

namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float huge = std::numeric_limits<float>::max();

template <class D>
Tensor<float, D> tensor(D& device, const std::vector<float>& elements, Shape shape) {
  return to_device<float>(device, elements, shape);
}

//! (2, 2) times (1, 2) transposed, of which element (1, 0) overflows.
template <class D>
void overflow(D& device) {
  const auto a = tensor(device, {1, 2, huge, huge}, {2, 2});
  const auto b = tensor(device, {1, 1}, {1, 2});
  matmul_nt(device, View<const float>(a), View<const float>(b),
            View<float>(tensor(device, {0, 0}, {2, 1})));
}

}  // namespace

TEMPLATE_TEST_CASE("an operation is named that makes a number that is not finite", "", Cpu,
                   testing::FarDevice) {
  TestType device;
  CHECK_NOTHROW(overflow(device));
  {
    const CheckFinite checked;
    CHECK(message_of<NotFiniteError>([&] { overflow(device); }) ==
          "matmul_nt: c has inf at (1, 0) of (2, 1)");
  }
  CHECK_NOTHROW(overflow(device));
}

TEST_CASE("numbers are checked as long as one check lives") {
  Cpu device;
  const CheckFinite outer;
  { const CheckFinite inner; }
  CHECK_THROWS_AS(overflow(device), NotFiniteError);
}

TEST_CASE("what an operation reads may be as it likes") {
  Cpu device;
  const auto x = tensor(device, {not_a_number, 1}, {2, 1}), y = tensor(device, {0, 0}, {2, 1});
  const CheckFinite checked;
  CHECK(message_of<NotFiniteError>([&] { add(device, View<const float>(x), View<float>(y)); }) ==
        "add: y has nan at (0, 0) of (2, 1)");
}

TEST_CASE("the error tells which parameter was asked for last") {
  Cpu device;
  const CheckFinite checked;
  CheckFinite::at(40);
  try {
    overflow(device);
    FAIL("nothing was thrown");
  } catch (const NotFiniteError& error) {
    CHECK(error.parameter() == 40);
  }
}

TEMPLATE_TEST_CASE("the rows of heads are those of a wider array", "", Cpu, testing::FarDevice) {
  // Queries, keys and values beside each other: only the values of the second row are bad.
  TestType device;
  const std::vector<index_t> lengths = {1, 1};
  const std::vector<std::uint32_t> ids = {0, 1};
  const auto layout = make_layout(device, lengths, ids);
  const auto qkv = tensor(device, {1, 2, 3, 4, 1, 1, 1, 2, 3, 4, 1, not_a_number}, {2, 6});
  const auto out = tensor(device, std::vector<float>(12, not_a_number), {2, 6});
  const Tensor<float, TestType> log_sums(device, {2, 1});
  const auto at = [&](index_t column) { return HeadRows<const float>{qkv.data() + column, 6}; };
  const AttentionProblem<TestType> problem{1, 2, false, 1.0f, layout.get(), layout.get(), {}};
  const CheckFinite checked;
  // The first sequence does not see it, and what lies beside the rows does not count.
  CHECK(message_of<NotFiniteError>([&] {
          attention(device, problem, at(0), at(2), at(4), {out.data(), 6}, log_sums.data());
        }) == "attention: out has nan at (1, 1) of (2, 2)");
}

//! What the error that it throws says before the number, such as `add: y`.
template <class F>
std::string blamed(const F& operation) {
  const std::string message = message_of<NotFiniteError>(operation);
  return message.substr(0, message.find(" has "));
}

//! Rows of two numbers, and what operations on them take besides.
struct OneRow {
  Cpu device;
  const CheckFinite checked;
  const DropoutMask none;
  DropoutMask infinite;  //!< multiplies by infinity
  Tensor<float, Cpu> x = tensor(device, {1, 2}, {1, 2});
  Tensor<float, Cpu> bad = tensor(device, {1, not_a_number}, {1, 2});
  Tensor<float, Cpu> gates = tensor(device, {1, 2, 3, 4}, {1, 4});
  Tensor<float, Cpu> bad_gates = tensor(device, {1, not_a_number, 3, 4}, {1, 4});
  Tensor<float, Cpu> gain = tensor(device, {1, 1}, {2});
  Tensor<float, Cpu> bad_gain = tensor(device, {1, not_a_number}, {2});
  Tensor<float, Cpu> y = tensor(device, {0, 0}, {1, 2});
  Tensor<float, Cpu> sum = tensor(device, {0, 0}, {1, 2});
  Tensor<float, Cpu> two = tensor(device, {0, 0}, {2});
  Tensor<float, Cpu> four = tensor(device, {0, 0, 0, 0}, {1, 4});
  Tensor<float, Cpu> loss = tensor(device, {0}, {1});
  Tensor<RowMoments, Cpu> moments = to_device<RowMoments>(device, std::vector<RowMoments>(1), {1});
  Tensor<RowKey, Cpu> keys = to_device<RowKey>(device, std::vector<RowKey>(1), {1});
  Tensor<token_t, Cpu> ids = to_device<token_t>(device, std::vector<token_t>(1), {1});

  OneRow() {
    infinite.threshold = 1;  // of 65536: these two are kept
    infinite.scale = std::numeric_limits<float>::infinity();
  }
};

TEST_CASE_METHOD(OneRow, "operations on rows look at all that they write") {
  CHECK(blamed([&] { softmax(device, bad, y); }) == "softmax: y");
  CHECK(blamed([&] { log_softmax(device, bad, y); }) == "log_softmax: y");
  CHECK(blamed([&] { softmax_backward(device, x, bad, y); }) == "softmax_backward: dx");
  CHECK(blamed([&] { dropout(device, none, keys, bad, y); }) == "dropout: y");
  CHECK(blamed([&] { residual(device, none, keys, x, bad, {}, sum); }) == "residual: sum");
  CHECK(blamed([&] { add(device, bad, y); }) == "add: y");
  CHECK(blamed([&] { add_bias(device, bad_gain, y); }) == "add_bias: y");
  CHECK(blamed([&] { column_sums(device, bad, two); }) == "column_sums: sums");
  CHECK(blamed([&] {
          bias_activation_dropout<Activation::gelu>(device, none, keys, bad, {}, y);
        }) == "bias_activation_dropout: y");
  CHECK(blamed([&] { relu_dropout_backward(device, none, x, bad, y); }) ==
        "relu_dropout_backward: dx");
  CHECK(blamed([&] {
          activation_dropout_backward<Activation::gelu>(device, none, keys, x, {}, bad, y);
        }) == "activation_dropout_backward: dx");
  CHECK(blamed([&] {
          gated_activation_dropout<Activation::silu>(device, none, keys, bad_gates, y);
        }) == "gated_activation_dropout: y");
  CHECK(blamed([&] {
          gated_activation_dropout_backward<Activation::silu>(device, none, keys, gates, bad, four);
        }) == "gated_activation_dropout_backward: dx");
  CHECK(blamed([&] { cross_entropy(device, bad, {}, ids, -1, 0.0f, {}, loss); }) ==
        "cross_entropy: losses");
  CHECK(blamed([&] { cross_entropy(device, x, {}, ids, -1, 0.0f, y, loss, not_a_number); }) ==
        "cross_entropy: dlogits");
}

TEST_CASE_METHOD(OneRow, "normalisations look at all that they write") {
  CHECK(blamed([&] { layer_norm(device, bad, gain, two, y, moments); }) == "layer_norm: y");
  CHECK(blamed([&] { layer_norm<Centring::none>(device, bad, gain, {}, y, moments); }) ==
        "rms_norm: y");
  CHECK(blamed([&] {
          residual_layer_norm(device, none, keys, x, bad, {}, sum, gain, two, y, moments);
        }) == "residual_layer_norm: sum");
  CHECK(blamed([&] {
          residual_layer_norm(device, none, keys, x, x, {}, sum, bad_gain, two, y, moments);
        }) == "residual_layer_norm: y");
  const auto backward = [&](const DropoutMask& mask, View<const float> dy,
                            const FactorTarget& dbranch) {
    static_cast<void>(residual_layer_norm_backward(device, mask, keys, x, gain, moments, dy, {},
                                                   View<float>(y), dbranch));
  };
  layer_norm(device, x, gain, two, y, moments);
  CHECK(blamed([&] { backward(none, bad, {}); }) == "layer_norm_backward: dx");
  CHECK(blamed([&] { backward(none, bad, sum); }) == "residual_layer_norm_backward: dx");
  const auto dy = tensor(device, {1, 0}, {1, 2});
  CHECK(blamed([&] { backward(infinite, dy, sum); }) == "residual_layer_norm_backward: dbranch");
}

TEST_CASE_METHOD(OneRow, "products look at all that they write") {
  const auto w = tensor(device, {1, 2, 3, 4}, {2, 2});
  CHECK(blamed([&] { matmul_nn(device, bad, w, y); }) == "matmul_nn: c");
  CHECK(blamed([&] { matmul_tn(device, bad, x, w); }) == "matmul_tn: c");
  CHECK(blamed([&] { linear(device, x, w, bad_gain, y); }) == "linear: y");
  const auto gradients = [&](View<const float> dy, View<float> db) {
    linear_gradients(device, dy, x, w, Write::replace, db, Write::accumulate);
  };
  CHECK(blamed([&] { gradients(bad, two); }) == "linear_gradients: dw");
  CHECK(blamed([&] { gradients(x, bad_gain); }) == "column_sums: sums");
}

TEST_CASE_METHOD(OneRow, "what is rounded to 16 bits may overflow") {
  device.set_product_precision(ProductPrecision::float16);
  const auto large = tensor(device, {1, 70'000}, {1, 2});
  CHECK(blamed([&] { return Factor(large); }) == "Factor: values");
  const Factor<Cpu> gathered(device, {1, 2});
  const auto first = to_device<index_t>(device, std::vector<index_t>{0}, {1});
  CHECK(blamed([&] { gather_rows(device, large, first, gathered.target()); }) == "gather_rows: y");
}

TEST_CASE_METHOD(OneRow, "embeddings and rotary positions look at all that they write") {
  const std::vector<index_t> lengths = {1};
  const std::vector<std::uint32_t> sequences = {0};
  const auto layout = make_layout(device, lengths, sequences);
  CHECK(blamed([&] { embedding(device, none, *layout, ids, bad, 1.0f, {}, y); }) == "embedding: y");
  CHECK(blamed([&] { embedding_backward(device, ids, bad, 1.0f, y, Write::replace); }) ==
        "embedding_backward: dtable");
  const auto frequencies = tensor(device, {1}, {1});
  CHECK(blamed([&] {
          rotary(device, keys, frequencies, HeadRows<float>{bad.data(), 2}, 1, Turn::forth);
        }) == "rotary: x");
}

TEST_CASE("attention looks at all three gradients") {
  Cpu device;
  const std::vector<index_t> lengths = {2};
  const std::vector<std::uint32_t> sequences = {0};
  const auto layout = make_layout(device, lengths, sequences);
  const AttentionProblem<Cpu> problem{1, 1, false, 1.0f, layout.get(), layout.get(), {}};
  using Rows = std::vector<float>;
  const auto blamed_for = [&](const Rows& q, const Rows& k, const Rows& v, const Rows& dout) {
    const auto rows = [&](const Rows& of) { return tensor(device, of, {2, 1}); };
    const auto heads = [](const auto& of) { return HeadRows<float>{of.data(), 1}; };
    const auto queries = rows(q), keys = rows(k), values = rows(v), douts = rows(dout);
    const auto out = rows({0, 0}), dq = rows({0, 0}), dk = rows({0, 0}), dv = rows({0, 0});
    const auto log_sums = rows({0, 0});
    const CheckFinite checked;
    attention(device, problem, heads(queries), heads(keys), heads(values), heads(out),
              log_sums.data());
    return blamed([&] {
      attention_backward(device, problem, heads(queries), heads(keys), heads(values), heads(out),
                         log_sums.data(), heads(douts), heads(dq), heads(dk), heads(dv));
    });
  };
  const Rows zeros = {0, 0}, ones = {1, 1}, apart = {-2, 2};
  // Scores are 0, probabilities a half, and the gradients of a query's scores -1 and 1.
  CHECK(blamed_for(zeros, {-huge, huge}, apart, ones) == "attention_backward: dq");
  CHECK(blamed_for({huge, huge}, zeros, apart, ones) == "attention_backward: dk");
  // Both queries see the second key alone.
  CHECK(blamed_for({200, 200}, {0, 1}, zeros, {huge, huge}) == "attention_backward: dv");
}

}  // namespace check_finite_tests
