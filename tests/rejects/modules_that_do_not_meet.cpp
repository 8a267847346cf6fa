// expect: two modules of a Sequential do not meet: each must read what the one before it writes
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/activations.hpp>
#include <weft/nn/linear.hpp>
#include <weft/nn/sequential.hpp>

using namespace weft;

const nn::Sequential<nn::Linear<8, 16>, nn::Relu<16>, nn::Linear<12, 8>> model;
