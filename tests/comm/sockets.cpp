// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
// The ranks are threads here, each with connections of its own; one test kills a process.
#include <weft/comm/sockets.hpp>

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <numeric>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "../message_of.hpp"

namespace sockets_tests {

using namespace weft;
using namespace weft::comm;
using weft::testing::message_of;

namespace {

constexpr Timeout patience{20.0};
constexpr Timeout little{1.0};

//! A port that nobody has: that of a socket which is closed again.
int free_port() { return comm::detail::port_of(comm::detail::listen_on(0)); }

//! Runs a program on every rank; what each threw, or "".
template <class Program>
std::vector<std::string> ends(int ranks, Timeout timeout, const Program& program) {
  std::vector<std::string> ended(static_cast<std::size_t>(ranks));
  const int port = free_port();
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        SocketCommunicator communicator(rank, ranks, "localhost", port, timeout);
        program(communicator);
        barrier(communicator);
      } catch (const Error& error) {
        ended[static_cast<std::size_t>(rank)] = error.message();
      }
    });
  }
  threads.clear();
  return ended;
}

void expect(bool holds, const char* what) {
  if (!holds) throw Error(text("does not hold: ", what));
}

const std::vector<std::string> well3(3);

}  // namespace

TEST_CASE("collectives over connections") {
  for (const int ranks : {1, 2, 5}) {
    CAPTURE(ranks);
    const auto ended = ends(ranks, patience, [&](SocketCommunicator& communicator) {
      const int rank = communicator.rank();
      std::vector<double> values{1.0 + rank, -2.0 * rank};
      all_reduce(communicator, std::span(values));
      const double sum = ranks * (ranks - 1) / 2.0;
      expect(values == std::vector<double>{ranks + sum, -2.0 * sum}, "all_reduce");
      std::vector<int> rows(static_cast<std::size_t>(ranks));
      std::iota(rows.begin(), rows.end(), 100 * rank);
      const auto exchanged = all_to_all(communicator, std::span<const int>(rows));
      for (int peer = 0; peer < ranks; ++peer) {
        expect(exchanged[static_cast<std::size_t>(peer)] == 100 * peer + rank, "all_to_all");
      }
      expect(broadcast_text(communicator, rank == 0 ? "to all" : "", 0) == "to all", "broadcast");
    });
    CHECK(ended == std::vector<std::string>(static_cast<std::size_t>(ranks)));
  }
}

TEST_CASE("large messages in both directions at once do not wait for each other") {
  const auto ended = ends(2, patience, [](SocketCommunicator& communicator) {
    const int other = 1 - communicator.rank();
    constexpr index_t n = 4 << 20;
    const std::vector<float> mine(n, static_cast<float>(communicator.rank()));
    std::vector<float> theirs(n);
    SocketCommunicator::Transfer sent, received;  // the send is posted first on both sides
    communicator.post(std::vector{send_to(other, mine.data(), n)}, {"an exchange"}, sent);
    communicator.post(std::vector{receive_from(other, theirs.data(), n)}, {"an exchange"},
                      received);
    sent.wait();
    received.wait();
    expect(theirs == std::vector<float>(n, static_cast<float>(other)), "the exchange");
  });
  CHECK(ended == std::vector<std::string>(2));
}

