// expect: a Pipe needs as many stages on each rank as its schedule says
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/linear.hpp>
#include <weft/parallel/pipe.hpp>
#include <weft/parallel/schedule/interleaved.hpp>

using namespace weft;

const Pipe<Interleaved<2, 2>, nn::Linear<8, 8>, nn::Linear<8, 8>, nn::Linear<8, 4>> model;
