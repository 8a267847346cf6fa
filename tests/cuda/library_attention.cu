// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/cuda.cuh>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "rounded_attention.hpp"

namespace library_attention_tests {

using namespace weft;
using namespace weft::testing;
using namespace weft::testing::rounded_attention;

// What a library of attention is told is enough to compute it: one that does so on the host, from
// nothing but what it is told, finds what weft's own kernels find. Any GPU has it, and the
// emulated one.

namespace {

using weft::detail::AttentionAddresses;
using weft::detail::AttentionKind;
using weft::detail::RowsOfAttention;

//! On the GPU, on the host, or between them; the host waits.
void copy(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
  REQUIRE(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess);
}

template <class T>
std::vector<T> downloaded(const T* from, index_t n, cudaStream_t stream) {
  std::vector<T> numbers(static_cast<std::size_t>(n));
  copy(numbers.data(), from, numbers.size() * sizeof(T), stream);
  return numbers;
}

class HostAttention final : public weft::detail::AttentionLibrary {
 public:
  inline static std::vector<AttentionKind> asked;
  inline static std::optional<index_t> workspace;

  std::optional<index_t> workspace_bytes(const AttentionKind& kind) override {
    asked.push_back(kind);
    return workspace;
  }

  void launch(const AttentionKind& kind, const AttentionAddresses& to,
              cudaStream_t stream) override {
    const index_t B = kind.sequences;
    const auto offsets = downloaded(to.offsets, (kind.arrays() + 1) * (B + 1), stream);
    const auto lengths = downloaded(to.lengths, 2 * B, stream);
    for (index_t b = 0; b < B; ++b) {
      const index_t queries = lengths[b], keys = lengths[B + b];
      CHECK(queries <= kind.longest_query);
      CHECK(keys <= kind.longest_key);
      for (index_t h = 0; h < kind.heads; ++h) {
        const auto begin = [&](index_t array) { return offsets[array * (B + 1) + b]; };
        const auto rows = [&](RowsOfAttention array) {
          const AnyFloats<void> numbers(to.rows[array], kind.type);
          return numbers + (begin(array) + h * kind.head_size);
        };
        float* const sums = to.log_sums + begin(kind.arrays()) + h;
        one_head(kind, queries, keys, rows, sums, stream);
      }
    }
  }

 private:
  using Matrix = std::vector<std::vector<double>>;

  static Matrix read(const AttentionKind& kind, AnyFloats<void> rows, index_t n, index_t stride,
                     cudaStream_t stream) {
    Matrix matrix;
    for (index_t r = 0; r < n; ++r) {
      std::vector<double>& row = matrix.emplace_back();
      (rows + r * stride).read([&]<class T>(T* numbers) {
        for (const T& x : downloaded(numbers, kind.head_size, stream))
          row.push_back(static_cast<float>(x));
      });
    }
    return matrix;
  }

  static void write(AnyFloats<void> rows, const Matrix& matrix, index_t stride,
                    cudaStream_t stream) {
    for (std::size_t r = 0; r < matrix.size(); ++r) {
      (rows + static_cast<index_t>(r) * stride).read([&]<class T>(T* numbers) {
        std::vector<T> row;
        for (const double x : matrix[r]) row.push_back(static_cast<T>(static_cast<float>(x)));
        copy(numbers, row.data(), row.size() * sizeof(T), stream);
      });
    }
  }

  static double dot(const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0.0;
    for (std::size_t c = 0; c < a.size(); ++c) sum += a[c] * b[c];
    return sum;
  }

  template <class Rows>
  static void one_head(const AttentionKind& kind, index_t queries, index_t keys, const Rows& rows,
                       float* sums, cudaStream_t stream) {
    using namespace weft::detail;
    const auto in = [&](RowsOfAttention array, index_t n) {
      return read(kind, rows(array), n, kind.strides[array], stream);
    };
    const Matrix q = in(of_q, queries), k = in(of_k, keys), v = in(of_v, keys);
    const auto zeros = [&](index_t n) {
      return Matrix(static_cast<std::size_t>(n),
                    std::vector<double>(static_cast<std::size_t>(kind.head_size)));
    };
    Matrix out = zeros(queries), dq = out, dk = zeros(keys), dv = dk, dout;
    if (kind.backward) {
      out = in(of_out, queries);
      dout = in(of_dout, queries);
    }
    const auto add = [](std::vector<double>& to, double times, const std::vector<double>& row) {
      for (std::size_t c = 0; c < to.size(); ++c) to[c] += times * row[c];
    };
    for (std::size_t i = 0; i < q.size(); ++i) {
      float* const log_sum = sums + static_cast<index_t>(i) * kind.heads;
      const std::size_t seen = kind.causal ? i + 1 : k.size();
      double total = 0.0;
      for (std::size_t j = 0; j < seen; ++j) total += std::exp(kind.scale * dot(q[i], k[j]));
      const double known = kind.backward ? downloaded(log_sum, 1, stream)[0] : std::log(total);
      for (std::size_t j = 0; j < seen; ++j) {
        const double p = std::exp(kind.scale * dot(q[i], k[j]) - known);
        if (!kind.backward) {
          add(out[i], p, v[j]);
          continue;
        }
        const double ds = kind.scale * p * (dot(dout[i], v[j]) - dot(dout[i], out[i]));
        add(dv[j], p, dout[i]);
        add(dq[i], ds, k[j]);
        add(dk[j], ds, q[i]);
      }
      if (kind.backward) continue;
      const auto rounded = static_cast<float>(known);
      copy(log_sum, &rounded, sizeof rounded, stream);
    }
    if (!kind.backward) return write(rows(of_out), out, kind.strides[of_out], stream);
    write(rows(of_dq), dq, kind.strides[of_dq], stream);
    write(rows(of_dk), dk, kind.strides[of_dk], stream);
    write(rows(of_dv), dv, kind.strides[of_dv], stream);
  }
};

//! Makes it the program's library for as long as it lives.
class WithHostAttention {
 public:
  explicit WithHostAttention(std::optional<index_t> workspace_bytes = 0) {
    HostAttention::asked.clear();
    HostAttention::workspace = workspace_bytes;
    weft::detail::make_attention_library = []() -> std::unique_ptr<weft::detail::AttentionLibrary> {
      return std::make_unique<HostAttention>();
    };
  }
  WithHostAttention(const WithHostAttention&) = delete;
  WithHostAttention& operator=(const WithHostAttention&) = delete;
  ~WithHostAttention() { weft::detail::make_attention_library = before_; }

