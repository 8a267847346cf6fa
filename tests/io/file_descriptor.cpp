// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/io/file_descriptor.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <utility>

namespace file_descriptor_tests {

using weft::io::FileDescriptor;

namespace {
bool is_open(int number) { return ::fcntl(number, F_GETFD) != -1; }
int some_descriptor() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }
}  // namespace

TEST_CASE("a descriptor is closed with its last owner and not before") {
  const int number = some_descriptor();
  {
    FileDescriptor first(number);
    FileDescriptor second(std::move(first));
    FileDescriptor third;
    third = std::move(second);
    CHECK(third.get() == number);
    CHECK_FALSE(first.is_open());
    CHECK_FALSE(second.is_open());
    CHECK(is_open(number));
  }
  CHECK_FALSE(is_open(number));
}

TEST_CASE("a released descriptor stays open") {
  const int number = some_descriptor();
  { CHECK(FileDescriptor(number).release() == number); }
  CHECK(is_open(number));
  ::close(number);
}

TEST_CASE("a system error says what failed, on what and why") {
  errno = ENOSPC;
  CHECK(weft::io::system_error("write", "run/model").message() ==
        "cannot write run/model: No space left on device");
}

}  // namespace file_descriptor_tests
