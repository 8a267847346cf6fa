// expect: PipelineParallel trains a Pipe<Schedule, Stages...>: write the model's stages, or cut a
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/parallel/pipeline_parallel.hpp>
#include <weft/weft.hpp>

using namespace weft;

constexpr nn::TransformerShape shape{.d_model = 32, .heads = 4, .d_ff = 64};
using Model = nn::Transformer<shape>;
using Loss = Chunked<nn::Generator<shape>, nn::LabelSmoothing>;
using Train = PipelineParallel<Model, Loss>;

int devices(const Train& strategy) { return strategy.devices(); }
