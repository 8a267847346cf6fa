// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
// Compiled once into a library that every test program links: Catch2's own code takes longer to
// compile than most tests.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