 private:
  decltype(weft::detail::make_attention_library) before_ = weft::detail::make_attention_library;
};

}  // namespace

TEST_CASE("what a library of attention is told is enough to compute it") {
  const WithHostAttention library;
  Cuda gpu;
  const auto precision = GENERATE(ProductPrecision::bfloat16, ProductPrecision::float16);
  gpu.set_product_precision(precision);
  for (const Lengths* lengths : {&themselves, &others}) {
    CAPTURE(to_text(precision), lengths->keys.empty());
    const auto own = attend_by_weft(gpu, 8, *lengths), found = attend(gpu, 8, *lengths);
    CHECK(rounding_difference_of_all(precision, own, found) == "");
  }
  REQUIRE(HostAttention::asked.size() == 4);
  const AttentionKind& kind = HostAttention::asked.back();
  CHECK(kind.backward);
  CHECK(kind.sequences == 8);
  CHECK(kind.longest_query == 256);
  CHECK(kind.longest_key == 256);
}

TEST_CASE("a library may add in any order where the device is told so") {
  const WithHostAttention library;
  Cuda gpu;
  gpu.set_product_precision(ProductPrecision::bfloat16);
  for (const bool deterministic : {true, false}) {
    gpu.set_deterministic(deterministic);
    attend(gpu, 8, themselves);
    REQUIRE(HostAttention::asked.size() == 2);
    CHECK(HostAttention::asked[0].deterministic);
    CHECK(HostAttention::asked[1].deterministic == deterministic);
    HostAttention::asked.clear();
  }
}

TEST_CASE("plans are made for few sizes") {
  using namespace weft::ops::detail;
  CHECK(planned_sequences(1) == 1);
  CHECK(planned_sequences(16) == 16);
  CHECK(planned_sequences(65) == 128);
  CHECK(planned_sequences(32'769) == 65'535);  // more than a grid has blocks across
  CHECK(planned_rows(64) == 128);
  CHECK(planned_rows(129) == 256);
  CHECK(planned_rows(1024) == 1024);
  CHECK(planned_rows(1025) == 1280);
  CHECK(planned_rows(4097) == 5120);
}

TEST_CASE("a library is asked for as many sequences as a grid has blocks across") {
  Cuda gpu;
  const auto may_be = [&](index_t sequences) {
    std::vector<index_t> lengths(static_cast<std::size_t>(sequences));
    lengths.back() = 100;
    const auto layout = make_layout(gpu, lengths);
    const ops::AttentionProblem<Cuda> problem{
        1, 8, /*causal=*/true, 0.3f, layout.get(), layout.get(), nothing_dropped};
    const ops::Factor<Cuda> rows(random_tensor(gpu, {100, 8}, 1));
    return ops::detail::may_be_a_librarys(problem, {{rows.numbers(), 8}});
  };
  gpu.set_product_precision(ProductPrecision::bfloat16);
  CHECK(may_be(65'535));
  CHECK_FALSE(may_be(65'536));
}

TEST_CASE("what a library is not asked for, or refuses, is weft's own") {
  Cuda gpu;
  gpu.set_product_precision(ProductPrecision::bfloat16);
  const auto is_own = [&](index_t size, const Lengths& lengths, const ops::DropoutMask& mask) {
    return bit_difference_of_all(attend_by_weft(gpu, size, lengths, mask),
                                 attend(gpu, size, lengths, mask)) == "";
  };
  SECTION("not asked") {
    const WithHostAttention library;
    CHECK(is_own(8, themselves, some_dropped));
    CHECK(is_own(20, themselves, nothing_dropped));             // rows of 40 bytes
    CHECK(is_own(136, {{65}, {}}, nothing_dropped));            // too many channels
    CHECK(is_own(8, {{63, 5}, {}}, nothing_dropped));           // too short
    CHECK(is_own(8, {{100, 100}, {100, 0}}, nothing_dropped));  // queries without keys
    CHECK(is_own(8, {{100, 0}, {100, 100}}, nothing_dropped));  // keys without queries
    CHECK(HostAttention::asked.empty());
  }
  SECTION("no plan") {
    const WithHostAttention library(std::nullopt);
    CHECK(is_own(8, themselves, nothing_dropped));
    CHECK(HostAttention::asked.size() == 2);
  }
  SECTION("too much workspace") {
    const WithHostAttention library(Cuda().memory_bytes() / 8 + 1);
    CHECK(is_own(8, themselves, nothing_dropped));
    CHECK(HostAttention::asked.size() == 2);
  }
}

}  // namespace library_attention_tests
