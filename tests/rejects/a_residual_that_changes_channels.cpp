// expect: the module of a Residual must write as many channels as it reads
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/linear.hpp>
#include <weft/nn/residual.hpp>

using namespace weft;

const nn::Residual<nn::Linear<8, 16>> model;
