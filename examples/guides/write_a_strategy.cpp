// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// A strategy of one's own: ranks that average their parameters every four updates. weft's own
// functions of strategies, such as translate, take it as they take DataParallel.
//
//     build/examples/guides/guide_write_a_strategy
//
// Prints:
//   after 8 updates both ranks have the same parameters: yes
//   after 9 updates: no
//   a batch of one sentence is an update on both: yes
//   one rank is GradientAccumulation, bit for bit: yes
//   the loss of a batch fell to less than half: yes
//   both ranks translate 3 sentences
//   without a lane for each: rank 0: AveragedRanks: 1 lanes for 2 ranks

#include "reversal.hpp"

// [include]
#include "averaged_ranks.hpp"

#include <weft/comm/launch.hpp>
#include <weft/parallel/strategy.hpp>
#include <weft/weft.hpp>
// [include]

#include <cstdio>
#include <string>
#include <vector>

// [include]
using namespace weft;
// [include]

const char* said(bool holds) { return holds ? "yes" : "no"; }

// [use]
constexpr nn::TransformerShape shape{
    .d_model = 16, .heads = 2, .d_ff = 32, .encoder_layers = 1, .decoder_layers = 1};
using Model = nn::Transformer<shape>;
using Loss = Chunked<nn::Generator<shape>, nn::LabelSmoothing>;
using Train = guides::AveragedRanks<Model, Loss>;
static_assert(parallel::Strategy<Train> && parallel::TrainsOn<Train, train::DeviceBatch>);
// [use]

Train::Objective objective() {
  return Train::Objective(Model({.source_vocabulary = 24, .target_vocabulary = 24, .longest = 16},
                                nn::Dropouts::everywhere(0.1f)),
                          nn::LabelSmoothing(0.0f));
}

template <class Strategy>
void make_updates(Strategy& train, std::uint32_t begin, std::uint32_t end) {
  for (std::uint32_t update = begin; update < end; ++update) {
    const auto batch = course::reversal_batch(/*sentences=*/32, update);
    (void)train.step(train::DeviceBatch(batch), /*rate=*/0.005);
  }
}

template <class Strategy>
std::vector<float> values_of(const Strategy& train) {
  return to_host(train.state().values());
}

//! A rank alone, and the strategy that it should then equal.
bool is_accumulation() {
  const parallel::Recipe recipe{.seed = 1, .lanes = 2, .micro_batches = 2};
  Cpu device;
  GradientAccumulation<Model, Loss> expected(device, objective(), optim::Adam(), recipe);
  make_updates(expected, 0, 8);
  bool equal = false;
  comm::launch_threads(1, comm::default_timeout, [&](comm::ThreadCommunicator& alone) {
    Cpu mine;
    Train train(mine, alone, objective(), optim::Adam(), recipe, /*period=*/4);
    make_updates(train, 0, 8);
    equal = values_of(train) == values_of(expected);
  });
  return equal;
}

//! Whether both ranks count an update for which one of them has no sentence.
bool count_alike() {
  index_t updates[2] = {};
  comm::launch_threads(2, comm::default_timeout, [&](comm::ThreadCommunicator& rank) {
    Cpu device;
    Train train(device, rank, objective(), optim::Adam(),
                {.seed = 1, .lanes = 2, .micro_batches = 2}, /*period=*/4);
    const auto batch = course::reversal_batch(/*sentences=*/1, /*number=*/0);
    (void)train.step(train::DeviceBatch(batch), /*rate=*/0.005);
    updates[rank.rank()] = train.state().updates();
  });
  return updates[0] == 1 && updates[1] == 1;
}

//! What two ranks say of a recipe with one lane.
std::string refusal() {
  try {
    comm::launch_threads(2, comm::default_timeout, [&](comm::ThreadCommunicator& rank) {
      Cpu device;
      const Train train(device, rank, objective(), optim::Adam(), {}, /*period=*/4);
    });
  } catch (const comm::RankError& error) {
    return error.message();
  }
  return "nothing";
}

int main() {
  std::vector<float> after_8[2], after_9[2];
  double first = 0.0, last = 0.0;
  std::vector<generate::Hypothesis> translations[2];
  // [launch]
  comm::launch_threads(2, comm::default_timeout, [&](comm::ThreadCommunicator& rank) {
    Cpu device;
    Train train(device, rank, objective(), optim::Adam(),
                {.seed = 1, .lanes = 2, .micro_batches = 2}, /*period=*/4);
    // [launch]
    const auto held_out = course::reversal_batch(/*sentences=*/32, 1'000'000);
    const auto loss = [&] {
      const auto sum = train.evaluate(train::DeviceBatch(held_out));
      return mean(sum.loss, sum.tokens).value();
    };
    const double before = loss();
    make_updates(train, 0, 8);
    after_8[rank.rank()] = values_of(train);
    make_updates(train, 8, 9);
    after_9[rank.rank()] = values_of(train);
    make_updates(train, 9, 600);
    const double after = loss();
    data::TokenRows source;
    for (const token_t word : {4, 5, 6}) {
      source.tokens.push_back(word);
      source.end_row();
    }
    translations[rank.rank()] = train::translate(train, source, course::eos, {.beam = 2});
    if (rank.rank() == 0) first = before, last = after;
  });
  std::printf("after 8 updates both ranks have the same parameters: %s\n",
              said(after_8[0] == after_8[1]));
  std::printf("after 9 updates: %s\n", said(after_9[0] == after_9[1]));
  std::printf("a batch of one sentence is an update on both: %s\n", said(count_alike()));
  std::printf("one rank is GradientAccumulation, bit for bit: %s\n", said(is_accumulation()));
  std::printf("the loss of a batch fell to less than half: %s\n", said(last < first / 2));
  std::printf("both ranks translate %d sentences\n",
              translations[0].size() == translations[1].size()
                  ? static_cast<int>(translations[0].size())
                  : -1);
  std::printf("without a lane for each: %s\n", refusal().c_str());
}
