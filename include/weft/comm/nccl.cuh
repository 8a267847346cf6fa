// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Ranks with a GPU each, over NCCL. Needs <nccl.h> and its library.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <exception>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <weft/comm/collectives.hpp>
#include <weft/comm/communicator.hpp>
#include <weft/comm/device_communicator.hpp>
#include <weft/comm/nccl_connection.cuh>
#include <weft/core/error.hpp>
#include <weft/device/cuda.cuh>
#include <weft/device/cuda_error.cuh>
#include <weft/device/cuda_handles.cuh>
#include <weft/tensor/tensor.hpp>

namespace weft::comm {

//! Ranks whose devices exchange their memory by NCCL. What lies on the host goes over `Host`, such
//! as MpiCommunicator, which also says which rank is late or has failed.
//!
//!     comm::NcclCommunicator communicator(mpi);
//!     DistributedDataParallel<Model, Loss, Zero<1>, optim::Adam, Cuda, decltype(communicator)>
//!         strategy(gpu, communicator, ...);
template <Communicator Host>
class NcclCommunicator {
 public:
  using Transfer = typename Host::Transfer;
  using Device = Cuda;  //!< whose memory it carries, as AnyCommunicator asks

  //! Wraps the communicator of the processes.
  explicit NcclCommunicator(Host host) : host_(std::move(host)) {}

  [[nodiscard]] int rank() const { return host_.rank(); }
  [[nodiscard]] int size() const { return host_.size(); }
  [[nodiscard]] Timeout timeout() const { return host_.timeout(); }
  void post(std::span<const Message> messages, const Purpose& purpose, Transfer& transfer) {
    host_.post(messages, purpose, transfer);
  }
  void abort(int rank, const std::string& message) { host_.abort(rank, message); }
  [[nodiscard]] NcclCommunicator split(int color, int key) {
    return NcclCommunicator(host_.split(color, key));
  }

  //! The communicator of the processes.
  [[nodiscard]] Host& host() { return host_; }

 private:
  Host host_;
};

namespace detail {

//! Hears of the failures of other ranks: waits for a message that nobody sends.
template <Communicator Host>
class FailureListener {
 public:
  explicit FailureListener(Host& host) {
    if (host.size() == 1) return;
    const Message never[] = {receive_from((host.rank() + 1) % host.size(), &nothing_, 1)};
    host.post(never, {"a failure of another rank"}, transfer_);
  }
  FailureListener(const FailureListener&) = delete;
  FailureListener& operator=(const FailureListener&) = delete;

  //! **Errors.** CommunicatorAborted once a rank has failed.
  void check() { static_cast<void>(transfer_.done()); }

 private:
  char nothing_ = 0;
  typename Host::Transfer transfer_{};
};

}  // namespace detail

//! A communicator of what lies on GPUs, over NCCL. All ranks make it together.
//!
//! **Semantics.** As Communicator. With `PostedBy::all` the messages of one `post` are one
//! group of NCCL's; with `PostedBy::pair` each goes over a connection of its sender and its
//! receiver, so that none waits behind one of other ranks. Connections of neighbours in the ring of
//! ranks are there from the beginning; two others are connected, both ways, when one of them first
//! posts a message to the other, which then waits until that one does so, too.
//! **Errors.** CommunicatorAborted names the rank that has failed, or that is late, as `Host` does.
//! After an error, and where a transfer is given up, the device's connections are of no more use.
template <Communicator Host>
class NcclDeviceCommunicator {
  struct State;

 public:
  class Transfer {
   public:
    [[nodiscard]] bool done() { return work_ == nullptr || work_->done(); }
    void wait() {
      if (work_ != nullptr) work_->wait();
    }

   private:
    friend NcclDeviceCommunicator;

    //! What goes over one connection.
    struct Part {
      detail::NcclConnection* connection;
      weft::detail::CudaEvent begun, ended;

      Part(Cuda& device, detail::NcclConnection& over) : connection(&over) {
        device.activate();
        begun = weft::detail::make_event();
        ended = weft::detail::make_event();
      }

      //! Starts these messages. **Errors.** As the connection.
      template <class Check>
      void start(std::span<const Message> messages, const Check& check) {
        connection->start(messages, begun.get(), ended.get(), check);
      }

      //! Whether they have ended. **Errors.** CudaError, `attempted` when it came.
      [[nodiscard]] bool has_ended(const char* attempted) const {
        const cudaError_t reached = cudaEventQuery(ended.get());
        if (reached != cudaErrorNotReady) weft::detail::expect_success(reached, attempted);
        cudaGetLastError();  // an answer, and no error
        return reached == cudaSuccess;
      }
    };

    struct Work {
      std::shared_ptr<State> state;
      std::vector<Message> messages{};
      Purpose purpose{};
      std::deque<Part> parts{};  // those that have not ended

      explicit Work(std::shared_ptr<State> shared) : state(std::move(shared)) {}
      Work(const Work&) = delete;
      Work& operator=(const Work&) = delete;
      ~Work() { give_up(); }

