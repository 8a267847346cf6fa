// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/parallel/divided_blocks.hpp>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <vector>

#include <weft/comm/launch.hpp>
#include <weft/device/cpu.hpp>
#include <weft/testing/random.hpp>

namespace divided_blocks_tests {

using namespace weft;
using namespace weft::parallel;

TEST_CASE("every rank finds the squares of a block that ranks have parts of, as one device does") {
  constexpr index_t block = ops::block_size, parameters = 3 * block + 10;
  // Of blocks 1 and 3, which is short, each of three ranks has a part.
  const std::vector<Range> owned[] = {{{0, block + 7}, {3 * block, 3 * block + 1}},
                                      {{block + 7, block + 8}, {3 * block + 1, 3 * block + 9}},
                                      {{block + 8, 3 * block}, {3 * block + 9, parameters}}};
  Cpu one;
  const auto whole = testing::random_tensor(one, {parameters}, 1);
  std::vector<double> expected(4);
  ops::sum_of_squares(one, parameters, 0, 4, whole.data(), expected.data());
  std::atomic<int> cleared{0}, found{0};
  comm::launch_threads(3, comm::Timeout(60), [&](comm::ThreadCommunicator& communicator) {
    Cpu device;
    const auto& mine = owned[communicator.rank()];
    const auto gradients = testing::nan_tensor(device, {parameters});
    const DividedBlocks divided({1, 3}, parameters, mine);
    divided.clear(device, gradients.data());
    const auto is_clear = [&](index_t at) { return gradients.data()[at] == 0.0f; };
    if (is_clear(block) && is_clear(2 * block - 1) && is_clear(parameters - 1) && !is_clear(0) &&
        !is_clear(2 * block)) {
      ++cleared;
    }
    for (const Range part : mine) {
      std::copy(whole.data() + part.begin, whole.data() + part.end, gradients.data() + part.begin);
    }
    std::vector<double> sums(4, -1.0);
    divided.find_squares(device, communicator, gradients.data(), 0, sums);
    if (sums == std::vector{-1.0, expected[1], -1.0, expected[3]}) ++found;
  });
  CHECK(cleared == 3);
  CHECK(found == 3);
}

}  // namespace divided_blocks_tests
