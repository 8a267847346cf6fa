// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// A schedule of one's own, proven by the compiler, runs a pipeline; and what a table that breaks a
// law is told. With an argument it writes the schedule's picture there.
//
//     build/examples/guides/guide_write_a_schedule [PICTURE.svg]
//
// Prints:
//   F0 F1 F2 F3 F4 B0 F5 B1 B2 B3 B4 B5
//   F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 B4 B5
//   F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5
//   the parameters are those of one device, bit for bit
//   mine: rank 0: backward of micro-batch 0 in stage 0 waits for what comes only after it
//   mine: rank 0: backward of micro-batch 0 in stage 0 comes after that of micro-batch 1

#include "reversal.hpp"

// [include]
#include "eager_forward.hpp"

#include <weft/comm/launch.hpp>
#include <weft/parallel/pipeline_parallel.hpp>
#include <weft/parallel/schedule/gpipe.hpp>
#include <weft/parallel/schedule/proof.hpp>
#include <weft/parallel/schedule/read_table.hpp>
#include <weft/parallel/schedule/svg.hpp>
#include <weft/weft.hpp>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <vector>

using namespace weft;
// [include]

// [proof]
static_assert(sizeof(parallel::Proof<guides::EagerForward<6>, 3>) > 0);
static_assert(parallel::runs_with_blocking_sends_of<GPipe<6>, 3>);
static_assert(!parallel::runs_with_blocking_sends_of<guides::EagerForward<6>, 3>);
// [proof]

// [model]
constexpr index_t C = 16;
using Layer = nn::EncoderLayer<C, /*heads=*/2, /*d_ff=*/32>;
using First = nn::Sequential<nn::Embedding<C>, Layer>;
using Last = nn::Sequential<Layer, nn::LayerNorm<C>>;
using Model = Pipe<guides::EagerForward</*M=*/6>, First, Layer, Last>;
// [model]
using Loss = Chunked<nn::BasicGenerator<C>, nn::LabelSmoothing>;
using Objective = parallel::Objective<Model, Loss>;

Objective objective() {
  const Layer layer(nn::Dropouts::everywhere(0.1f), /*causal=*/true);
  return Objective(Model(First(nn::Embedding<C>(24, 16, 0.1f), layer), layer, Last(layer, {})),
                   nn::LabelSmoothing(0.1f));
}

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

template <class Train>
std::vector<float> parameters_after(Train& train) {
  for (std::uint32_t update = 0; update < 5; ++update) {
    (void)train.step(Words{course::reversal_batch(/*sentences=*/20, update)}, /*rate=*/0.005);
  }
  [[maybe_unused]] const auto whole = train.whole_values();
  return to_host(train.state().values());
}

int main(int argc, char** argv) {
  // [show]
  const auto table = Model::table();
  std::printf("%s", to_text(table).c_str());
  if (argc > 1) std::ofstream(argv[1]) << parallel::svg(table, {.forward = 2, .backward = 2});
  // [show]

  const parallel::Recipe recipe{.seed = 1, .lanes = 1, .micro_batches = 6};
  Cpu device;
  GradientAccumulation<Model, Loss> alone(device, objective(), optim::Adam(), recipe);
  const auto expected = parameters_after(alone);
  comm::launch_threads(Model::ranks, comm::default_timeout, [&](comm::ThreadCommunicator& rank) {
    Cpu mine;
    PipelineParallel<Model, Loss> train(mine, rank, objective(), optim::Adam(), recipe);
    const auto ended = parameters_after(train);
    if (rank.rank() > 0) return;
    std::printf("the parameters are %s\n",
                ended == expected ? "those of one device, bit for bit" : "others");
  });

  // [refused]
  for (const char* const wrong : {"B0 F0\nF0 B0\n", "F0 F1 B1 B0\nF0 F1 B1 B0\n"}) {
    try {
      (void)parallel::read_table(wrong, "mine");
    } catch (const FormatError& error) {
      std::printf("%s\n", error.message().c_str());
    }
  }
  // [refused]
}
