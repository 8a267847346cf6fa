// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
// Compiled once into a library that every test program links: Catch2's own code takes longer to
// compile than most tests.
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

// Catch2 returns the number of failed assertions. Meson takes 77 for "skipped" and 99 for "cannot
// run", so every failure is 1.
int main(int argc, char** argv) { return Catch::Session().run(argc, argv) == 0 ? 0 : 1; }
