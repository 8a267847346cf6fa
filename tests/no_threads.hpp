// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A system that gives no more threads, for one test.
#pragma once

#include <pthread.h>

#include <cstddef>

namespace weft::testing {

//! While it lives, every new thread asks for a stack that no address space has room for.
class NoThreads {
 public:
  NoThreads() {
    ::pthread_getattr_default_np(&old_);
    pthread_attr_t none;
    ::pthread_getattr_default_np(&none);
    ::pthread_attr_setstacksize(&none, std::size_t{1} << 62);
    ::pthread_setattr_default_np(&none);
    ::pthread_attr_destroy(&none);
  }
  ~NoThreads() {
    ::pthread_setattr_default_np(&old_);
    ::pthread_attr_destroy(&old_);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  pthread_attr_t old_{};
};

}  // namespace weft::testing
