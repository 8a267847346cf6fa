// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/ops/attention.hpp>

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <weft/core/bfloat16.hpp>
#include <weft/core/simd_pairs.hpp>
#include <weft/testing/difference.hpp>
#include <weft/testing/gradient_check.hpp>
#include <weft/testing/matrix.hpp>
#include <weft/testing/random.hpp>
#include <weft/testing/reference_attention.hpp>
#include <weft/testing/teams.hpp>

#include "../message_of.hpp"

namespace attention_tests {

using namespace weft;
using namespace weft::testing;
using ops::AttentionProblem;
using ops::DropoutMask;
using ops::HeadRows;

namespace {

using Lengths = std::vector<index_t>;
using Ids = std::vector<std::uint32_t>;

const DropoutMask nothing_dropped;
const DropoutMask some_dropped(0.25f, RandomKey(7, 8), 30);

//! What is asked of an attention.
struct Case {
  index_t heads;
  index_t head_size;
  Lengths queries;
  Lengths keys;
  bool causal = false;
  DropoutMask dropout = nothing_dropped;
};

//! An attention whose queries lie beside something else, and whose keys and values lie side by side
//! in one array, as one product makes them.
struct Attention {
  static constexpr index_t beside = 5;  // columns that belong to nobody

  Case problem;
  index_t C;
  LayoutPointer<> query_layout, key_layout;
  Tensor<float> q, kv, dout;            // (Nq, C + beside), (Nk, 2 C), (Nq, C)
  Tensor<float> out, log_sums;          // (Nq, C + beside), (Nq, heads)
  Tensor<float> dq, dkv;                // as q and kv

  Attention(Cpu& device, Case c, std::uint32_t first_id = 40)
      : problem(std::move(c)),
        C(problem.heads * problem.head_size),
        query_layout(make_layout(device, problem.queries, first_id)),
        key_layout(make_layout(device, problem.keys, first_id)),
        q(random_tensor(device, {query_layout->rows(), C + beside}, 1, -2.0f, 2.0f)),
        kv(random_tensor(device, {key_layout->rows(), 2 * C}, 2, -2.0f, 2.0f)),
        dout(random_tensor(device, {query_layout->rows(), C}, 3)),
        out(nan_tensor(device, q.shape())),
        log_sums(nan_tensor(device, {query_layout->rows(), problem.heads})),
        dq(nan_tensor(device, q.shape())),
        dkv(nan_tensor(device, kv.shape())) {}

  [[nodiscard]] AttentionProblem<Cpu> described() const {
    return {.heads = problem.heads,
            .head_size = problem.head_size,
            .causal = problem.causal,
            .scale = 1.0f / std::sqrt(static_cast<float>(problem.head_size)),
            .query_layout = query_layout.get(),
            .key_layout = key_layout.get(),
            .dropout = problem.dropout};
  }

  //! Makes an input numbers that Bfloat16 holds.
  static void round(const Tensor<float>& input) {
    for (float& x : std::span(input.data(), static_cast<std::size_t>(input.size()))) {
      x = static_cast<float>(Bfloat16(x));
    }
  }
  void round_inputs() const {
    for (const Tensor<float>& input : {q, kv, dout}) round(input);
  }

  void run(Cpu& device) const {
    const index_t wide = C + beside;
    const HeadRows<const float> q_rows{q.data(), wide}, k_rows{kv.data(), 2 * C},
        v_rows{kv.data() + C, 2 * C}, out_rows{out.data(), wide}, dout_rows{dout.data(), C};
    ops::attention(device, described(), q_rows, k_rows, v_rows, HeadRows<float>{out.data(), wide},
                   log_sums.data());
    ops::attention_backward(device, described(), q_rows, k_rows, v_rows, out_rows, log_sums.data(),
                            dout_rows, HeadRows<float>{dq.data(), wide},
                            HeadRows<float>{dkv.data(), 2 * C},
                            HeadRows<float>{dkv.data() + C, 2 * C});
  }

