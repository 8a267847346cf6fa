// expect: a trainer's data has a type Batch, a loader(seed, position)
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/train/trainer.hpp>
#include <weft/weft.hpp>

using namespace weft;

constexpr nn::TransformerShape shape{
    .d_model = 8, .heads = 2, .d_ff = 8, .encoder_layers = 1, .decoder_layers = 1};
using Train = GradientAccumulation<nn::Transformer<shape>,
                                   Chunked<nn::Generator<shape>, nn::LabelSmoothing>>;

struct Sentences {
  using Batch = data::TranslationBatch;
};

using Trainer = train::Trainer<Train, optim::Noam, Sentences>;

void run(Trainer& trainer) { static_cast<void>(trainer.run()); }
