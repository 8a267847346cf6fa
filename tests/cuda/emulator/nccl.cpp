// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file As much of NCCL as weft calls, for the emulator: linked in place of libnccl. Ranks are
//! threads of one process; communicators do not block.
//!
//! A group of messages is one kernel: it is queued once the ranks that it has not met before have
//! come, and ends when both ends of each of its messages are running.
#include <nccl.h>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "queue.hpp"
#include "statements.hpp"

namespace {

//! One end of a message.
struct End {
  void* data;
  std::size_t bytes;
  bool is_running = false, is_done = false;
};
using Ends = std::vector<std::shared_ptr<End>>;

//! What the ranks of one id share.
struct Shared {
  std::map<int, int> gpus;  // of the ranks that have come
  std::set<int> gone;       // destroyed, or aborted
  struct Link {
    Ends sends, receives;  // in order: those of one place belong together
    bool sender_came = false, receiver_came = false;
  };
  std::map<std::pair<int, int>, Link> links;  // by sender and receiver
};

//! A message of a group.
struct Posted {
  std::pair<int, int> link;
  bool sends;
  std::shared_ptr<End> end;
};

}  // namespace

struct ncclComm {
  std::shared_ptr<Shared> shared;
  int rank, size, gpu;
  bool is_connecting = true;    // until all ranks have come
  std::vector<Posted> group{};  // posted, not yet queued
  cudaStream_t stream = nullptr;
  std::shared_ptr<bool> is_aborted = std::make_shared<bool>(false);
};

