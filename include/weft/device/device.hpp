// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The concept of a logical device.
#pragma once

#include <concepts>
#include <string>

#include <weft/core/index.hpp>
#include <weft/device/arena.hpp>
#include <weft/device/worker.hpp>

namespace weft {

//! A logical device: memory, an in-order queue of work, and the worker that runs it.
//!
//! **Semantics.** Several logical devices may sit on one physical one. An operation called with a
//! device runs on it in the order of the calls; one thread at a time calls operations of a device:
//! the worker, or, while the worker is idle, any other. `submit` hands the worker a task;
//! `synchronize` returns when what was called before it has ended. `shares_memory(a, b)`: an
//! operation on `a` may read what lies on `b`. `allocate` gives memory; `reserve` gives addresses,
//! of which parts have memory: `commit` says that bytes will be written, before the first operation
//! that does, and `discard` that they are of no use until they are committed again: what lies there
//! is then undefined, and need not take memory. (Both may be said of what `allocate` gave.)
//! `on_host`: whether the host reads and writes the memory as its own.
//!
//! `upload` copies from the host's memory and `download` to it: when they return, the host's bytes
//! may be changed, or are there. `copy` copies what the device can read, `clear` writes zeros, both
//! in the order of the device's operations. After `a.wait_for(b)` what is called on `a` comes after
//! what was called on `b` before.
template <class D>
concept Device = requires(D& device, D& other, void* pointer, const void* from,
                          index_t bytes, Worker::Task task) {
  { device.index() } -> std::same_as<int>;
  { device.allocate(bytes) } -> std::same_as<Memory>;
  { device.reserve(bytes) } -> std::same_as<Memory>;
  device.commit(pointer, bytes);
  device.discard(pointer, bytes);
  device.upload(pointer, from, bytes);
  device.download(pointer, from, bytes);
  device.copy(pointer, from, bytes);
  device.clear(pointer, bytes);
  device.submit(task);
  device.wait_for(other);
  device.synchronize();
  { D::shares_memory(other, other) } -> std::same_as<bool>;
  { D::small_passes } -> std::convertible_to<bool>;
  { D::on_host } -> std::convertible_to<bool>;
  { to_text(other) } -> std::convertible_to<std::string>;
};

}  // namespace weft
