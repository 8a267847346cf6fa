// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
// Translates with a model of opus-mt's standard size, such as Helsinki-NLP/opus-mt-en-de:
//
//     tools/convert marian-to-weft opus-mt-en-de en-de
//     build/examples/translate_marian en-de < sentences.en > sentences.de
//
// For another size change the numbers, and compile.

#include "program.hpp"

int main(int argc, char** argv) {
  return marian::run<marian::shape_of(/*d_model=*/512, /*heads=*/8, /*d_ff=*/2048, /*layers=*/6)>(
      argc, argv);
}