  //! Head h of sequence b as its formula reads.
  [[nodiscard]] ReferenceAttention reference(index_t b, index_t h) const {
    const index_t size = problem.head_size, Tq = query_layout->length(b), Tk = key_layout->length(b);
    const Matrix all_kv = matrix(kv);
    DropoutMask mask = problem.dropout;
    mask.operation += static_cast<std::uint32_t>(h);
    const auto sentence =
        Tq > 0 ? query_layout->keys.data()[query_layout->begin(b)].sequence : 0;
    return {block(matrix(q), query_layout->begin(b), Tq, h * size, size),
            block(all_kv, key_layout->begin(b), Tk, h * size, size),
            block(all_kv, key_layout->begin(b), Tk, C + h * size, size),
            static_cast<double>(described().scale),
            problem.causal,
            matrix(Tq, Tk, [&](index_t i, index_t j) {
              return dropout_factor(mask, {sentence, static_cast<std::uint32_t>(i)}, j);
            })};
  }

  //! The parts of an array (N, ...) that belong to head h of sequence b.
  [[nodiscard]] Matrix part(const Matrix& all, const LayoutPointer<>& layout, index_t b,
                            index_t column) const {
    return block(all, layout->begin(b), layout->length(b), column, problem.head_size);
  }
};

//! What results are and may be off by, and in what they are wrong.
struct Comparison {
  std::string& worst;

