// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
// Trains on several ranks, of which each has the model and a share of the batch.

#include "distributed.hpp"
#include "program.hpp"

using Replicas = translation::Distributed<weft::Zero<0>>;

int main(int argc, char** argv) { return translation::run<Replicas>(argc, argv); }
