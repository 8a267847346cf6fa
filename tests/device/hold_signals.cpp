// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/device/hold_signals.hpp>

#include <catch2/catch.hpp>

#include <pthread.h>

namespace hold_signals_tests {

namespace {

volatile sig_atomic_t handled = 0;

struct Handler {
  Handler() {
    handled = 0;
    struct sigaction action {};
    action.sa_handler = [](int) { handled = handled + 1; };
    sigaction(SIGUSR1, &action, &before);
  }
  ~Handler() { sigaction(SIGUSR1, &before, nullptr); }

  struct sigaction before {};
};

}  // namespace

TEST_CASE("a signal waits until the last that holds it is gone") {
  const Handler handler;
  {
    const weft::HoldSignals outer;
    {
      const weft::HoldSignals inner;
      pthread_kill(pthread_self(), SIGUSR1);
      CHECK(handled == 0);
    }
    CHECK(handled == 0);
  }
  CHECK(handled == 1);
  pthread_kill(pthread_self(), SIGUSR1);
  CHECK(handled == 2);
}

}  // namespace hold_signals_tests
