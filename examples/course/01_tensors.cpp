// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// Tensors lie on a device; operations read and write views of them.
//
//     build/examples/course/01_tensors
//
// Prints:
//   a (2, 3), b (4, 3), a b' (2, 4)
//   row 1 of the product: 2 8 14 20
//   a slice of a shares its elements: 7
//   attempted: matmul_nt: (2, 3) and (4, 4) do not give (2, 4)

#include <weft/ops/matmul.hpp>
#include <weft/tensor/tensor.hpp>

#include <cstdio>
#include <numeric>
#include <vector>

using namespace weft;

int main() {
  Cpu device(/*threads=*/2);  // memory, a worker, and a team of two threads

  std::vector<float> numbers(12);
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  const auto a = to_device<float>(device, std::vector<float>{0, 1, 0, 0, 2, 0}, {2, 3});
  const auto b = to_device<float>(device, numbers, {4, 3});
  const Tensor<float> product(device, {2, 4});  // undefined until something is written
  ops::matmul_nt(device, a, b, product);
  std::printf("a %s, b %s, a b' %s\n", to_text(a.shape()).c_str(), to_text(b.shape()).c_str(),
              to_text(product.shape()).c_str());

  std::printf("row 1 of the product:");
  for (const float x : to_host(product.slice(1, 2))) std::printf(" %g", x);
  std::printf("\n");

  a.slice(1, 2).data()[0] = 7;
  std::printf("a slice of a shares its elements: %g\n", to_host(a)[3]);

  try {
    ops::matmul_nt(device, a, Tensor<float>(device, {4, 4}), product);
  } catch (const ShapeError& error) {
    std::printf("attempted: %s\n", error.message().c_str());
  }
}
