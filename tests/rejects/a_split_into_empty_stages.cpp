// expect: a model cannot be split into more stages than it has modules: one would be empty
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/linear.hpp>
#include <weft/parallel/schedule/gpipe.hpp>
#include <weft/parallel/split.hpp>

using namespace weft;

const nn::Sequential model{nn::Linear<8, 8>(), nn::Linear<8, 8>()};
const auto stages = split<GPipe<2>, 3>(model);
