// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/train/interrupt.hpp>

#include <weft/comm/launch.hpp>
#include <weft/comm/threads.hpp>
#include <weft/parallel/over_ranks.hpp>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstddef>
#include <optional>
#include <thread>

namespace interrupt_tests {

using weft::train::Interrupt;

namespace {

using Handler = void (*)(int);

//! The handler of a signal now.
Handler handler_of(int signal) {
  struct sigaction action {};
  ::sigaction(signal, nullptr, &action);
  return action.sa_handler;
}

//! Sets a handler and puts the old one back at its end.
class WithHandler {
 public:
  WithHandler(int signal, Handler handler)
      : signal_(signal), before_(std::signal(signal, handler)) {}
  ~WithHandler() { std::signal(signal_, before_); }
  WithHandler(const WithHandler&) = delete;
  WithHandler& operator=(const WithHandler&) = delete;

 private:
  int signal_;
  Handler before_;
};

int seen_by_others = 0;
void others(int signal) { seen_by_others = signal; }

//! The signal that ends a process which runs `program`; 0 if it comes to its end.
template <class Program>
int ends_by(Program&& program) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit no_core = {0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
    program();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

}  // namespace

TEST_CASE("a signal is noted while a guard lives, and the program goes on") {
  for (const int signal : {SIGINT, SIGTERM}) {
    const WithHandler by_default(signal, SIG_DFL);  // would end this program
    const Interrupt interrupt;
    CHECK(interrupt.signal() == 0);
    ::raise(signal);
    CHECK(interrupt.signal() == signal);
  }
}

TEST_CASE("the last guard puts back the handlers that the first one found") {
  const WithHandler ours(SIGINT, others), theirs(SIGTERM, SIG_DFL);
  {
    const Interrupt first;
    { const Interrupt second; }
    ::raise(SIGINT);
    CHECK(first.signal() == SIGINT);
    CHECK(seen_by_others == 0);
  }
  CHECK(handler_of(SIGTERM) == SIG_DFL);
  ::raise(SIGINT);
  CHECK(seen_by_others == SIGINT);
  seen_by_others = 0;
}

TEST_CASE("guards that outlive each other in any order share their signals") {
  const WithHandler by_default(SIGTERM, SIG_DFL);
  std::optional<Interrupt> first(std::in_place), second(std::in_place);
  ::raise(SIGTERM);
  first.reset();
  CHECK(second->signal() == SIGTERM);
  std::thread([&] { first.emplace(); }).join();
  CHECK(first->signal() == SIGTERM);  // joined, did not start anew
}

TEST_CASE("a new first guard starts without the signals of the last one") {
  const WithHandler by_default(SIGINT, SIG_DFL);
  {
    const Interrupt interrupt;
    ::raise(SIGINT);
  }
  CHECK(Interrupt().signal() == 0);
}

TEST_CASE("a signal that was ignored stays ignored") {
  const WithHandler ignored(SIGINT, SIG_IGN);
  const Interrupt interrupt;
  ::raise(SIGINT);
  ::raise(SIGINT);
  CHECK(interrupt.signal() == 0);
}

TEST_CASE("a second signal of the same kind ends the process, one of the other kind does not") {
  CHECK(ends_by([] {
          const Interrupt interrupt;
          ::raise(SIGTERM);
          ::raise(SIGTERM);
        }) == SIGTERM);
  CHECK(ends_by([] {
          const Interrupt interrupt;
          ::raise(SIGINT);
          ::raise(SIGTERM);
        }) == 0);
}

TEST_CASE("all ranks learn of a signal that one of them has got") {
  using Signals = std::array<int, 2>;
  const auto found = [](const Signals& got) {
    Signals all{};
    weft::comm::launch_threads(2, weft::comm::Timeout(60.0),
                               [&](weft::comm::ThreadCommunicator& communicator) {
                                 weft::parallel::OverRanks ranks(communicator);
                                 const auto rank = static_cast<std::size_t>(ranks.rank());
                                 all[rank] = Interrupt::on_any_rank(ranks, got[rank]);
                               });
    return all;
  };
  CHECK(found({0, 0}) == Signals{0, 0});
  CHECK(found({0, SIGTERM}) == Signals{SIGTERM, SIGTERM});
  CHECK(found({SIGINT, 0}) == Signals{SIGINT, SIGINT});
  CHECK(found({SIGTERM, SIGINT}) == Signals{SIGTERM, SIGTERM});
}

}  // namespace interrupt_tests
