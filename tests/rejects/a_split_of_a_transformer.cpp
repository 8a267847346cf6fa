// expect: split takes an nn::Sequential; nn::steps_of(transformer) makes one of a
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/weft.hpp>

#include <weft/parallel/schedule/gpipe.hpp>
#include <weft/parallel/split.hpp>

using namespace weft;

constexpr nn::TransformerShape shape{.d_model = 8, .heads = 1, .d_ff = 8};

void run(const nn::Transformer<shape>& model) { split<GPipe<2>, 2>(model); }
