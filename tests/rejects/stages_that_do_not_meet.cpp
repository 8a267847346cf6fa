// expect: two stages of a Pipe do not meet: each must read what the one before it writes
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/linear.hpp>
#include <weft/parallel/pipe.hpp>
#include <weft/parallel/schedule/gpipe.hpp>

using namespace weft;

const Pipe<GPipe<2>, nn::Linear<8, 16>, nn::Linear<8, 4>> model;