TEST_CASE("messages of one direction arrive in the order of their posts, expected or not") {
  const auto ended = ends(2, patience, [](SocketCommunicator& communicator) {
    std::vector<int> numbers(20);
    std::vector<SocketCommunicator::Transfer> transfers(20);
    if (communicator.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    for (int i = 0; i < 20; ++i) {
      int& number = numbers[static_cast<std::size_t>(i)];
      if (communicator.rank() == 0) number = i * i;
      const Message message =
          communicator.rank() == 0 ? send_to(1, &number, 1) : receive_from(0, &number, 1);
      communicator.post(std::span(&message, 1), {"one of many"},
                        transfers[static_cast<std::size_t>(i)]);
    }
    for (auto& transfer : transfers) transfer.wait();
    for (int i = 0; i < 20; ++i) expect(numbers[static_cast<std::size_t>(i)] == i * i, "order");
  });
  CHECK(ended == std::vector<std::string>(2));
}

TEST_CASE("parts of the ranks keep their messages apart") {
  const auto ended = ends(3, patience, [](SocketCommunicator& communicator) {
    auto part = communicator.split(communicator.rank() % 2, -communicator.rank());
    auto whole = communicator.split(0, communicator.rank());
    const int rank = communicator.rank();
    const auto members = all_gather(part, std::span(&rank, 1));
    expect(members == (rank == 1 ? std::vector{1} : std::vector{2, 0}), "a part");
    expect(all_gather(whole, std::span(&rank, 1)) == std::vector{0, 1, 2}, "a copy");
  });
  CHECK(ended == well3);
}

TEST_CASE("a late rank is named over connections, with where it was last") {
  const auto ended = ends(3, little, [](SocketCommunicator& communicator) {
    barrier(communicator, {"the first"});
    if (communicator.rank() == 2) std::this_thread::sleep_for(std::chrono::seconds(4));
    barrier(communicator, {"the second"});
  });
  for (const auto& message : ended) {
    CHECK(message == "rank 2 has not entered the second within 1 s; last seen in the first");
  }
}

TEST_CASE("a failure is told to all ranks, over connections") {
  const auto ended = ends(3, patience, [](SocketCommunicator& communicator) {
    if (communicator.rank() == 1) {
      communicator.abort(1, "out of paper");
      const auto goes_on =
          message_of<CommunicatorAborted>([&] { return barrier(communicator), 0; });
      communicator.close(little);
      throw Error(goes_on);
    }
    barrier(communicator);
  });
  for (const auto& message : ended) CHECK(message == "rank 1 failed: out of paper");
}

TEST_CASE("ranks whose programs differ learn it from connections") {
  const auto ended = ends(2, patience, [](SocketCommunicator& communicator) {
    const int other = 1 - communicator.rank();
    std::vector<int> numbers(3);
    const index_t n = communicator.rank() == 0 ? 2 : 3;
    SocketCommunicator::Transfer transfer;
    communicator.post(
        std::vector{send_to(other, numbers.data(), n), receive_from(other, numbers.data(), n)},
        {"an exchange"}, transfer);
    transfer.wait();
  });
  CHECK(ended[0].find("the ranks' programs differ") != std::string::npos);
}

TEST_CASE("what does not fit is read to its end, and goes nowhere") {
  const auto ended = ends(2, patience, [](SocketCommunicator& communicator) {
    barrier(communicator);
    const std::vector<char> numbers(100'000, 'x');
    char one = ' ';
    SocketCommunicator::Transfer transfer;
    const Message message =
        communicator.rank() == 0 ? send_to(1, numbers.data(), 100'000) : receive_from(0, &one, 1);
    communicator.post(std::span(&message, 1), {"a message"}, transfer);
    try {
      transfer.wait();
      barrier(communicator);
    } catch (const CommunicatorAborted&) {
      communicator.close(little);
      throw;
    }
  });
  for (const auto& message : ended) {
    CHECK(message.find("rank 0 sends 100000 bytes") != std::string::npos);
  }
}

TEST_CASE("what no rank sends ends the communication, and asks for no memory") {
  struct {
    std::uint64_t word, group, tag, bytes;
  } header{};
  std::string expected;
  constexpr std::uint64_t a_word = 1, no_word = 4, terabyte = std::uint64_t{1} << 40;
  SECTION("a word that there is not") {
    header = {no_word, 0, 0, 0};
    expected = "rank 1 sends what no rank of this program does";
  }
  SECTION("a word that is too long") {
    header = {a_word, 0, 0, terabyte};
    expected = "rank 1 sends what no rank of this program does";
  }
  SECTION("a message as long as no memory") {
    header = {0, 1, 0, std::uint64_t{1} << 63};
    expected = "rank 1 sends what no rank of this program does";
  }
  SECTION("a message that is longer than the one that is expected") {
    header = {0, 1, 0, terabyte};
    expected =
        "the ranks' programs differ: rank 1 sends 1099511627776 bytes, for another purpose or "
        "not, where 4 bytes are expected in an exchange";
  }
  const int port = free_port();
  std::string said;
  {
    const std::jthread zero([&] {
      said = message_of<CommunicatorAborted>([&] {
        SocketCommunicator communicator(0, 2, "localhost", port, patience);
        const int mine = 0;
        int theirs = 0;
        SocketCommunicator::Transfer transfer;
        communicator.post(std::vector{send_to(1, &mine, 1), receive_from(1, &theirs, 1)},
                          {"an exchange"}, transfer);
        transfer.wait();
        return 0;
      });
    });
    const auto sockets =
        comm::detail::Rendezvous(1, 2, "localhost", port, patience, std::string()).connect();
    const auto end = moment_after(patience);
    char first = 0;  // of what rank 0 sends when it expects something
    CHECK(comm::detail::receive_all(sockets[0], &first, 1, end));
    CHECK(comm::detail::send_all(sockets[0], &header, sizeof header, end));
  }
  CHECK(said == expected);
}

TEST_CASE("a process that is killed is named") {
  const int port = free_port();
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGTERM, SIG_DFL);
    SocketCommunicator communicator(1, 2, "127.0.0.1", port, patience);
    ::kill(::getpid(), SIGKILL);
  }
  SocketCommunicator communicator(0, 2, "127.0.0.1", port, patience);
  const auto message = message_of<CommunicatorAborted>([&] { barrier(communicator); });
  CHECK(message.starts_with("rank 1 has ended or was killed: its connection was closed in"));
  ::waitpid(child, nullptr, 0);
}

TEST_CASE("memory of a message that was given up is not written to, over connections") {
  const auto ended = ends(2, patience, [](SocketCommunicator& communicator) {
    std::vector<int> numbers(100, 7);
    if (communicator.rank() == 0) {
      {
        SocketCommunicator::Transfer transfer;
        communicator.post(std::vector{receive_from(1, numbers.data(), 100)}, {"given up"},
                          transfer);
      }
      auto other = communicator.split(0, 0);
      barrier(other);
      expect(numbers == std::vector<int>(100, 7), "untouched");
    } else {
      const std::vector<int> nines(100, 9);
      auto other = communicator.split(0, 1);
      SocketCommunicator::Transfer transfer;
      communicator.post(std::vector{send_to(0, nines.data(), 100)}, {"given up"}, transfer);
      transfer.wait();
      barrier(other);
    }
  });
  // What follows on the first communicator is out of step.
  CHECK(ended[0].find("does not hold") == std::string::npos);
}

TEST_CASE("whoever does not come to the meeting is named, to those who do") {
  const int port = free_port();
  std::vector<std::string> said(4);
  {
    std::vector<std::jthread> threads;
    for (const int rank : {0, 2}) {
      threads.emplace_back([&, rank] {
        said[static_cast<std::size_t>(rank)] = message_of<CommunicatorAborted>(
            [&] { SocketCommunicator(rank, 4, "localhost", port, little); });
      });
    }
  }
  const auto expected =
      text("no connection within 1 s from ranks 1, 3 to rank 0 at localhost:", port);
  CHECK(said[0] == expected);
  CHECK(said[2] == expected);
}

TEST_CASE("without rank 0 the others say so") {
  const int port = free_port();
  CHECK(message_of<CommunicatorAborted>([&] {
          SocketCommunicator(1, 2, "localhost", port, little);
        }) == text("rank 0 at localhost:", port, " has not answered rank 1 within 1 s"));
}

TEST_CASE("whoever has rank 0's port and is not rank 0 is no rank that is late") {
  for (const std::string said : {"", "SSH-2.0-OpenSSH_9.2\r\n"}) {
    const auto listener = comm::detail::listen_on(0);
    const int port = comm::detail::port_of(listener);
    std::jthread stranger([&] {
      const auto guest = comm::detail::accept_one(listener, moment_after(patience));
      char hello[24];
      if (guest && comm::detail::receive_all(*guest, hello, sizeof hello, moment_after(patience))) {
        comm::detail::send_all(*guest, said.data(), said.size(), moment_after(patience));
      }
    });
    CHECK(message_of<CommunicatorAborted>([&] {
            SocketCommunicator(1, 2, "localhost", port, patience);
          }) == text("no rank 0 at localhost:", port,
                     ": it has ended, or another program has that port"));
  }
}

TEST_CASE("a name that nobody knows may be announced yet") {
  const auto began = std::chrono::steady_clock::now();
  CHECK_THAT(message_of<ArgumentError>(
                 [] { SocketCommunicator(1, 2, "not-yet.invalid", free_port(), little); }),
             Catch::StartsWith("no address of not-yet.invalid: "));
  CHECK(std::chrono::steady_clock::now() - began >= std::chrono::milliseconds(900));
}

TEST_CASE("ranks that were started otherwise are told how") {
  const auto meet = [](int rank, int size) {
    const int port = free_port();
    std::string at_root;
    std::jthread root([&] {
      at_root =
          message_of<ArgumentError>([&] { SocketCommunicator(0, 3, "localhost", port, patience); });
    });
    std::jthread twin([&] {
      if (rank == 1 && size == 3) {
        message_of<ArgumentError>([&] { SocketCommunicator(1, 3, "localhost", port, patience); });
      }
    });
    const auto here = message_of<ArgumentError>(
        [&] { SocketCommunicator(rank, size, "localhost", port, patience); });
    root.join();
    CHECK(at_root == here);
    return here;
  };
  CHECK(meet(1, 4) == "rank 1 was started as one of 4, rank 0 as one of 3");
  CHECK(meet(1, 3) == "two processes were started as rank 1");
  CHECK_THROWS_AS(SocketCommunicator(2, 2, "localhost", 1, little), ArgumentError);
}

TEST_CASE("a rank that ends before all have come may be started again, or is named to the others") {
  const int port = free_port();
  std::vector<std::string> said(3);
  const auto meet = [&](int rank) {
    return std::jthread([&said, port, rank] {
      said[static_cast<std::size_t>(rank)] = message_of<CommunicatorAborted>([&] {
        SocketCommunicator mine(rank, 3, "localhost", port, patience);
        barrier(mine);
        mine.close(patience);
      });
    });
  };
  const auto come_and_end = [&] {  // it waits less long than the others
    message_of<CommunicatorAborted>([&] { SocketCommunicator(1, 3, "localhost", port, little); });
  };
  SECTION("started again") {
    const auto zero = meet(0);
    come_and_end();
    const auto one = meet(1);
    std::this_thread::sleep_for(std::chrono::seconds(1));
    const auto two = meet(2);
  }
  SECTION("named") {
    const auto zero = meet(0);
    come_and_end();
    const auto two = meet(2);
  }
  const std::string expected =
      said[1].empty() ? "rank 1 ended while the ranks connected" : "(no error)";
  CHECK(said[0] == expected);
  CHECK(said[2] == expected);
}

TEST_CASE("a rank of another job is sent away, and its job is not disturbed") {
  const int port = free_port();
  const auto meet = [&](int rank) {
    SocketCommunicator mine(rank, 2, "localhost", port, patience, "mine");
    barrier(mine);
  };
  std::jthread root([&] { meet(0); });
  CHECK(message_of<ArgumentError>([&] {
          SocketCommunicator(1, 2, "localhost", port, patience, "another's");
        }) == text("rank 0 at localhost:", port, " is another job's: MASTER_PORT names another"));
  CHECK_NOTHROW(meet(1));
}

TEST_CASE("connections that say nothing, or something else, delay no meeting") {
  const int port = free_port();
  const auto meet = [&](int rank) {
    SocketCommunicator mine(rank, 2, "localhost", port, patience);
    barrier(mine);
  };
  std::vector<io::FileDescriptor> strangers;
  {
    std::jthread root([&] { meet(0); });
    const auto begin = std::chrono::steady_clock::now();
    for (const std::string said : {"", "", "GET / HTTP/1.1\r\n", "GET /metrics HTTP/1.1\r\n\r\n"}) {
      auto socket = comm::detail::connect_to("localhost", port, moment_after(patience));
      REQUIRE(socket);
      CHECK(comm::detail::send_all(*socket, said.data(), said.size(), moment_after(patience)));
      strangers.push_back(std::move(*socket));
    }
    CHECK_NOTHROW(meet(1));
    CHECK(std::chrono::steady_clock::now() - begin < Timeout(5.0));  // of each it was 10 s
  }
}

TEST_CASE("no program that a rank starts inherits its connections") {
  const auto sockets = [](bool inherited) {
    std::set<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      const int descriptor = std::stoi(entry.path().filename());
      std::error_code closed;  // as that of the folder is meanwhile
      const std::string of = std::filesystem::read_symlink(entry.path(), closed);
      if (!of.starts_with("socket:")) continue;
      if (!inherited || (::fcntl(descriptor, F_GETFD) & FD_CLOEXEC) == 0) found.insert(of);
    }
    return found;
  };
  const auto all_before = sockets(false), inherited_before = sockets(true);
  const auto ended = ends(2, patience, [&](SocketCommunicator& communicator) {
    barrier(communicator);
    expect(sockets(false).size() > all_before.size(), "that there are connections");
    expect(sockets(true) == inherited_before, "that none is inherited");
    barrier(communicator);
  });
  CHECK(ended == std::vector<std::string>(2));
}

TEST_CASE("where the system opens no more connections, nobody tries without end") {
  for (const int why : {EMFILE, ENFILE, ENOMEM, ENOBUFS}) {
    CHECK_THAT(message_of<SystemError>([&] {
                 errno = why;
                 return comm::detail::expect_descriptors(), 0;
               }),
               Catch::StartsWith("cannot open a connection: "));
  }
}

TEST_CASE("a port that is taken is named") {
  const auto taken = comm::detail::listen_on(0);
  const int port = comm::detail::port_of(taken);
  CHECK(message_of<SystemError>([&] { SocketCommunicator(0, 2, "localhost", port, little); }) ==
        text("rank 0 cannot listen on port ", port,
             ": Address already in use; MASTER_PORT names another"));
}

}  // namespace sockets_tests
