// expect: the strategy's optimizer keeps no average: optim::MovingAverage<optim::Adam> does
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/weft.hpp>

using namespace weft;

constexpr nn::TransformerShape shape{
    .d_model = 8, .heads = 2, .d_ff = 8, .encoder_layers = 1, .decoder_layers = 1};
using Train =
    DataParallel<nn::Transformer<shape>, Chunked<nn::Generator<shape>, nn::LabelSmoothing>>;

void average(Train& train) {
  parallel::with_average(train, [] {});
}
