// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/comm/launch_ranks.hpp>

#include <catch2/catch.hpp>

#include <atomic>

#include "../message_of.hpp"

namespace launch_ranks_tests {

using namespace weft;
using namespace weft::comm;
using weft::testing::message_of;

namespace {

std::string refused(const Environment& environment, int ranks) {
  return message_of<ArgumentError>([&] {
    launch_ranks(environment, ranks, Timeout(20.0), [](AnyCommunicator&) {});
    return 0;
  });
}

}  // namespace

TEST_CASE("without a launcher, ranks are threads") {
  std::atomic<int> sum{0};
  launch_ranks({}, 3, Timeout(20.0), [&](AnyCommunicator& communicator) {
    sum += 10 * communicator.size() + communicator.rank();
  });
  CHECK(sum == 93);
}

TEST_CASE("what torchrun starts is a rank over connections") {
  int rank = -1;
  const int port = comm::detail::port_of(comm::detail::listen_on(0));
  launch_ranks({Launcher::torchrun, 0, 1, 0, "localhost", port}, 1, Timeout(20.0),
               [&](AnyCommunicator& communicator) { rank = communicator.rank(); });
  CHECK(rank == 0);
}

TEST_CASE("ranks have devices of their machine") {
  launch_threads(2, Timeout(20.0), [](ThreadCommunicator& threads) {
    const AnyCommunicator communicator(threads);
    const Environment process{.launcher = Launcher::slurm, .rank = 5, .size = 8, .local_rank = 3};
    if (local_index(process, communicator) != 3) throw Error("not the process's");
    if (local_index({}, communicator) != threads.rank()) throw Error("not the thread's");
  });
}

TEST_CASE("ranks that a launcher did not start, or not for this, are refused") {
  CHECK(refused({.launcher = Launcher::open_mpi, .size = 2}, 3) ==
        "3 ranks were asked for, but mpirun started 2");
#if !__has_include(<mpi.h>)
  CHECK(refused({.launcher = Launcher::slurm, .size = 2}, 2) ==
        "srun started this process, but the program was compiled without MPI: mpi.h was not found");
#endif
}

}  // namespace launch_ranks_tests
