// expect: what several modules read, such as an encoder's output, must be read by exactly as many as it was made for
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/decoder.hpp>
#include <weft/nn/translation_steps.hpp>

using namespace weft;

using Made = nn::ReadTarget<24, nn::Positions::sinusoidal, true, /*readers=*/1>;
using Reader = nn::DecoderStep<24, nn::DecoderLayer<24, 3, 40>, 1>;

const nn::Sequential<Made, Reader, Reader> model;
