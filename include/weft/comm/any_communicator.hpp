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

namespace weft::comm {

//! Any communicator: a program compiled once runs on threads or on processes.
//!
//! Copies are the same communicator. **Cost.** A virtual call for each batch of messages.
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

  [[nodiscard]] int rank() const { return held_->rank(); }
  [[nodiscard]] int size() const { return held_->size(); }
  [[nodiscard]] Timeout timeout() const { return held_->timeout(); }

  void post(std::span<const Message> messages, const Purpose& purpose, Transfer& transfer) {
    held_->post(messages, purpose, transfer);
  }
  void abort(int rank, const std::string& message) { held_->abort(rank, message); }
  [[nodiscard]] AnyCommunicator split(int color, int key) { return held_->split(color, key); }

 private:
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
  struct Of final : Interface {
    explicit Of(C held) : communicator(std::move(held)) {}

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

  std::shared_ptr<Interface> held_;
};

static_assert(Communicator<AnyCommunicator>);

}  // namespace weft::comm