      //! The memory is the caller's again.
      void give_up() noexcept {
        for (const Part& part : parts) {
          if (cudaEventQuery(part.ended.get()) != cudaSuccess) part.connection->abort();
        }
        parts.clear();
      }

      bool done() {
        while (!parts.empty()) {
          state->check(*parts.front().connection);  // what was aborted would look ended
          if (!parts.front().has_ended("waiting for NCCL")) return false;
          parts.pop_front();
        }
        return true;
      }

      void wait() {
        const auto until = state->deadline();
        while (!done()) {
          if (std::chrono::steady_clock::now() > until) state->blame(messages, purpose);
          std::this_thread::yield();
        }
      }
    };

    std::unique_ptr<Work> work_;
  };

  //! **Errors.** CommunicatorAborted, also where NCCL cannot connect the ranks; ArgumentError in an
  //! environment in which its kernels may wait without end.
  NcclDeviceCommunicator(Cuda& device, NcclCommunicator<Host> communicator, PostedBy posted_by)
      : state_(std::make_shared<State>(device, std::move(communicator.host()))),
        posted_by_(posted_by) {
    if (size() == 1) return;  // nothing is sent
    if (posted_by == PostedBy::all) {
      state_->connect_all();
    } else {
      const int next = (rank() + 1) % size(), previous = (rank() + size() - 1) % size();
      state_->connect_to({next, previous});
    }
  }

  [[nodiscard]] int rank() const { return state_->host.rank(); }
  [[nodiscard]] int size() const { return state_->host.size(); }
  [[nodiscard]] Timeout timeout() const { return state_->host.timeout(); }

  void post(std::span<const Message> messages, const Purpose& purpose, Transfer& transfer) {
    if (transfer.work_ == nullptr) {
      transfer.work_ = std::make_unique<typename Transfer::Work>(state_);
    }
    auto& work = *transfer.work_;
    work.give_up();
    work.state = state_;
    work.messages.assign(messages.begin(), messages.end());
    work.purpose = purpose;
    const auto check = state_->checks(work.messages, purpose);
    const auto start = [&](detail::NcclConnection& connection, std::span<const Message> part) {
      work.parts.emplace_back(*state_->device, connection);
      state_->translate([&] { work.parts.back().start(part, check); });
    };
    if (posted_by_ == PostedBy::all) {
      if (!messages.empty()) start(*state_->all, messages);
      return;
    }
    std::set<int> peers;
    for (const Message& message : messages) peers.insert(message.peer);
    state_->connect_to(peers);
    for (const Message& message : messages) {
      const bool sends = message.direction == Message::Direction::send;
      // Of the two ranks of a link, the sender is the first.
      const Message on_link[] = {{message.direction, sends ? 1 : 0, message.data, message.bytes}};
      start(*state_->link(message.peer, message.direction), on_link);
    }
  }

  void abort(int rank, const std::string& message) { state_->host.abort(rank, message); }
  [[nodiscard]] NcclDeviceCommunicator split(int color, int key) {
    return {*state_->device, NcclCommunicator<Host>(state_->host.split(color, key)), posted_by_};
  }

 private:
  struct State {
    State(Cuda& of_rank, Host over)
        : device(&of_rank),
          host(std::move(over)),
          bell(host.split(0, host.rank())),
          listener(bell) {
      if (host.size() == 1) return;
      detail::expect_nccl_environment();
      // To free a GPU's memory waits for all its kernels, and NCCL's wait for other ranks, which
      // may be about to free theirs. Whether the driver waits so where pages go, no GPU has shown.
      device->keep_segments();
      device->set_pages(false);
    }

    [[nodiscard]] std::chrono::steady_clock::time_point deadline() const {
      return moment_after(host.timeout());
    }

