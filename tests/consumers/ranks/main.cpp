// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
// Prints how many ranks MPI has started.
#include <weft/comm/mpi.hpp>

#include <cstdio>

int main() {
  return weft::comm::launch_mpi(weft::comm::Timeout(60),
                                [](weft::comm::MpiCommunicator& communicator) {
                                  std::printf("%d rank\n", communicator.size());
                                });
}
