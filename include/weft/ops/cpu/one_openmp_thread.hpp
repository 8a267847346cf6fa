// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Keeps a library from OpenMP's threads for a while.
#pragma once

#include <omp.h>

namespace weft::ops::detail {

//! While one lives, what its thread calls uses no other threads of OpenMP: a device has its own.
//! The setting is the thread's, which may be the user's: it is put back.
class OneOpenMpThread {
 public:
  OneOpenMpThread() { omp_set_num_threads(1); }
  ~OneOpenMpThread() { omp_set_num_threads(before_); }

  OneOpenMpThread(const OneOpenMpThread&) = delete;
  OneOpenMpThread& operator=(const OneOpenMpThread&) = delete;

 private:
  int before_ = omp_get_max_threads();
};

}  // namespace weft::ops::detail
