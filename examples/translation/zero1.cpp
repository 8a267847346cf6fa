// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
// Trains on several ranks, of which each has the model and a share of the optimizer's state.

#include "distributed.hpp"
#include "program.hpp"

using Zero1 = translation::Distributed<weft::Zero<1>>;

int main(int argc, char** argv) { return translation::run<Zero1>(argc, argv); }
