// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
// Trains on one device.

#include "program.hpp"

int main(int argc, char** argv) { return language_model::run<language_model::Single>(argc, argv); }
