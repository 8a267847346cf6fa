// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// Models in stages: cut by hand, cut by weft, and an encoder-decoder model; the time that ranks
// lose; a schedule that is read from text.
//
//     build/examples/guides/guide_pipelines
//
// Prints:
//   cut by hand: the loss fell
//   the share of the time that is lost: between 0 and 100 %
//   by a schedule that was read: 1 update
//   cut by weft: 2 ranks
//   a Transformer in four stages: 4 ranks

#include "reversal.hpp"

// [include]
#include <weft/comm/launch.hpp>
#include <weft/parallel/pipeline_parallel.hpp>
#include <weft/parallel/schedule/one_forward_one_backward.hpp>
#include <weft/weft.hpp>
// [include]

// [include-translation]
#include <weft/nn/translation_steps.hpp>
// [include-translation]

// [include-split]
#include <weft/parallel/split.hpp>
// [include-split]

// [include-table]
#include <weft/parallel/schedule/read_table.hpp>
// [include-table]

// [include-trace]
#include <weft/io/atomic_file.hpp>
#include <weft/parallel/pipeline_trace.hpp>
// [include-trace]

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

// [include]
using namespace weft;
// [include]

// [layers]
constexpr index_t C = 16;
using Layer = nn::EncoderLayer<C, /*heads=*/2, /*d_ff=*/32>;
using Loss = Chunked<nn::BasicGenerator<C>, nn::LabelSmoothing>;
// [layers]

// [stages]
using First = nn::Sequential<nn::Embedding<C>, Layer, Layer>;
using Last = nn::Sequential<Layer, Layer, nn::LayerNorm<C>>;
using Model = Pipe<OneForwardOneBackward<8>, First, Last>;
// [stages]

// [objective]
using Objective = parallel::Objective<Model, Loss>;

Objective objective() {
  const Layer layer(nn::Dropouts::everywhere(0.0f), /*causal=*/true);
  return Objective(
      Model(First(nn::Embedding<C>(24, 16, 0.0f), layer, layer), Last(layer, layer, {})),
      nn::LabelSmoothing(0.0f));
}
// [objective]

//! Sentences, each word to be told from those before it.
struct Words {
  data::TranslationBatch batch;

  index_t size() const { return batch.size(); }
  //! Ranks compare it.
  std::uint64_t fingerprint() const { return train::DeviceBatch(batch).fingerprint(); }
  parallel::MicroBatch<TokenSequences<Cpu>, Cpu> part(Cpu& device, Range range) const {
    return {train::to_sequences(device, batch.target_input, range),
            train::to_sequences(device, batch.target_output, range).ids};
  }
};

int main() {
  const Words batch{course::reversal_batch(/*sentences=*/32, 0)};
  const double rate = 0.01;

  // [train]
  comm::launch_threads(Model::ranks, comm::default_timeout, [&](comm::ThreadCommunicator& rank) {
    Cpu device;
    PipelineParallel<Model, Loss> train(device, rank, objective(), optim::Adam(),
                                        {.lanes = 1, .micro_batches = 8});
    train.step(batch, rate);  // every rank is given the whole batch
    // [train]
    const double before = train.step(batch, rate).loss.loss.value();
    const double after = train.step(batch, rate).loss.loss.value();
    if (rank.rank() == 0)
      std::printf("cut by hand: the loss %s\n", after < before ? "fell" : "rose");

    const std::string path = "guide_pipeline_" + std::to_string(rank.rank()) + ".svg";
    // [trace]
    parallel::Trace mine;
    train.record(&mine);  // from now on
    train.step(batch, rate);
    const auto traces = parallel::gathered_traces(rank, mine);
    io::write_file(path, parallel::svg(traces));  // the last batch, as it ran
    const double lost_percent = 100 * parallel::lost_share(traces);
    // [trace]
    std::remove(path.c_str());
    if (rank.rank() == 0) {
      std::printf("the share of the time that is lost: %s\n",
                  lost_percent >= 0 && lost_percent < 100 ? "between 0 and 100 %" : "none");
    }
    // [train]
  });
  // [train]

  // [table]
  const auto table = parallel::read_table(
      "F0 F1 B0 F2 B1 B2\n"  // 1F1B on two ranks, three micro-batches
      "F0 B0 F1 B1 F2 B2\n",
      "my.schedule");
  comm::launch_threads(2, comm::default_timeout, [&](comm::ThreadCommunicator& rank) {
    Cpu device;
    PipelineParallel<Model, Loss> train(device, rank, objective(), optim::Adam(),
                                        {.lanes = 1, .micro_batches = 3},
                                        table.view());  // of a table that outlives `train`
    train.step(batch, rate);
    // [table]
    if (rank.rank() == 0) {
      std::printf("by a schedule that was read: %d update\n",
                  static_cast<int>(train.state().updates()));
    }
    // [table]
  });
  // [table]

  // [split]
  const nn::Sequential model(nn::Embedding<C>(28'782, 64, 0.1f), Layer(), Layer(), Layer(), Layer(),
                             nn::LayerNorm<C>());
  const auto pipe = split<OneForwardOneBackward<8>, 2, C * 28'782>(model);
  // [split]
  std::printf("cut by weft: %d ranks\n", pipe.ranks);

  // [translation]
  constexpr nn::TransformerShape shape{
      .d_model = C, .heads = 2, .d_ff = 32, .encoder_layers = 2, .decoder_layers = 2};
  const nn::TransformerSizes sizes{.source_vocabulary = 24, .target_vocabulary = 24, .longest = 16};
  const auto steps = nn::steps_of(nn::Transformer<shape>(sizes, nn::Dropouts::everywhere(0.1f)));
  const auto four = split<OneForwardOneBackward<8>, 4>(steps);
  // [translation]
  std::printf("a Transformer in four stages: %d ranks\n", four.ranks);
}