    //! Where this rank has thrown, the others hear of it before their connections end.
    ~State() {
      if (std::uncaught_exceptions() > 0) {
        host.abort(host.rank(), "it says why itself");
      }
      // In one order on all ranks, which a map that is destroyed need not have.
      while (!links.empty()) links.erase(std::prev(links.end()));
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    //! Calls `action()`. **Errors.** CommunicatorAborted if a rank or NCCL failed; others hear it.
    template <class Action>
    decltype(auto) translate(const Action& action) {
      try {
        return action();
      } catch (const CommunicatorAborted&) {
        throw;
      } catch (const Error& error) {
        // Where another rank has failed, it says so itself, perhaps a moment later.
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(2);
        while (std::chrono::steady_clock::now() < until) {
          listener.check();
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        fail(error.message());
      }
    }

    void check(const detail::NcclConnection& connection) {
      listener.check();
      translate([&] { connection.expect_alive(); });
    }

    //! What is asked again and again while other ranks have not come.
    auto checks(std::span<const Message> messages, const Purpose& purpose) {
      return [this, messages, &purpose, until = deadline()] {
        listener.check();
        if (std::chrono::steady_clock::now() > until) blame(messages, purpose);
      };
    }

    //! Asks the ranks of these messages over the host, which finds the one that does not answer.
    [[noreturn]] void blame(std::span<const Message> messages, const Purpose& purpose) {
      std::vector<char> bytes(messages.size());
      std::vector<Message> questions;
      for (std::size_t i = 0; i < messages.size(); ++i) {
        questions.push_back(messages[i].direction == Message::Direction::send
                                ? send_to(messages[i].peer, &bytes[i], 1)
                                : receive_from(messages[i].peer, &bytes[i], 1));
      }
      exchange(host, questions, purpose);
      fail(text("NCCL has not ended ", to_text(purpose), " within ", host.timeout().count(),
                " s, though its ranks are in it"));
    }

    [[noreturn]] void fail(const std::string& message) {
      host.abort(host.rank(), message);
      listener.check();  // throws what all ranks are told
      throw CommunicatorAborted(host.rank(), message);
    }

    //! Connects all ranks, and lets a byte go each way: whoever sends first waits for the other,
    //! and later nobody may.
    void connect_all() {
      ncclUniqueId id{};
      if (host.rank() == 0) id = new_id();
      broadcast(host, std::span<char>(id.internal), 0, connecting);
      const Tensor<char, Cuda> bytes(*device, {2 * host.size()});
      std::vector<Message> greetings;
      for (int peer = 0; peer < host.size(); ++peer) {
        if (peer == host.rank()) continue;
        greetings.push_back(send_to(peer, bytes.data() + 2 * peer, 1));
        greetings.push_back(receive_from(peer, bytes.data() + 2 * peer + 1, 1));
      }
      all = connect(id, host.rank(), host.size(), greetings, greetings);
    }

    //! The links with these ranks, both ways and in one order on all ranks, so that none waits for
    //! one that waits: with the lower ranks first, by their own order, and then the higher.
    void connect_to(const std::set<int>& peers) {
      using Direction = Message::Direction;
      for (const int peer : peers) {
        const bool is_lower = peer < host.rank();
        for (const bool down : {false, true}) {
          const auto direction = down == is_lower ? Direction::send : Direction::receive;
          if (auto& connection = link(peer, direction); connection == nullptr) {
            connection = connected(peer, direction);
          }
        }
      }
    }

    //! The connection of a sender and a receiver, of which this rank is one; null if it was not
    //! made.
    std::unique_ptr<detail::NcclConnection>& link(int peer, Message::Direction direction) {
      const bool sends = direction == Message::Direction::send;
      return sends ? links[{host.rank(), peer}] : links[{peer, host.rank()}];
    }

    std::unique_ptr<detail::NcclConnection> connected(int peer, Message::Direction direction) {
      const bool sends = direction == Message::Direction::send;
      ncclUniqueId id{};
      if (sends) id = new_id();
      constexpr auto size = static_cast<index_t>(sizeof(id.internal));
      const Message of_id[] = {sends ? send_to(peer, id.internal, size)
                                     : receive_from(peer, id.internal, size)};
      exchange(host, of_id, connecting);
      const Tensor<char, Cuda> byte(*device, {1});
      const Message greeting[] = {{direction, peer, reinterpret_cast<std::byte*>(byte.data()), 1}};
      const Message on_link[] = {{direction, sends ? 1 : 0, greeting[0].data, 1}};
      return connect(id, sends ? 0 : 1, 2, greeting, on_link);
    }

    //! A connection over which `greetings` have gone; `asked` are the same as the host's ranks
    //! count.
    std::unique_ptr<detail::NcclConnection> connect(const ncclUniqueId& id, int rank, int size,
                                                    std::span<const Message> asked,
                                                    std::span<const Message> greetings) {
      return translate([&] {
        const auto check = checks(asked, connecting);
        auto connection = std::make_unique<detail::NcclConnection>(*device, id, rank, size, check);
        if (greetings.empty()) return connection;
        typename Transfer::Part part(*device, *connection);
        part.start(greetings, check);
        while (!part.has_ended("connecting GPUs")) {
          connection->expect_alive();
          check();
        }
        return connection;
      });
    }

    static constexpr Purpose connecting{"connecting GPUs"};

    ncclUniqueId new_id() {
      ncclUniqueId id{};
      const ncclResult_t result = ncclGetUniqueId(&id);
      if (result != ncclSuccess) fail(text("NCCL: ", ncclGetErrorString(result)));
      return id;
    }

    Cuda* device;
    Host host;
    Host bell;  // of the listener alone
    detail::FailureListener<Host> listener;
    std::unique_ptr<detail::NcclConnection> all;
    // By sender and receiver.
    std::map<std::pair<int, int>, std::unique_ptr<detail::NcclConnection>> links;
  };

  std::shared_ptr<State> state_;
  PostedBy posted_by_;
};

//! A device's memory goes by NCCL.
template <Communicator Host>
struct DeviceCommunicatorOf<Cuda, NcclCommunicator<Host>> {
  //! what carries it
  using Type = NcclDeviceCommunicator<Host>;
};

}  // namespace weft::comm
