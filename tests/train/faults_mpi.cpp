// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
// One rank of a run under mpirun that may fail: faults_mpi FOLDER SEED POSTS, with SEED -1 for no
// fault. What faults_mpi.py checks is what it prints and leaves in the folder.
#include <weft/comm/mpi.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "faulty_run.hpp"

using namespace weft;
using namespace weft::testing;

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : ".";
  const int seed = argc > 2 ? std::atoi(argv[2]) : -1;
  const index_t posts = argc > 3 ? std::atoi(argv[3]) : 1;
  const Fault fault = seed < 0 ? Fault{} : fault_of(static_cast<std::uint32_t>(seed), posts);
  return comm::launch_mpi(comm::Timeout(4.0), [&](comm::MpiCommunicator& communicator) {
    const char* const kinds[] = {"none", "throws", "stops", "full_disk", "not_finite"};
    if (communicator.rank() == 0) {
      std::printf("fault %s rank %d\n", kinds[static_cast<int>(fault.kind)], fault.rank);
      std::fflush(stdout);
    }
    RankRun run;
    train_to_the_end(communicator, folder, fault, run);
    std::printf("rank %d posts %d skipped %d\n", communicator.rank(), static_cast<int>(run.posts),
                static_cast<int>(run.skipped));
  });
}
