// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
// Compiled twice: with oneDNN where it is found, and with -DWEFT_ONEDNN=0 for the portable
// products.
#include <weft/ops/matmul.hpp>

#include <pthread.h>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <weft/core/bfloat16.hpp>
#include <weft/core/float16.hpp>
#include <weft/ops/convert.hpp>
#include <weft/ops/rows.hpp>
#include <weft/testing/difference.hpp>
#include <weft/testing/matrix.hpp>
#include <weft/testing/random.hpp>
#include <weft/testing/teams.hpp>

#include "../message_of.hpp"

#if WEFT_ONEDNN
#include <omp.h>
#endif

namespace matmul_tests {

using namespace weft;
using namespace weft::testing;
using ops::Write;

namespace {

enum class Kind { nt, nn, tn };

constexpr Kind kinds[] = {Kind::nt, Kind::nn, Kind::tn};

//! The factors of a product (M, K) (K, N) as they lie in memory.
struct Factors {
  Kind kind;
  Tensor<float> a;
  Tensor<float> b;

  Factors(Cpu& device, Kind which, index_t M, index_t N, index_t K)
      : kind(which),
        a(random_tensor(device, which == Kind::tn ? Shape{K, M} : Shape{M, K}, 1)),
        b(random_tensor(device, which == Kind::nt ? Shape{N, K} : Shape{K, N}, 2)) {}

  void multiply(Cpu& device, const Tensor<float>& c, Write write) const {
    if (kind == Kind::nt) ops::matmul_nt(device, a, b, c, write);
    if (kind == Kind::nn) ops::matmul_nn(device, a, b, c, write);
    if (kind == Kind::tn) ops::matmul_tn(device, a, b, c, write);
  }

