// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Runs a function on several devices at once.
#pragma once

#include <exception>
#include <latch>
#include <string>
#include <type_traits>
#include <vector>

#include <weft/core/error.hpp>
#include <weft/device/device_group.hpp>
#include <weft/ops/check_finite.hpp>

namespace weft::parallel {

//! What a function threw on a device, with the device's name.
class DeviceError : public Error {
 public:
  //! `device` threw `cause`, which says `message`.
  DeviceError(std::string device, const std::string& message, std::exception_ptr cause)
      : Error(text(device, ": ", message)), device_(std::move(device)), cause_(std::move(cause)) {}

  //! The device's name.
  [[nodiscard]] const std::string& device() const { return device_; }
  //! The exception itself.
  [[nodiscard]] const std::exception_ptr& cause() const { return cause_; }

 private:
  std::string device_;
  std::exception_ptr cause_;
};

namespace detail {

//! A function of a device and its index, without its type: what runs it is compiled once.
template <class D>
struct DeviceFunction {
  void (*call)(const void* object, D& device, int index);
  const void* object;
};

//! The device whose function the calling thread is in, or null.
inline thread_local const void* device_of_thread = nullptr;

template <class D>
struct DeviceCall {
  DeviceFunction<D> function;
  D* device;
  int index;
  std::latch* ended;
  std::exception_ptr failure;

  static void run(void* argument) noexcept {
    auto& call = *static_cast<DeviceCall*>(argument);
    device_of_thread = call.device;
    try {
      call.function.call(call.function.object, *call.device, call.index);
      call.device->synchronize();
    } catch (...) {
      call.failure = std::current_exception();
      // What was queued before still runs, on memory that the caller may now give up.
      try {
        call.device->synchronize();
      } catch (...) {
      }
    }
    device_of_thread = nullptr;
    call.ended->count_down();
  }
};

template <class D>
[[noreturn]] void rethrow_with_device(const D& device, const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const ops::NotFiniteError& error) {  // whoever catches one knows it by its type
    throw ops::NotFiniteError(text(to_text(device), ": ", error.message()), error.parameter());
  } catch (...) {
    throw DeviceError(to_text(device), message_of(failure), failure);
  }
}

template <class D>
void parallel_apply(const DeviceGroup<D>& devices, DeviceFunction<D> function) {
  for (int index = 0; index < devices.size(); ++index) {
    if (device_of_thread != &devices[index]) continue;
    throw ArgumentError(text("parallel_apply: ", devices[index],
                             " would wait for itself: its worker is in a function already"));
  }
  std::latch ended(devices.size());
  std::vector<DeviceCall<D>> calls;
  calls.reserve(static_cast<std::size_t>(devices.size()));
  for (int index = 0; index < devices.size(); ++index) {
    calls.push_back({function, &devices[index], index, &ended, nullptr});
  }
  for (auto& call : calls) {
    try {
      call.device->submit({&DeviceCall<D>::run, &call});
    } catch (...) {  // no memory: the others run, and are waited for
      call.failure = std::current_exception();
      ended.count_down();
    }
  }
  ended.wait();
  for (const auto& call : calls) {
    if (call.failure != nullptr) rethrow_with_device(*call.device, call.failure);
  }
}

}  // namespace detail

//! Calls `f(device, index)` on the worker of every device of the group, and returns when all have
//! ended.
//!
//! **Errors.** DeviceError for the first device that threw, once all have ended.
template <class D, class F>
void parallel_apply(const DeviceGroup<D>& devices, const F& f) {
  const auto call = [](const void* object, D& device, int index) {
    (*static_cast<const F*>(object))(device, index);
  };
  detail::parallel_apply<D>(devices, {call, &f});
}

}  // namespace weft::parallel
