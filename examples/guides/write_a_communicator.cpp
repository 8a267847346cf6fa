// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// A communicator of one's own under weft's collectives and strategies, with a decorator around it;
// and a rank that fails, which takes nobody hostage.
//
//     build/examples/guides/guide_write_a_communicator
//
// Prints:
//   all_reduce of 1, 2 and 3: 6
//   a copy is the same rank: yes
//   the parameters are those of one device, bit for bit
//   the ranks sent 3 gradients, there and back: yes
//   rank 0 heard: rank 2 failed: it cannot go on
//   rank 0 heard: rank 2 has not entered barrier within 0.2 s; last seen in a transfer
//   rank 0 heard: rank 2 failed: all_reduce: a message of 400 bytes, at most 64 are allowed

#include "reversal.hpp"

// [include]
#include "mailbox_communicator.hpp"

#include <weft/comm/decorators.hpp>
#include <weft/parallel/distributed_data_parallel.hpp>
#include <weft/weft.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace weft;
using guides::MailboxCommunicator;
// [include]

// [launch]
//! Runs `program(communicator)` on a thread for each rank.
template <class Program>
void launch(int ranks, comm::Timeout timeout, const Program& program) {
  auto office = std::make_shared<guides::PostOffice>();
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      MailboxCommunicator communicator(office, "", all, rank, timeout);
      try {
        program(communicator);
      } catch (const comm::CommunicatorAborted& error) {
        if (rank == 0) std::printf("rank 0 heard: %s\n", error.message().c_str());
      } catch (const Error& error) {
        communicator.abort(rank, error.message());
      }
    });
  }
}
// [launch]

// [limited]
//! Refuses to send messages of more than `most` bytes.
template <comm::Communicator C>
comm::Observed<C> limited(C communicator, index_t most) {
  return {std::move(communicator),
          [most](std::vector<comm::Message>& messages, const comm::Purpose& purpose) {
            for (const comm::Message& message : messages) {
              if (message.direction != comm::Message::Direction::send) continue;
              if (message.bytes <= most) continue;
              throw Error(text(to_text(purpose), ": a message of ", message.bytes,
                               " bytes, at most ", most, " are allowed"));
            }
          }};
}
// [limited]

constexpr nn::TransformerShape shape{
    .d_model = 16, .heads = 2, .d_ff = 32, .encoder_layers = 1, .decoder_layers = 1};
using Model = nn::Transformer<shape>;
using Loss = Chunked<nn::Generator<shape>, nn::LabelSmoothing>;
using Objective = parallel::Objective<Model, Loss>;

Objective objective() {
  return Objective(Model({.source_vocabulary = 24, .target_vocabulary = 24, .longest = 16},
                         nn::Dropouts::everywhere(0.1f)),
                   nn::LabelSmoothing(0.1f));
}

template <class Train>
std::vector<float> parameters_after(Train& train) {
  for (std::uint32_t update = 0; update < 3; ++update) {
    const auto batch = course::reversal_batch(/*sentences=*/17, update);
    (void)train.step(train::DeviceBatch(batch), /*rate=*/0.005);
  }
  return to_host(train.state().values());
}

int main() {
  // [collective]
  launch(3, comm::default_timeout, [](MailboxCommunicator& communicator) {
    int number = communicator.rank() + 1;
    comm::all_reduce(communicator, std::span(&number, 1));
    if (communicator.rank() == 0) std::printf("all_reduce of 1, 2 and 3: %d\n", number);
  });
  // [collective]

  std::atomic<int> right = 0;
  launch(4, comm::default_timeout, [&](MailboxCommunicator& communicator) {
    MailboxCommunicator copy = communicator;  // as decorators hold
    const int rank = communicator.rank();
    auto column = communicator.split(rank % 2, rank);
    auto row = copy.split(rank / 2, rank);
    if (rank == 2) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const auto in_column = comm::all_gather(column, std::span(&rank, 1));
    const auto in_row = comm::all_gather(row, std::span(&rank, 1));
    if (in_column == std::vector{rank % 2, rank % 2 + 2}) ++right;
    if (in_row == std::vector{rank / 2 * 2, rank / 2 * 2 + 1}) ++right;
  });
  std::printf("a copy is the same rank: %s\n", right == 8 ? "yes" : "no");

  const parallel::Recipe recipe{.seed = 1, .lanes = 3, .micro_batches = 3};
  Cpu alone;
  GradientAccumulation<Model, Loss> one(alone, objective(), optim::Adam(), recipe);
  const auto expected = parameters_after(one);

  // [strategy]
  using Counted = comm::Observed<MailboxCommunicator>;
  using Train = DistributedDataParallel<Model, Loss, Zero<0>, optim::Adam, Cpu, Counted>;
  std::atomic<index_t> sent = 0;
  launch(3, comm::default_timeout, [&](MailboxCommunicator& mailbox) {
    comm::Traffic mine;
    auto communicator = comm::counting(mailbox, mine);
    Cpu device;
    Train train(device, communicator, objective(), optim::Adam(), recipe);
    const auto before = mine.bytes;
    const auto ended = parameters_after(train);
    sent += mine.bytes - before;
    if (mailbox.rank() > 0) return;
    std::printf("the parameters are %s\n",
                ended == expected ? "those of one device, bit for bit" : "others");
  });
  // [strategy]
  // 2 (N - 1)/N of the gradient's bytes a rank and update, of N = 3 ranks; and a few losses.
  const index_t gradients = 3 * 2 * (3 - 1) * 4 * one.objective().layout().trained;
  std::printf("the ranks sent 3 gradients, there and back: %s\n",
              sent > gradients && sent < gradients + gradients / 50 ? "yes" : "no");

  // [failure]
  launch(3, comm::default_timeout, [](MailboxCommunicator& communicator) {
    if (communicator.rank() == 2) throw Error("it cannot go on");
    comm::barrier(communicator);
  });
  launch(3, comm::Timeout(0.2), [](MailboxCommunicator& communicator) {
    if (communicator.rank() < 2) comm::barrier(communicator);
  });
  // [failure]

  // [limit]
  launch(3, comm::default_timeout, [](MailboxCommunicator& mailbox) {
    auto communicator = limited(mailbox, mailbox.rank() == 2 ? 64 : 4096);
    std::vector<float> numbers(100);
    comm::all_reduce(communicator, std::span(numbers));
  });
  // [limit]
}
