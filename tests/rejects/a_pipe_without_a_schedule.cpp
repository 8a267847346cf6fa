// expect: a Pipe begins with its schedule: Pipe<OneForwardOneBackward<8>, Stage0, Stage1>
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/linear.hpp>
#include <weft/parallel/pipe.hpp>

using namespace weft;

const Pipe<nn::Linear<8, 8>, nn::Linear<8, 8>> model;
