// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
// Trains on several ranks, of which each has a share of the parameters, of the gradients and of the
// optimizer's state; a layer's parameters are gathered when it is at work.

#include "distributed.hpp"
#include "program.hpp"

using Zero3 = translation::Distributed<weft::Zero<3>>;

int main(int argc, char** argv) { return translation::run<Zero3>(argc, argv); }
