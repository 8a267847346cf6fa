// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file One communicator of NCCL's. Needs <nccl.h> and its library.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <weft/comm/communicator.hpp>
#include <weft/core/error.hpp>
#include <weft/device/cuda.cuh>
#include <weft/device/cuda_error.cuh>
#include <weft/device/cuda_handles.cuh>

// 2.22 writes straight into the memory of a rank in the same process, as it cannot where that is in
// pages.
#if NCCL_VERSION_CODE < NCCL_VERSION(2, 23, 4)
#error "ranks over NCCL need NCCL 2.23.4 or newer"
#endif

namespace weft::comm::detail {

using weft::detail::expect_success;

//! A variable of the environment.
struct EnvironmentVariable {
  const char *name, *value;
};

//! NCCL's kernels wait for other ranks. CUDA loads a kernel when it is first launched, unless it is
//! told otherwise, and may wait for all that run then; and streams that share one of the GPU's
//! queues wait for each other.
inline constexpr EnvironmentVariable nccl_environment[] = {{"CUDA_MODULE_LOADING", "EAGER"},
                                                           {"CUDA_DEVICE_MAX_CONNECTIONS", "32"}};

//! With the first, who launches a kernel waits until it has ended; with the second, who connects
//! waits for the other ranks, and no deadline is looked at.
inline constexpr const char* refused_by_nccl[] = {"CUDA_LAUNCH_BLOCKING", "NCCL_COMM_BLOCKING"};

//! **Errors.** ArgumentError unless the environment has all of the former and none of the latter.
inline void expect_nccl_environment() {
  const auto value_of = [](const char* name) -> std::string_view {
    const char* const said = std::getenv(name);
    return said == nullptr ? "" : said;
  };
  const auto refuse = [&](const char* name, const char* value) {
    throw ArgumentError(text("NCCL: ranks may wait for each other without end, unless they are ",
                             "started with ", name, "=", value, " (here \"", value_of(name),
                             "\")"));
  };
  for (const auto& [name, value] : nccl_environment) {
    if (value_of(name) != value) refuse(name, value);
  }
  for (const char* const name : refused_by_nccl) {
    if (value_of(name) != "" && value_of(name) != "0") refuse(name, "0");
  }
}

//! One communicator of NCCL's and the stream of its messages, which go in order.
//!
//! Ends by NCCL's destruction, in which the ranks of a machine wait for each other, so that they
//! end their connections in one order; after an error, or while an exception is on its way, by
//! abortion.
class NcclConnection {
 public:
  //! Rank `rank` of `size` that use the same id. `check()` is called until all have come.
  template <class Check>
  NcclConnection(Cuda& device, const ncclUniqueId& id, int rank, int size, const Check& check)
      : NcclConnection(device) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    config.maxCTAs = 8;  // several connections run side by side, and beside the pass
    settle(ncclCommInitRankConfig(&comm_, size, id, rank, &config), check);
  }
  NcclConnection(const NcclConnection&) = delete;
  NcclConnection& operator=(const NcclConnection&) = delete;
  ~NcclConnection() {
    cudaSetDevice(device_->gpu());
    ncclResult_t state = ncclSuccess;
    if (std::uncaught_exceptions() > 0 ||
        (comm_ != nullptr && ncclCommGetAsyncError(comm_, &state) != ncclSuccess) ||
        state != ncclSuccess) {
      abort();
    }
    if (comm_ != nullptr) ncclCommDestroy(comm_);
    std::erase(*siblings_, this);
  }

