// expect: a module among others needs one forward, of one input
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/decoder.hpp>
#include <weft/nn/linear.hpp>
#include <weft/nn/sequential.hpp>

using namespace weft;

const nn::Sequential<nn::Linear<8, 16>, nn::DecoderLayer<16, 2, 32>> model;
