// expect: ctx.gradient takes a function of a gradient's place, which holds copies and is not mutable
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/weft.hpp>

using namespace weft;

void backward(nn::Context<Cpu>& ctx, const nn::Parameter& gain) {
  ctx.gradient(gain, [calls = 0](View<float>, ops::Write) mutable { ++calls; });
}