  //! Sends and receives all of these, after what the device was told before; `ended` is recorded
  //! behind them. The first messages of two ranks wait for both to come.
  template <class Check>
  void start(std::span<const Message> messages, cudaEvent_t begun, cudaEvent_t ended,
             const Check& check) {
    expect_alive();
    device_->activate();
    expect_success(cudaEventRecord(begun, device_->stream()), "recording an event");
    expect_success(cudaStreamWaitEvent(stream_.get(), begun), "waiting for an event");
    expect(ncclGroupStart());
    ncclResult_t refused = ncclSuccess;  // told once the group is closed
    for (const Message& message : messages) {
      const auto bytes = static_cast<std::size_t>(message.bytes);
      const bool sends = message.direction == Message::Direction::send;
      const ncclResult_t queued =
          sends ? ncclSend(message.data, bytes, ncclChar, message.peer, comm_, stream_.get())
                : ncclRecv(message.data, bytes, ncclChar, message.peer, comm_, stream_.get());
      if (queued != ncclInProgress && queued != ncclSuccess) refused = queued;
    }
    const ncclResult_t closed = ncclGroupEnd();
    settle(refused == ncclSuccess ? closed : refused, check);
    expect_success(cudaEventRecord(ended, stream_.get()), "recording an event");
  }

  //! **Errors.** Error with NCCL's words if the connection has failed or was aborted.
  void expect_alive() const {
    if (comm_ == nullptr) throw Error("NCCL: the connection was aborted");
    ncclResult_t state = ncclSuccess;
    expect(ncclCommGetAsyncError(comm_, &state));
    if (state != ncclInProgress) expect(state);
  }

  //! Ends what is under way, whether or not the other ranks come, and with it all connections of
  //! the device: to abort one frees memory, for which CUDA waits for all kernels, and those of
  //! another connection may wait for the same ranks.
  void abort() noexcept {
    if (comm_ == nullptr) return;
    ncclGroupStart();
    for (const NcclConnection* connection : *siblings_) ncclCommAbort(connection->comm_);
    ncclGroupEnd();
    for (NcclConnection* connection : *siblings_) {
      // Only now: a thread of NCCL's that still connects writes it.
      connection->comm_ = nullptr;
      // Where the ranks are threads, only the last that aborts has NCCL wait for their kernels.
      cudaStreamSynchronize(connection->stream_.get());
    }
  }

 private:
  using Siblings = std::vector<NcclConnection*>;

  explicit NcclConnection(Cuda& device) : device_(&device), siblings_(siblings_of(device)) {
    device.activate();
    stream_ = weft::detail::make_stream();
    siblings_->push_back(this);
  }

  //! The connections of a device, which one thread makes and ends.
  static std::shared_ptr<Siblings> siblings_of(const Cuda& device) {
    static std::mutex mutex;
    static std::map<const Cuda*, std::weak_ptr<Siblings>> all;
    const std::scoped_lock lock(mutex);
    auto siblings = all[&device].lock();
    if (siblings == nullptr) all[&device] = siblings = std::make_shared<Siblings>();
    return siblings;
  }

  void expect(ncclResult_t result) const {
    if (result == ncclSuccess) return;
    throw Error(text("NCCL: ", ncclGetErrorString(result), ": ", ncclGetLastError(comm_)));
  }

  //! A connection that does not block answers "in progress", and has to be asked again. Where it
  //! is given up, it is aborted.
  template <class Check>
  void settle(ncclResult_t result, const Check& check) {
    // A thread of NCCL's queues the group; to sleep takes 100 microseconds, and that should take
    // less. (Not run.)
    const auto soon = std::chrono::steady_clock::now() + std::chrono::microseconds(200);
    try {
      while (result == ncclInProgress) {
        if (std::chrono::steady_clock::now() < soon) {
          std::this_thread::yield();
        } else {
          std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
        expect(ncclCommGetAsyncError(comm_, &result));
        if (result == ncclInProgress) check();
      }
      expect(result);
    } catch (...) {
      abort();
      throw;
    }
  }

  Cuda* device_;
  std::shared_ptr<Siblings> siblings_;
  weft::detail::CudaStream stream_;
  ncclComm_t comm_ = nullptr;
};

}  // namespace weft::comm::detail
