// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
// The same for the model that the test has (tests/reference/interchange.py).

#include "program.hpp"

int main(int argc, char** argv) {
  return marian::run<marian::shape_of(/*d_model=*/32, /*heads=*/4, /*d_ff=*/48, /*layers=*/2)>(
      argc, argv);
}