namespace {

//! Of all that ranks share. A task takes it while its stream is locked, so nobody may queue a task
//! who has it.
std::mutex& mutex() {
  static std::mutex all;
  return all;
}

std::map<long, std::shared_ptr<Shared>>& ids() {
  static std::map<long, std::shared_ptr<Shared>> all;
  return all;
}

thread_local std::string last_error;
thread_local bool is_grouping = false;
thread_local ncclComm* grouped = nullptr;

thread_local std::vector<ncclComm*> aborted;

void end_aborted() {
  for (ncclComm* const comm : std::exchange(aborted, {})) {
    emulator::Stream::reach_all_of(comm->gpu);
    delete comm;
  }
}

ncclResult_t refuse(const std::string& why) {
  last_error = why;
  return ncclInvalidUsage;
}

//! Whether a message has gone: copies it if its other end is running, too.
bool deliver(Shared& shared, const Posted& posted) {
  if (posted.end->is_done) return true;
  const Shared::Link& link = shared.links[posted.link];
  const Ends& mine = posted.sends ? link.sends : link.receives;
  const Ends& others = posted.sends ? link.receives : link.sends;
  const auto place = static_cast<std::size_t>(std::ranges::find(mine, posted.end) - mine.begin());
  if (place >= others.size() || !others[place]->is_running) return false;
  End& from = posted.sends ? *posted.end : *others[place];
  End& to = posted.sends ? *others[place] : *posted.end;
  if (from.bytes != to.bytes) {
    emulator::end("emulated NCCL: " + std::to_string(from.bytes) + " bytes are sent, " +
                  std::to_string(to.bytes) + " received");
  }
  emulator::copy_of(to.data, from.data, from.bytes)();
  from.is_done = to.is_done = true;
  return true;
}

//! Queues the group's kernel if all that it meets have come.
bool queue_group(ncclComm& comm) {
  {
    const std::lock_guard lock(mutex());
    for (const Posted& posted : comm.group) {
      const Shared::Link& link = comm.shared->links[posted.link];
      if (!link.sender_came || !link.receiver_came) return false;
    }
    for (const Posted& posted : comm.group) {
      Shared::Link& link = comm.shared->links[posted.link];
      (posted.sends ? link.sends : link.receives).push_back(posted.end);
    }
  }
  comm.stream->queue_attempts([shared = comm.shared, group = std::move(comm.group),
                               is_aborted = comm.is_aborted] {
    const std::lock_guard lock(mutex());
    if (*is_aborted) return true;
    for (const Posted& posted : group) posted.end->is_running = true;
    return std::ranges::count_if(group, [&](const Posted& p) { return !deliver(*shared, p); }) == 0;
  });
  comm.group.clear();
  return true;
}

ncclResult_t post(ncclComm_t comm, int peer, void* data, std::size_t bytes, bool sends,
                  cudaStream_t stream) {
  if (!is_grouping) return refuse("a message outside of a group");
  if (comm->is_connecting || (!comm->group.empty() && grouped != comm))
    return refuse("the communicator is still in progress");
  if (grouped != nullptr && grouped != comm) emulator::end("emulated NCCL: a group of two");
  if (stream->gpu() != comm->gpu) return refuse("a stream of another GPU");
  if (peer < 0 || peer >= comm->size) return refuse("no rank " + std::to_string(peer));
  grouped = comm;
  comm->stream = stream;
  const std::pair link = sends ? std::pair(comm->rank, peer) : std::pair(peer, comm->rank);
  comm->group.push_back({link, sends, std::make_shared<End>(End{data, bytes})});
  return ncclSuccess;
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION(2, 30, 0);  // the first that takes two ranks on one GPU
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t) { return "refused by the emulated NCCL"; }
const char* ncclGetLastError(ncclComm_t) { return last_error.c_str(); }

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  const std::lock_guard lock(mutex());
  const long next = static_cast<long>(ids().size()) + 1;
  ids()[next] = std::make_shared<Shared>();
  std::memset(id, 0, sizeof *id);
  std::memcpy(id, &next, sizeof next);
  return ncclSuccess;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* made, int size, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  long number = 0;
  std::memcpy(&number, &id, sizeof number);
  if (config->blocking != 0) emulator::end("emulated NCCL: a communicator that blocks");
  const std::lock_guard lock(mutex());
  if (!ids().contains(number)) return refuse("an id of nobody");
  auto comm = std::make_unique<ncclComm>(
      ncclComm{.shared = ids()[number], .rank = rank, .size = size, .gpu = -1});
  cudaGetDevice(&comm->gpu);
  const char* const several = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  for (const auto& [other, gpu] : comm->shared->gpus) {
    if (other == rank) return refuse("rank " + std::to_string(rank) + " came twice");
    if (gpu == comm->gpu && (several == nullptr || std::string(several) != "1"))
      return refuse("two ranks on one GPU");
  }
  comm->shared->gpus[rank] = comm->gpu;
  *made = comm.release();
  return ncclInProgress;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  *state = ncclSuccess;
  if (comm->is_connecting) {
    const std::lock_guard lock(mutex());
    comm->is_connecting = comm->shared->gpus.size() < static_cast<std::size_t>(comm->size);
    if (comm->is_connecting) *state = ncclInProgress;
  } else if (!comm->group.empty() && !queue_group(*comm)) {
    *state = ncclInProgress;
  }
  return ncclSuccess;
}
//! Frees memory, and so waits for all kernels of the GPU; within a group all flags are set before.
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  if (comm == nullptr) return ncclSuccess;
  {
    const std::lock_guard lock(mutex());
    *comm->is_aborted = true;
    comm->shared->gone.insert(comm->rank);
  }
  aborted.push_back(comm);
  if (!is_grouping) end_aborted();
  return ncclSuccess;
}
//! Waits for the other ranks to do so, as those of one machine do.
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  const auto until = std::chrono::steady_clock::now() + emulator::patience;
  const auto all_gone = [&] {
    const std::lock_guard lock(mutex());
    comm->shared->gone.insert(comm->rank);
    return comm->shared->gone.size() == static_cast<std::size_t>(comm->size);
  };
  while (!all_gone()) {
    if (std::chrono::steady_clock::now() > until)
      emulator::end("emulated NCCL: ranks destroy their communicators in different orders");
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  is_grouping = true;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  is_grouping = false;
  end_aborted();
  ncclComm* const comm = std::exchange(grouped, nullptr);
  if (comm == nullptr) return ncclSuccess;
  const std::lock_guard lock(mutex());
  for (const Posted& posted : comm->group) {
    Shared::Link& link = comm->shared->links[posted.link];
    (posted.sends ? link.sender_came : link.receiver_came) = true;
  }
  return ncclInProgress;
}
ncclResult_t ncclSend(const void* data, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  if (type != ncclChar) emulator::end("emulated NCCL: a message that is not of bytes");
  return post(comm, peer, const_cast<void*>(data), count, /*sends=*/true, stream);
}
ncclResult_t ncclRecv(void* data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  if (type != ncclChar) emulator::end("emulated NCCL: a message that is not of bytes");
  return post(comm, peer, data, count, /*sends=*/false, stream);
}

}  // extern "C"