  [[nodiscard]] Matrix left() const { return kind == Kind::tn ? transposed(matrix(a)) : matrix(a); }
  [[nodiscard]] Matrix right() const {
    return kind == Kind::nt ? transposed(matrix(b)) : matrix(b);
  }
};

//! What a precision makes of a factor.
Matrix rounded(Matrix factor, ProductPrecision precision) {
  for (double& x : factor.elements) {
    const auto number = static_cast<float>(x);
    if (precision == ProductPrecision::bfloat16) x = static_cast<float>(Bfloat16(number));
    if (precision == ProductPrecision::float16) x = static_cast<float>(Float16(number));
  }
  return factor;
}

//! What is wrong with c = a b or c += a b; each element is a sum of K products and perhaps of an
//! old value, so it is off by (K + 1) roundings of the sum of their magnitudes at most.
std::string product_difference(Kind kind, index_t M, index_t N, index_t K, Write write,
                               ProductPrecision precision = ProductPrecision::float32) {
  Cpu device;
  device.set_product_precision(precision);
  const Factors factors(device, kind, M, N, K);
  const bool add = write == Write::accumulate;
  const auto c = add ? random_tensor(device, {M, N}, 3) : nan_tensor(device, {M, N});
  const Matrix old = add ? matrix(c) : Matrix(M, N);
  factors.multiply(device, c, write);
  const Matrix left = rounded(factors.left(), precision);
  const Matrix right = rounded(factors.right(), precision);
  Matrix should = product(left, right);
  Matrix bounds = product(magnitudes(left), magnitudes(right));
  for (std::size_t i = 0; i < should.elements.size(); ++i) {
    should.elements[i] += old.elements[i];
    bounds.elements[i] += std::abs(old.elements[i]);
    bounds.elements[i] *= static_cast<double>(K + 1) * unit_roundoff;
  }
  return difference(c, should, bounds);
}

}  // namespace

TEST_CASE("products agree with a naive loop in double") {
  for (const Kind kind : kinds) {
    for (const index_t M : {0, 1, 15, 17, 64, 130}) {
      for (const index_t N : {0, 1, 16, 65, 100}) {
        for (const index_t K : {0, 1, 16, 33, 70}) {
          CAPTURE(static_cast<int>(kind), M, N, K);
          CHECK(product_difference(kind, M, N, K, Write::replace) == "");
          CHECK(product_difference(kind, M, N, K, Write::accumulate) == "");
        }
      }
    }
    CHECK(product_difference(kind, 19, 512, 2048, Write::replace) == "");
    CHECK(product_difference(kind, 512, 70, 300, Write::accumulate) == "");
  }
}

TEST_CASE("factors are rounded to 16 bits where a device says so, and nothing else is") {
  const auto precision = GENERATE(ProductPrecision::bfloat16, ProductPrecision::float16);
  for (const Kind kind : kinds) {
    for (const index_t M : {1, 15, 64, 130}) {
      for (const index_t N : {1, 16, 65}) {
        for (const index_t K : {1, 33, 70}) {
          CAPTURE(to_text(precision), static_cast<int>(kind), M, N, K);
          for (const Write write : {Write::replace, Write::accumulate}) {
            CHECK(product_difference(kind, M, N, K, write, precision) == "");
          }
        }
      }
    }
    CHECK(product_difference(kind, 19, 512, 2048, Write::replace, precision) == "");
    CHECK(product_difference(kind, 64, 64, 64, Write::replace, ProductPrecision::tf32) == "");
  }
}

TEST_CASE("the three products of a linear layer are adjoint to each other") {
  // <x w', dy> = <x, dy w> = <dy' x, w>. The three sums have the same M N K terms; each product
  // rounds its K, N or M of them, so they differ by (M + N + K) roundings of all at most.
  Cpu device;
  constexpr index_t M = 37, N = 65, K = 100;
  const auto x = random_tensor(device, {M, K}, 1), w = random_tensor(device, {N, K}, 2),
             dy = random_tensor(device, {M, N}, 3);
  const auto y = nan_tensor(device, {M, N}), dx = nan_tensor(device, {M, K}),
             dw = nan_tensor(device, {N, K});
  ops::matmul_nt(device, x, w, y);
  ops::matmul_nn(device, dy, w, dx);
  ops::matmul_tn(device, dy, x, dw);
  const double forward = inner(matrix(y), matrix(dy));
  const double bound = static_cast<double>(M + N + K) * unit_roundoff *
                       inner(product(magnitudes(matrix(x)), transposed(magnitudes(matrix(w)))),
                             magnitudes(matrix(dy)));
  CHECK(std::abs(inner(matrix(x), matrix(dx)) - forward) < bound);
  CHECK(std::abs(inner(matrix(w), matrix(dw)) - forward) < bound);
}

TEST_CASE("a product has the same bits on any team") {
  struct Sizes {
    index_t M, N, K;
  };
  for (const Kind kind : kinds) {
    for (const Sizes size :
         {Sizes{65, 65, 513}, Sizes{129, 96, 200}, Sizes{70, 200, 300}, Sizes{1, 300, 700},
          Sizes{300, 1, 700}, Sizes{4, 300, 700}, Sizes{7, 900, 300}, Sizes{400, 130, 257},
          Sizes{200, 512, 512}, Sizes{300, 256, 1024}, Sizes{150, 70, 1500}}) {
      for (const Write write : {Write::replace, Write::accumulate}) {
        CAPTURE(static_cast<int>(kind), size.M, size.N, size.K, write == Write::accumulate);
        for (const auto precision :
             {ProductPrecision::float32, ProductPrecision::bfloat16, ProductPrecision::float16}) {
          CHECK(team_difference([&](Cpu& device) {
                  device.set_product_precision(precision);
                  const Factors factors(device, kind, size.M, size.N, size.K);
                  const auto c = random_tensor(device, {size.M, size.N}, 3);
                  factors.multiply(device, c, write);
                  return std::vector{c};
                }) == "");
        }
      }
    }
  }
}

TEST_CASE("a team shares a product of one row whose weights come from memory, and no small one") {
  Cpu device(2);
  const auto parts_of = [&](index_t N, index_t K) {
    std::atomic<int> parts = 0;
    const ops::detail::Product product{false, true, 1, N, K, {}, {}, {}, K, K, N, false};
    ops::detail::for_product_parts(device, product, 64, false,
                                   [&](ops::detail::ProductPart) { ++parts; });
    return parts.load();
  };
  CHECK(parts_of(512, 512) == 2);
  CHECK(parts_of(32000, 512) == 2);
  CHECK(parts_of(128, 128) == 1);
}

TEST_CASE("a row of a product does not depend on how many others there are") {
  Cpu device;
  for (const Kind kind : {Kind::nt, Kind::nn}) {
    // Up to five rows of a transposed matrix have a kernel of their own.
    const index_t fewest = kind == Kind::nt ? 6 : 1;
    for (const auto& [N, K] :
         {std::pair{70, 300}, {256, 500}, {512, 1024}, {70, 1024}, {256, 1500}, {1, 700}}) {
      const Factors factors(device, kind, 150, N, K);
      const auto whole = random_tensor(device, {150, N}, 3);
      factors.multiply(device, whole, Write::accumulate);
      for (const index_t M :
           {fewest, fewest + 1, index_t{33}, index_t{64}, index_t{128}, index_t{149}}) {
        for (const index_t first : {index_t{0}, 150 - M}) {
          Factors some = factors;
          some.a = factors.a.slice(first, first + M);
          const auto part = random_tensor(device, {150, N}, 3).slice(first, first + M);
          some.multiply(device, part, Write::accumulate);
          CAPTURE(M, N, K, first);
          CHECK(bit_difference(part, whole.slice(first, first + M)) == "");
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("few rows of numbers of 16 bits give the bits of their floats", "", Bfloat16,
                   Float16) {
  constexpr bool is_bfloat16 = std::is_same_v<TestType, Bfloat16>;
  constexpr auto precision = is_bfloat16 ? ProductPrecision::bfloat16 : ProductPrecision::float16;
  constexpr index_t N = 71, K = 77;  // odd: no pairs
  Cpu device;
  for (index_t M = 1; M <= 5; ++M) {
    const auto x = random_tensor(device, {M, K}, 1), w = random_tensor(device, {N, K}, 2);
    const auto y = nan_tensor(device, {M, N}), of_floats = nan_tensor(device, {M, N});
    device.set_product_precision(precision);
    ops::matmul_nt(device, x, w, y);
    device.set_product_precision(ProductPrecision::float32);
    for (const auto& factor : {x, w}) {
      const Tensor<TestType> rounded(device, factor.shape());
      ops::convert(device, factor.size(), factor.data(), rounded.data());
      ops::convert(device, factor.size(), rounded.data(), factor.data());
    }
    ops::matmul_nt(device, x, w, of_floats);
    CHECK(bit_difference(y, of_floats) == "");
  }
}

#if WEFT_ONEDNN
TEST_CASE("a row of oneDNN's product does not depend on how many others there are") {
  // Whether or not weft leaves products to it on this processor.
  Cpu device;
  const index_t K = GENERATE(500, 1500);
  for (const Kind kind : kinds) {
    const Factors factors(device, kind, 150, 70, K);
    const auto multiply = [&](index_t first, index_t end, const Tensor<float>& c) {
      const auto p = ops::detail::checked_product("matmul", factors.a, kind == Kind::tn, factors.b,
                                                  kind == Kind::nt, c, Write::accumulate);
      ops::detail::multiply_by_onednn(device, p, {first, end, 0, 70});
    };
    const auto whole = random_tensor(device, {150, 70}, 3);
    multiply(0, 150, whole);
    for (const index_t M : {1, 2, 15, 33, 72, 73, 149}) {
      for (const index_t first : {index_t{0}, 150 - M}) {
        const auto part = random_tensor(device, {150, 70}, 3);
        multiply(first, first + M, part);
        CAPTURE(static_cast<int>(kind), K, M, first);
        CHECK(bit_difference(part.slice(first, first + M), whole.slice(first, first + M)) == "");
      }
    }
  }
}

TEST_CASE("products use no threads of OpenMP, and leave the caller's number as it is") {
  Cpu device;
  const Factors factors(device, Kind::nt, 150, 700, 800);
  const auto threads = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  };
  const auto before = threads();
  const int number_before = omp_get_max_threads();
  for (const int number : {3, 2}) {
    omp_set_num_threads(number);
    for (const auto precision : {ProductPrecision::float32, ProductPrecision::bfloat16}) {
      device.set_product_precision(precision);
      const auto c = nan_tensor(device, {150, 700});
      ops::matmul_nt(device, factors.a, factors.b, c);
      const auto p = ops::detail::checked_product("matmul", factors.a, false, factors.b, true, c,
                                                  Write::replace);
      ops::detail::multiply_by_onednn(device, p, {0, 150, 0, 700});
    }
    CHECK(omp_get_max_threads() == number);
  }
  omp_set_num_threads(number_before);
  CHECK(threads() == before);
}

#if WEFT_AVX512
TEST_CASE("oneDNN's products have the bits of weft's own") {
  if (!ops::detail::onednn_has_avx512()) return;  // as DNNL_MAX_CPU_ISA may say
  Cpu device;
  const index_t K = GENERATE(64, 385, 769, 1500, 4097);
  const Write write = GENERATE(Write::replace, Write::accumulate);
  for (const Kind kind : kinds) {
    for (const auto& [M, N] : {std::pair{1, 2}, {33, 256}, {150, 70}, {300, 777}}) {
      const Factors factors(device, kind, M, N, K);
      const auto product_by = [&, M = M, N = N](const auto& multiply) {
        const auto c = random_tensor(device, {M, N}, 3);
        multiply(device,
                 ops::detail::checked_product("matmul", factors.a, kind == Kind::tn, factors.b,
                                              kind == Kind::nt, c, write),
                 ops::detail::ProductPart{0, M, 0, N});
        return c;
      };
      CAPTURE(static_cast<int>(kind), M, N, K, write == Write::accumulate);
      CHECK(bit_difference(product_by(ops::detail::multiply_by_onednn),
                           product_by(ops::detail::multiply_blocked)) == "");
    }
  }
}
#endif
#endif

#if WEFT_AVX512_BF16
TEST_CASE("a row of few or some rounded ones does not depend on how many others there are") {
  Cpu device;
  device.set_product_precision(ProductPrecision::bfloat16);
  for (const auto& [fewest, most] : {std::pair{1, 5}, {6, 128}}) {
    for (const auto& [N, K] : {std::pair{70, 300}, {21, 502}, {512, 1024}}) {
      const Factors factors(device, Kind::nt, most, N, K);
      const auto whole = random_tensor(device, {most, N}, 3);
      factors.multiply(device, whole, Write::accumulate);
      for (const index_t M : {fewest, fewest + 1, most - 1}) {
        for (const index_t first : {index_t{0}, most - M}) {
          Factors some = factors;
          some.a = factors.a.slice(first, first + M);
          const auto part = random_tensor(device, {most, N}, 3).slice(first, first + M);
          some.multiply(device, part, Write::accumulate);
          CAPTURE(M, N, K, first);
          CHECK(bit_difference(part, whole.slice(first, first + M)) == "");
        }
      }
    }
  }
}
#endif

TEST_CASE("a factor ends with the last number of its last row") {
  Cpu device;
  const auto wide = random_tensor(device, {4, 8}, 1), c = nan_tensor(device, {4, 5});
  const auto dense = random_tensor(device, {5, 5}, 2);
  const ops::FactorView last_columns(AnyFloats<const void>(wide.data() + 3), {4, 5}, 8);
  const auto by = [&](const ops::FactorView& a, bool transpose_a, const ops::FactorView& b,
                      bool transpose_b, const Tensor<float>& to) {
    return ops::detail::checked_product("a product", a, transpose_a, b, transpose_b, to,
                                        Write::replace);
  };
  CHECK(by(last_columns, false, dense, true, c).size_a() == wide.size() - 3);
  CHECK(by(last_columns, false, dense, true, c).size_b() == dense.size());
  const auto square = nan_tensor(device, {5, 5});
  CHECK(by(last_columns, true, c, false, square).size_a() == wide.size() - 3);
  CHECK(by(c, true, last_columns, false, square).size_b() == wide.size() - 3);
}

TEST_CASE("rows with gaps between them are for a GPU's products") {
  Cpu device;
  const auto a = random_tensor(device, {3, 5}, 1), b = random_tensor(device, {4, 5}, 2);
  const ops::Factor<Cpu> c(device, {3, 4}, FloatType::float32, 8);
  CHECK(message_of<Error>([&] { ops::matmul_nt(device, a, b, c.target()); }) ==
        "a product of rows with gaps between them, on a processor");
}

TEST_CASE("rows may lie in several dimensions") {
  Cpu device;
  const auto a = random_tensor(device, {2, 3, 5}, 1), b = random_tensor(device, {4, 5}, 2);
  const auto c = nan_tensor(device, {2, 3, 4}), flat = nan_tensor(device, {6, 4});
  ops::matmul_nt(device, a, b, c);
  ops::matmul_nt(device, a.reshaped({6, 5}), b, flat);
  CHECK(bit_difference(c.reshaped({6, 4}), flat) == "");
}

TEST_CASE("matrices that do not fit are refused with their shapes") {
  Cpu device;
  const auto a = nan_tensor(device, {3, 5}), b = nan_tensor(device, {4, 5}),
             c = nan_tensor(device, {3, 4});
  ops::matmul_nt(device, random_tensor(device, {3, 5}, 1), random_tensor(device, {4, 5}, 1), c);
  CHECK(message_of<ShapeError>([&] {
          ops::matmul_nt(device, a, b, nan_tensor(device, {4, 3}));
        }) == "matmul_nt: (3, 5) and (4, 5) do not give (4, 3)");
  CHECK(message_of<ShapeError>([&] { ops::matmul_nn(device, a, b, c); }) ==
        "matmul_nn: (3, 5) and (4, 5) do not give (3, 4)");
  CHECK(message_of<ShapeError>([&] {
          ops::matmul_tn(device, a, b, nan_tensor(device, {5, 5}));
        }) == "matmul_tn: (3, 5) and (4, 5) do not give (5, 5)");
}

namespace {

//! Whether signals to this thread were handled on its stack.
struct Handled {
  static inline volatile sig_atomic_t signals = 0, elsewhere = 0;
  static inline const char* stack = nullptr;
  static inline std::size_t bytes = 0;

  static void note(int) {
    // Not the address of a variable: AddressSanitizer keeps those on a stack of its own.
    const auto* at = static_cast<const char*>(__builtin_frame_address(0));
    signals = signals + 1;
    if (at < stack || at >= stack + bytes) elsewhere = elsewhere + 1;
  }
};

}  // namespace

TEST_CASE("no signal is handled while oneDNN has the stack pointer in the heap") {
  pthread_attr_t attributes;
  REQUIRE(pthread_getattr_np(pthread_self(), &attributes) == 0);
  void* stack = nullptr;
  pthread_attr_getstack(&attributes, &stack, &Handled::bytes);
  pthread_attr_destroy(&attributes);
  Handled::stack = static_cast<const char*>(stack);
  Handled::signals = 0;
  Handled::elsewhere = 0;
  struct sigaction action {
  }, before{};
  action.sa_handler = &Handled::note;
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, &before);

  Cpu device;
  const Factors factors(device, Kind::nn, 500, 256, 2048);
  const Tensor<float> c(device, {500, 256});
  {
    const std::jthread sender([to = pthread_self()](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        pthread_kill(to, SIGUSR1);
        std::this_thread::sleep_for(std::chrono::microseconds(300));
      }
    });
    for (int i = 0; i < 100; ++i) factors.multiply(device, c, Write::replace);
  }
  sigaction(SIGUSR1, &before, nullptr);
  CHECK(Handled::signals > 50);
  CHECK(Handled::elsewhere == 0);
}

}  // namespace matmul_tests
