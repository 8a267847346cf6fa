// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A communicator whose kind is known when the program runs.
#pragma once

#include <concepts>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <weft/comm/communicator.hpp>
#include <weft/comm/device_communicator.hpp>

namespace weft::comm {

namespace detail {

//! That a communicator says whose memory it carries.
template <class C>
concept NamesDevice = requires {
  typename C::Device;
};

//! And that it does: not by way of the host.
template <class C>
concept CarriesDevice = NamesDevice<C> && !C::Device::on_host &&
                        !std::same_as<DeviceCommunicator<typename C::Device, C>,
                                      StagedCommunicator<typename C::Device, C>>;

}  // namespace detail

//! Any communicator: a program compiled once runs on threads or on processes, and on GPUs with NCCL
//! or without.
//!
//! Copies are the same communicator. What lies on a device goes as the communicator that it holds
//! carries it. **Cost.** A virtual call for each batch of messages.
class AnyCommunicator {
 public:
  //! The messages of one `post`.
  class Transfer {
   public:
    [[nodiscard]] bool done() { return held_ == nullptr || held_->done(); }
    void wait() {
      if (held_ != nullptr) held_->wait();
    }

   private:
    friend AnyCommunicator;

    struct Interface {
      virtual ~Interface() = default;
      virtual bool done() = 0;
      virtual void wait() = 0;
    };

    template <class T>
    struct Of final : Interface {
      bool done() override { return transfer.done(); }
      void wait() override { transfer.wait(); }

      T transfer;
    };

    std::unique_ptr<Interface> held_;
  };

  //! Holds a communicator of any type.
  template <class C>
  requires(!std::same_as<C, AnyCommunicator>) &&
      Communicator<C> explicit AnyCommunicator(C communicator)
      : held_(std::make_shared<Of<C>>(std::move(communicator))) {}

  //! What carries `device`'s memory between the ranks of `hosts`: what the communicator that this
  //! holds has for such devices (`C::Device`), and by way of the host if it has nothing.
  template <class D>
  AnyCommunicator(D& device, AnyCommunicator hosts, PostedBy posted_by)
      : AnyCommunicator(hosts.on_device(device, posted_by)) {}

  [[nodiscard]] int rank() const { return held_->rank(); }
  [[nodiscard]] int size() const { return held_->size(); }
  [[nodiscard]] Timeout timeout() const { return held_->timeout(); }
  //! Whether the communicator that it holds carries the memory of devices of type D itself.
  template <class D>
  [[nodiscard]] bool reaches() const {
    return dynamic_cast<const Reaches<D>*>(held_.get()) != nullptr;
  }

  void post(std::span<const Message> messages, const Purpose& purpose, Transfer& transfer) {
    held_->post(messages, purpose, transfer);
  }
  void abort(int rank, const std::string& message) { held_->abort(rank, message); }
  [[nodiscard]] AnyCommunicator split(int color, int key) { return held_->split(color, key); }

 private:
  //! Of a communicator that carries the memory of devices of type D.
  template <class D>
  struct Reaches {
    virtual ~Reaches() = default;
    virtual AnyCommunicator on_device(D&, PostedBy) = 0;
  };

  struct Interface {
    virtual ~Interface() = default;
    virtual int rank() const = 0;
    virtual int size() const = 0;
    virtual Timeout timeout() const = 0;
    virtual void post(std::span<const Message>, const Purpose&, Transfer&) = 0;
    virtual void abort(int, const std::string&) = 0;
    virtual AnyCommunicator split(int, int) = 0;
  };

  template <class C>
  struct Holder : Interface {
    explicit Holder(C held) : communicator(std::move(held)) {}

    int rank() const override { return communicator.rank(); }
    int size() const override { return communicator.size(); }
    Timeout timeout() const override { return communicator.timeout(); }
    void post(std::span<const Message> messages, const Purpose& purpose,
              Transfer& transfer) override {
      using Typed = Transfer::Of<typename C::Transfer>;
      auto* typed = dynamic_cast<Typed*>(transfer.held_.get());
      if (typed == nullptr) {
        transfer.held_ = std::make_unique<Typed>();
        typed = static_cast<Typed*>(transfer.held_.get());
      }
      communicator.post(messages, purpose, typed->transfer);
    }
    void abort(int rank, const std::string& message) override { communicator.abort(rank, message); }
    AnyCommunicator split(int color, int key) override {
      return AnyCommunicator(communicator.split(color, key));
    }

    C communicator;
  };

  template <class C>
  struct Of final : Holder<C> {
    using Holder<C>::Holder;
  };

  template <detail::CarriesDevice C>
  struct Of<C> final : Holder<C>, Reaches<typename C::Device> {
    using D = typename C::Device;
    using Holder<C>::Holder;

    AnyCommunicator on_device(D& device, PostedBy posted_by) override {
      return AnyCommunicator(DeviceCommunicator<D, C>(device, this->communicator, posted_by));
    }
  };

  template <class D>
  [[nodiscard]] AnyCommunicator on_device(D& device, PostedBy posted_by) {
    if (auto* reaches = dynamic_cast<Reaches<D>*>(held_.get())) {
      return reaches->on_device(device, posted_by);
    }
    return AnyCommunicator(StagedCommunicator<D, AnyCommunicator>(device, *this, posted_by));
  }

  std::shared_ptr<Interface> held_;
};

static_assert(Communicator<AnyCommunicator>);

//! A device's memory goes as the communicator that it holds carries it.
template <class D>
struct DeviceCommunicatorOf<D, AnyCommunicator> {
  //! any, too
  using Type = AnyCommunicator;
};

}  // namespace weft::comm
