// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// A language model in two stages, each on a rank that is a thread, by a schedule that the compiler
// has proven: it cannot deadlock, and adds gradients as one device does.
//
//     build/examples/course/06_pipeline
//
// Prints:
//   rank 0: F0 F1 B0 F2 B1 F3 B2 B3
//   rank 1: F0 B0 F1 B1 F2 B2 F3 B3
//   the parameters are those of one device, bit for bit

#include "reversal.hpp"

#include <weft/comm/launch.hpp>
#include <weft/parallel/pipeline_parallel.hpp>
#include <weft/parallel/schedule/one_forward_one_backward.hpp>
#include <weft/parallel/schedule/read_table.hpp>
#include <weft/weft.hpp>

#include <cstdint>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

using namespace weft;

constexpr index_t C = 32;
using Layer = nn::EncoderLayer<C, /*heads=*/4, /*d_ff=*/64>;
using First = nn::Sequential<nn::Embedding<C>, Layer>;
using Last = nn::Sequential<Layer, nn::LayerNorm<C>>;  // has to read what First writes
using Model = Pipe<OneForwardOneBackward</*micro_batches=*/4>, First, Last>;
using Loss = Chunked<nn::BasicGenerator<C>, nn::LabelSmoothing>;
using Objective = parallel::Objective<Model, Loss>;

Objective objective() {
  const Layer layer(nn::Dropouts::everywhere(0.1f), /*causal=*/true);
  return Objective(Model(First(nn::Embedding<C>(24, 16, 0.1f), layer), Last(layer, {})),
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
  for (std::uint32_t update = 0; update < 20; ++update) {
    (void)train.step(Words{course::reversal_batch(/*sentences=*/29, update)}, /*rate=*/0.005);
  }
  [[maybe_unused]] const auto whole = train.whole_values();
  return to_host(train.state().values());
}

int main() {
  const parallel::Recipe recipe{.seed = 1, .lanes = 1, .micro_batches = 4};
  Cpu device;
  GradientAccumulation<Model, Loss> alone(device, objective(), optim::Adam(), recipe);
  const auto expected = parameters_after(alone);

  std::istringstream lines(to_text(Model::table()));
  std::string line;
  for (int rank = 0; std::getline(lines, line); ++rank) {
    std::printf("rank %d: %s\n", rank, line.c_str());
  }
  comm::launch_threads(Model::ranks, comm::default_timeout, [&](comm::ThreadCommunicator& rank) {
    Cpu mine;
    PipelineParallel<Model, Loss> train(mine, rank, objective(), optim::Adam(), recipe);
    const auto ended = parameters_after(train);
    if (rank.rank() > 0) return;
    std::printf("the parameters are %s\n",
                ended == expected ? "those of one device, bit for bit" : "others");
  });
}
