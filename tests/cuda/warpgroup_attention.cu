// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// The tests of attention, compiled for sm_90a.
#include "attention.cu"
#include "random_attention.cu"

namespace warpgroup_attention_tests {

TEST_CASE("code for sm_90a multiplies by warpgroups, unless it is told not to") {
  weft::Cuda gpu;
  CHECK(gpu.uses_wgmma());
  gpu.set_wgmma(false);
  CHECK_FALSE(gpu.uses_wgmma());
}

}  // namespace warpgroup_attention_tests
