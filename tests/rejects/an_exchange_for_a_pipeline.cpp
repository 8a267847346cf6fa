// expect: behind the recipe PipelineParallel takes the table of a schedule
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/comm/threads.hpp>
#include <weft/parallel/exchange.hpp>
#include <weft/parallel/pipeline_parallel.hpp>
#include <weft/parallel/schedule/one_forward_one_backward.hpp>
#include <weft/weft.hpp>

using namespace weft;

constexpr nn::TransformerShape shape{
    .d_model = 8, .heads = 2, .d_ff = 8, .encoder_layers = 1, .decoder_layers = 1};
using Layer = nn::EncoderLayer<shape.d_model, shape.heads, shape.d_ff>;
using Model = Pipe<OneForwardOneBackward<4>, nn::Sequential<nn::Embedding<8>, Layer>, Layer>;
using Train = PipelineParallel<Model, Chunked<nn::Generator<shape>, nn::LabelSmoothing>>;

void train(Cpu& device, comm::ThreadCommunicator& rank, const Train::Objective& objective) {
  Train train(device, rank, objective, optim::Adam(), {.seed = 1}, parallel::BucketSizes{},
              parallel::Exchange{.wire = parallel::Wire::bfloat16});
}