  void operator()(const char* what, index_t b, index_t h, const Matrix& is, const Matrix& should,
                  const Matrix& sizes, double error) {
    for (std::size_t i = 0; i < is.elements.size() && worst.empty(); ++i) {
      const double bound = error * sizes.elements[i];
      if (std::abs(is.elements[i] - should.elements[i]) <= bound) continue;
      worst = text(what, " of sequence ", b, ", head ", h, ": element ", i, " is ", is.elements[i],
                   ", should be ", should.elements[i], " to within ", bound);
    }
  }
};

Matrix by_elements(const Matrix& a, const Matrix& b) {
  return matrix(a.rows, a.columns, [&](index_t r, index_t c) { return a(r, c) * b(r, c); });
}

//! Empty if an attention and its gradients are those of the formula, head by head.
//!
//! **Bound.** Each result is a sum of products of the probabilities p and the inputs. With S the
//! sum of the magnitudes of its terms it is off by at most e S, e being
//!   - for each p (twice in the backward pass, through `out`): the error of a score, (C + 3)
//!     roundings of scale |q| |k|; the roundings of score - maximum and of log_sum, 4 of the
//!     largest score; those of exp, 8, again for each rescaling by a tile of keys; those of the
//!     sum, T;
//!   - for the sums themselves: T for those over tokens, C for those over channels.
//! S follows from the same formulas with magnitudes in place of numbers. `of_factors` is added to
//! e.
std::string attention_difference(const Attention& a, double of_factors = 0.0) {
  std::string worst;
  Comparison compare{worst};
  const Matrix out = matrix(a.out), dq = matrix(a.dq), dkv = matrix(a.dkv), dout = matrix(a.dout),
               log_sums = matrix(a.log_sums);
  for (index_t b = 0; b < a.query_layout->sequences(); ++b) {
    const index_t T = std::max(a.query_layout->length(b), a.key_layout->length(b));
    for (index_t h = 0; h < a.problem.heads; ++h) {
      const ReferenceAttention head = a.reference(b, h);
      const index_t column = h * a.problem.head_size;
      const Matrix weights = a.part(dout, a.query_layout, b, column);
      const Matrix p = head.probabilities(), factors = head.factors;
      const auto expected = head.gradients(weights);

      const Matrix score_sizes = product(magnitudes(head.q), transposed(magnitudes(head.k)));
      double score = 0.0;
      for (const double size : score_sizes.elements) score = std::max(score, head.scale * size);
      const auto size = static_cast<double>(a.problem.head_size), tokens = static_cast<double>(T);
      const double of_p = (size + 3) * score + 4 * score + 8 * (tokens / 128 + 2) + tokens;
      const double error = unit_roundoff * (2 * of_p + 2 * tokens + 2 * size + 20) + of_factors;

      const Matrix kept = by_elements(p, factors);
      const Matrix out_sizes = product(kept, magnitudes(head.v));
      const Matrix dp_sizes = product(magnitudes(weights), transposed(magnitudes(head.v)));
      const Matrix score_gradient_sizes = matrix(p.rows, p.columns, [&](index_t i, index_t j) {
        double delta = 0.0;
        for (index_t c = 0; c < weights.columns; ++c) {
          delta += std::abs(weights(i, c)) * out_sizes(i, c);
        }
        return head.scale * p(i, j) * (factors(i, j) * dp_sizes(i, j) + delta);
      });
      compare("out", b, h, a.part(out, a.query_layout, b, column), head.output(), out_sizes, error);
      compare("dq", b, h, a.part(dq, a.query_layout, b, column), expected.dq,
              product(score_gradient_sizes, magnitudes(head.k)), error);
      compare("dk", b, h, a.part(dkv, a.key_layout, b, column), expected.dk,
              product(transposed(score_gradient_sizes), magnitudes(head.q)), error);
      compare("dv", b, h, a.part(dkv, a.key_layout, b, a.C + column), expected.dv,
              product(transposed(kept), magnitudes(weights)), error);
      // log_sum = log of the sum of exp(score): -log p + score, for the key of the largest p.
      for (index_t i = 0; i < p.rows && p.columns > 0; ++i) {
        double dot = 0.0;
        for (index_t c = 0; c < head.q.columns; ++c) dot += head.q(i, c) * head.k(0, c);
        const double should = head.scale * dot - std::log(p(i, 0));
        const double is = log_sums(a.query_layout->begin(b) + i, h);
        if (worst.empty() && !(std::abs(is - should) <= error)) {
          worst = text("log_sum of sequence ", b, ", head ", h, ", query ", i, " is ", is,
                       ", should be ", should);
        }
      }
    }
  }
  for (index_t n = 0; n < out.rows && worst.empty(); ++n) {  // what belongs to nobody is left alone
    for (index_t c = a.C; c < out.columns; ++c) {
      if (!std::isnan(out(n, c)) || !std::isnan(dq(n, c))) worst = "wrote beside the heads";
    }
  }
  return worst;
}

std::string attention_difference(Case c) {
  Cpu device;
  const Attention attention(device, std::move(c));
  attention.run(device);
  return attention_difference(attention);
}

//! The same for factors of Bfloat16, where the processor multiplies them. Inputs that are such
//! numbers are not rounded, so that scores are exact; what is rounded, by 2^-8 of itself, is each
//! probability once, and each gradient of a score, after `out` has brought the former into it.
std::string rounded_difference(Case c) {
  Cpu device;
  device.set_product_precision(ProductPrecision::bfloat16);
  const Attention attention(device, std::move(c));
  attention.round_inputs();
  attention.run(device);
  return attention_difference(attention, 2.01 * 0x1p-8);
}

//! A test runs once for floats, and once for Bfloat16 where the processor multiplies them.
ProductPrecision any_precision() {
  return GENERATE(ProductPrecision::float32, ProductPrecision::bfloat16);
}

const Lengths several{0, 1, 63, 64, 65, 130};

}  // namespace

TEST_CASE("the reference's gradients agree with central differences") {
  Cpu device;
  for (const bool causal : {false, true}) {
    const Attention a(device, {1, 3, {4}, {5}, causal, some_dropped});
    const ReferenceAttention head = a.reference(0, 0);
    const Matrix dout = matrix(a.dout);
    const auto gradients = head.gradients(dout);
    const auto largest = [&](const Matrix& analytic, Matrix ReferenceAttention::* input) {
      const Matrix numeric = central_differences(
          [&](const Matrix& at) {
            ReferenceAttention other = head;
            other.*input = at;
            return inner(other.output(), dout);
          },
          head.*input);
      double worst = 0.0;
      for (std::size_t i = 0; i < numeric.elements.size(); ++i) {
        worst = std::max(worst, std::abs(numeric.elements[i] - analytic.elements[i]));
      }
      return worst;
    };
    CHECK(largest(gradients.dq, &ReferenceAttention::q) < 1e-8);
    CHECK(largest(gradients.dk, &ReferenceAttention::k) < 1e-8);
    CHECK(largest(gradients.dv, &ReferenceAttention::v) < 1e-8);
  }
}

TEST_CASE("self-attention agrees with its formula for every head size") {
  for (const index_t head_size : {8, 16, 20, 32, 64}) {
    CAPTURE(head_size);
    CHECK(attention_difference({2, head_size, several, several, false, nothing_dropped}) == "");
    CHECK(attention_difference({2, head_size, several, several, true, some_dropped}) == "");
  }
  CHECK(attention_difference({3, 1, {2, 17}, {2, 17}, true, some_dropped}) == "");
}

TEST_CASE("self-attention agrees with its formula over several tiles of keys") {
  CHECK(attention_difference({2, 16, {300}, {300}, true, nothing_dropped}) == "");
  CHECK(attention_difference({1, 20, {257}, {257}, false, some_dropped}) == "");
}

TEST_CASE("attention agrees with its formula over several blocks of queries") {
  CHECK(attention_difference({1, 16, {1100}, {1100}, true, some_dropped}) == "");
  CHECK(attention_difference({1, 8, {1100}, {1100}, false, nothing_dropped}) == "");
  // Rows that are copied in one block; keys that no query sees, and that only the last ones miss.
  CHECK(attention_difference({1, 16, {600, 1030}, {600, 1200}, true, nothing_dropped}) == "");
  CHECK(attention_difference({1, 16, {1030}, {70}, true, nothing_dropped}) == "");
}

TEST_CASE("queries attend to other sequences, longer, shorter, or without keys") {
  const Lengths queries{5, 70, 0, 3, 64, 1}, keys{300, 4, 9, 0, 129, 1};
  for (const index_t head_size : {16, 20}) {
    for (const DropoutMask& dropout : {nothing_dropped, some_dropped}) {
      CAPTURE(head_size, dropout.active());
      CHECK(attention_difference({2, head_size, queries, keys, false, dropout}) == "");
      CHECK(attention_difference({2, head_size, queries, keys, true, dropout}) == "");
    }
  }
}

TEST_CASE("attention of Bfloat16 factors agrees with its formula") {
  for (const index_t head_size : {8, 9, 16, 20, 32, 37, 64, 128}) {
    CAPTURE(head_size);
    CHECK(rounded_difference({2, head_size, several, several, false, nothing_dropped}) == "");
    CHECK(rounded_difference({2, head_size, several, several, true, some_dropped}) == "");
  }
  CHECK(rounded_difference({2, 16, {300}, {300}, true, nothing_dropped}) == "");
  CHECK(rounded_difference({1, 20, {257}, {257}, false, some_dropped}) == "");
  const Lengths queries{5, 6, 7, 70, 0, 64, 1}, keys{300, 4, 0, 9, 0, 129, 1};
  for (const index_t head_size : {16, 20}) {
    for (const bool causal : {false, true}) {
      CAPTURE(head_size, causal);
      CHECK(rounded_difference({2, head_size, queries, keys, causal, some_dropped}) == "");
    }
  }
  // Several blocks of queries.
  CHECK(rounded_difference({1, 16, {600, 1031}, {600, 1200}, true, nothing_dropped}) == "");
  CHECK(rounded_difference({1, 16, {1031}, {71}, true, nothing_dropped}) == "");
}

TEST_CASE("attention multiplies what floats round to, if it is asked to and the processor can") {
  const auto run = [](Cpu& device, bool rounded, index_t head_size = 64, index_t queries = 30) {
    Attention a(device, {2, head_size, {queries}, {30}, true, nothing_dropped});
    Attention::round(a.dout);  // which `out` is multiplied by as floats
    if (rounded) a.round_inputs();
    a.run(device);
    return a;
  };
  Cpu floats, pairs, of_half;
  pairs.set_product_precision(ProductPrecision::bfloat16);
  of_half.set_product_precision(ProductPrecision::float16);
  const auto rounds = [&](index_t head_size, index_t queries) {
    return bit_difference(run(pairs, false, head_size, queries).log_sums,
                          run(floats, false, head_size, queries).log_sums) != "";
  };
  CHECK(rounds(64, 30) == bool{WEFT_AVX512_BF16});
  CHECK(rounds(9, 6) == bool{WEFT_AVX512_BF16});
  CHECK_FALSE(rounds(8, 6));
  CHECK_FALSE(rounds(9, 5));
  if (rounds(64, 30)) {
    const Attention given = run(pairs, false), rounded = run(pairs, true);
    CHECK(bit_difference(given.log_sums, rounded.log_sums) == "");
    CHECK(bit_difference(given.out, rounded.out) == "");
    CHECK(bit_difference(given.dq, rounded.dq) == "");
    CHECK(bit_difference(given.dkv, rounded.dkv) == "");
  }
  CHECK(bit_difference(run(of_half, false).log_sums, run(floats, false).log_sums) == "");
}

TEST_CASE("a query without keys gets zeros, and passes none on") {
  Cpu device;
  device.set_product_precision(any_precision());
  for (const index_t head_size : {16, 20}) {
    const Attention a(device, {2, head_size, {7, 0}, {0, 4}});
    a.run(device);
    const Matrix out = block(matrix(a.out), 0, 7, 0, a.C), dq = block(matrix(a.dq), 0, 7, 0, a.C);
    CHECK(out.elements == Matrix(7, a.C).elements);
    CHECK(dq.elements == Matrix(7, a.C).elements);
    CHECK(difference(a.dkv, Matrix(4, 2 * a.C), 0.0) == "");  // keys without queries
    CHECK(std::isfinite(a.log_sums.data()[0]));
  }
}

TEST_CASE("no sequences and no rows at all are attended to in no time") {
  CHECK(attention_difference({2, 16, {}, {}}) == "");
  CHECK(attention_difference({2, 16, {0, 0}, {0, 0}, true, some_dropped}) == "");
}

TEST_CASE("a sequence has the same bits alone and among others") {
  Cpu device;
  device.set_product_precision(any_precision());
  const Lengths lengths{20, 140, 7};
  const Attention all(device, {2, 16, lengths, lengths, true, some_dropped}, 40);
  Attention alone(device, {2, 16, {140}, {140}, true, some_dropped}, 41);
  alone.q = all.q.slice(20, 160);
  alone.kv = all.kv.slice(20, 160);
  alone.dout = all.dout.slice(20, 160);
  all.run(device);
  alone.run(device);
  CHECK(bit_difference(alone.log_sums, all.log_sums.slice(20, 160)) == "");
  CHECK(bit_difference(alone.dkv, all.dkv.slice(20, 160)) == "");
  CHECK(bit_difference(alone.out, all.out.slice(20, 160)) == "");
  CHECK(bit_difference(alone.dq, all.dq.slice(20, 160)) == "");
}

TEST_CASE("attention has the same bits on any team") {
  const Lengths lengths{100, 3, 0, 150, 64};
  const ProductPrecision precision = any_precision();
  for (const index_t head_size : {16, 20}) {
    CHECK(team_difference([&](Cpu& device) {
            device.set_product_precision(precision);
            const Attention a(device, {3, head_size, lengths, lengths, true, some_dropped});
            a.run(device);
            return std::vector{a.out, a.log_sums, a.dq, a.dkv};
          }) == "");
  }
}

TEST_CASE("scores far apart neither overflow nor lose a key") {
  Cpu device;
  Attention a(device, {1, 16, {2}, {200}});
  // Key j scores j for the first query and -j for the second, in units of 400.
  for (index_t c = 0; c < 16; ++c) {
    a.q.data()[c] = c == 0 ? 1600.0f : 0.0f;
    a.q.data()[16 + Attention::beside + c] = c == 0 ? -1600.0f : 0.0f;
    for (index_t j = 0; j < 200; ++j) a.kv.data()[j * 32 + c] = static_cast<float>(j);
  }
  a.run(device);
  const Matrix out = matrix(a.out), kv = matrix(a.kv);
  for (index_t c = 0; c < 16; ++c) {
    CHECK(out(0, c) == kv(199, 16 + c));
    CHECK(out(1, c) == kv(0, 16 + c));
  }
  CHECK(a.log_sums.data()[0] == 400.0f * 199.0f);
}

TEST_CASE(
    "the backward pass finds the probabilities of the forward pass, however few the queries") {
  Cpu device;
  device.set_product_precision(any_precision());
  for (const index_t queries : {1, 3, 5, 6, 20}) {
    CAPTURE(queries);
    Attention a(device, {1, 64, {queries}, {7}});
    for (float& x : std::span(a.q.data(), static_cast<std::size_t>(a.q.size()))) x *= 3e3f;
    for (float& x : std::span(a.kv.data(), static_cast<std::size_t>(a.kv.size()))) x *= 3e3f;
    a.round_inputs();
    a.run(device);  // with scores of 1e7, of which a rounding is 1: all see one key alone
    const Matrix dout = matrix(a.dout), dv = block(matrix(a.dkv), 0, 7, 64, 64),
                 should = a.reference(0, 0).gradients(dout).dv;
    for (std::size_t i = 0; i < dv.elements.size(); ++i) {
      REQUIRE(dv.elements[i] == Approx(should.elements[i]).margin(1e-5));
    }
  }
}

TEST_CASE("a NaN is seen in its own sequence and in no other") {
  Cpu device;
  device.set_product_precision(any_precision());
  const Lengths lengths{5, 6};
  Attention a(device, {1, 16, lengths, lengths});
  a.kv.data()[7 * 32 + 3] = std::numeric_limits<float>::quiet_NaN();  // a key of the second
  a.run(device);
  const Matrix out = matrix(a.out);
  for (index_t n = 0; n < 11; ++n) CHECK(std::isnan(out(n, 0)) == (n >= 5));
}

TEST_CASE("heads that share keys and values have the bits of heads that have copies of them") {
  constexpr index_t H = 6, sharing = 3, width = H / sharing;
  const Lengths queries{5, 70, 0, 3}, keys{30, 4, 9, 150};
  Cpu device(2);
  device.set_product_precision(any_precision());
  for (const index_t size : {16, 20}) {
    const Attention copies(device, {H, size, queries, keys, true, some_dropped});
    const index_t C = copies.C, K = width * size, Nk = copies.key_layout->rows();
    const auto shared = random_tensor(device, {Nk, 2 * K}, 9, -2.0f, 2.0f);
    const auto of_head = [&](index_t h, index_t c) { return h / sharing * size + c; };
    for (index_t n = 0; n < Nk; ++n) {
      for (index_t h = 0; h < H; ++h) {
        for (index_t c = 0; c < size; ++c) {
          const float* const from = shared.data() + n * 2 * K + of_head(h, c);
          float* const to = copies.kv.data() + n * 2 * C + h * size + c;
          to[0] = from[0], to[C] = from[K];
        }
      }
    }
    copies.run(device);

    const index_t wide = C + Attention::beside;
    const auto out = nan_tensor(device, copies.out.shape()), dq = nan_tensor(device, out.shape()),
               log_sums = nan_tensor(device, copies.log_sums.shape()),
               dkv = nan_tensor(device, shared.shape());
    using Read = ops::AnyHeadRows<const void>;
    using Written = ops::AnyHeadRows<void>;
    const Read q(copies.q.data(), wide), k(shared.data(), 2 * K, sharing),
        v(shared.data() + K, 2 * K, sharing);
    ops::attention(device, copies.described(), q, k, v, Written(out.data(), wide), log_sums.data());
    ops::attention_backward(device, copies.described(), q, k, v, Read(out.data(), wide),
                            log_sums.data(), Read(copies.dout.data(), C), Written(dq.data(), wide),
                            Written(dkv.data(), 2 * K, sharing),
                            Written(dkv.data() + K, 2 * K, sharing));
    CAPTURE(size);
    const auto bits_of = [](const Tensor<float>& x) {
      std::vector<std::uint32_t> bits;
      for (const float value : to_host(x)) bits.push_back(std::bit_cast<std::uint32_t>(value));
      return bits;
    };
    CHECK(bits_of(out) == bits_of(copies.out));
    CHECK(bits_of(dq) == bits_of(copies.dq));
    CHECK(bits_of(log_sums) == bits_of(copies.log_sums));
    for (index_t n = 0; n < Nk; ++n) {
      for (index_t column = 0; column < 2 * K; ++column) {
        const bool is_value = column >= K;
        const index_t first = (column % K / size * sharing) * size + column % size;
        float sum = 0.0f;
        for (index_t other = 0; other < sharing; ++other) {
          sum += copies.dkv.data()[n * 2 * C + (is_value ? C : 0) + first + other * size];
        }
        CAPTURE(n, column);
        REQUIRE(dkv.data()[n * 2 * K + column] == sum);
      }
    }
  }
}

TEST_CASE("heads that cannot be shared evenly are refused") {
  Cpu device;
  const auto layout = make_layout(device, Lengths{4});
  const auto x = random_tensor(device, {4, 16}, 1), y = nan_tensor(device, {4, 16});
  const Tensor<float> log_sums(device, {4, 4});
  const AttentionProblem<Cpu> problem{4, 4, false, 1.0f, layout.get(), layout.get(), {}};
  const auto fault = [&](int keys, int values) {
    using Read = ops::AnyHeadRows<const void>;
    return message_of<ShapeError>([&] {
      ops::attention(device, problem, Read(x.data(), 16), Read(x.data(), 16, keys),
                     Read(x.data(), 16, values), HeadRows<float>{y.data(), 16}, log_sums.data());
    });
  };
  CHECK(fault(3, 3) == "attention: of 4 heads of queries 3 share one of keys, and 3 one of values");
  CHECK(fault(2, 4) == "attention: of 4 heads of queries 2 share one of keys, and 4 one of values");
  CHECK(fault(0, 0) == "attention: of 4 heads of queries 0 share one of keys, and 0 one of values");
  const auto backward_fault = [&](int keys, int gradients) {
    using Read = ops::AnyHeadRows<const void>;
    using Written = ops::AnyHeadRows<void>;
    const Read q(x.data(), 16), k(x.data(), 16, keys);
    const Written dq(y.data(), 16), dk(y.data(), 16, gradients);
    return message_of<ShapeError>([&] {
      ops::attention_backward(device, problem, q, k, k, q, log_sums.data(), q, dq, dk, dk);
    });
  };
  CHECK(backward_fault(2, 1) ==
        "attention_backward: of 4 heads of queries 2 share one of keys, and 1 one of their "
        "gradients");
  CHECK(backward_fault(1, 4) ==
        "attention_backward: of 4 heads of queries 1 share one of keys, and 4 one of their "
        "gradients");
  CHECK(message_of<ShapeError>([&] {
          const ops::AnyHeadRows<const void> rows(x.data(), 16, 2);
          ops::attention(device, problem, rows, rows, rows, HeadRows<float>{y.data(), 16},
                         log_sums.data());
        }) == "attention: 2 heads of queries share one of their rows");
}

TEST_CASE("a warm pool serves attention without asking the system") {
  Cpu device;
  const Attention a(device, {2, 20, several, several, true, some_dropped});
  a.run(device);
  const index_t before = device.memory().statistics().system_requests;
  a.run(device);
  CHECK(device.memory().statistics().system_requests == before);
}

TEST_CASE("queries and keys of another number of sequences are refused") {
  Cpu device;
  const Attention a(device, {1, 16, {2, 3}, {5}});
  CHECK(message_of<ShapeError>([&] { a.run(device); }) ==
        "attention: 2 sequences of queries and 1 of keys");
}

TEST_CASE("heads without channels are refused") {
  Cpu device;
  const auto layout = make_layout(device, Lengths{4});
  const Tensor<float> nothing(device, {4, 0}), log_sums(device, {4, 600});
  const AttentionProblem<Cpu> problem{600, 0, false, 1.0f, layout.get(), layout.get(), {}};
  const HeadRows<float> rows{nothing.data(), 0};
  CHECK(message_of<ShapeError>([&] {
          ops::attention(device, problem, rows, rows, rows, rows, log_sums.data());
        }) == "attention: heads of 0 channels");
}

TEST_CASE("a scale that is not above 0 is refused") {
  Cpu device;
  const auto layout = make_layout(device, Lengths{4});
  const auto x = random_tensor(device, {4, 8}, 1), y = nan_tensor(device, {4, 8});
  const Tensor<float> log_sums(device, {4, 1});
  for (const float scale : {-1.0f, 0.0f, std::nanf("")}) {
    const AttentionProblem<Cpu> problem{1, 8, false, scale, layout.get(), layout.get(), {}};
    const HeadRows<float> rows{x.data(), 8};
    CHECK(message_of<ArgumentError>([&] {
            ops::attention(device, problem, rows, rows, rows, HeadRows<float>{y.data(), 8},
                           log_sums.data());
          }) == text("attention: a scale of ", scale, "; not above 0"));
  }
}

}  // namespace attention_tests
