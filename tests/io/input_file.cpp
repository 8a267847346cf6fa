// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/io/input_file.hpp>

#include "../message_of.hpp"
#include "../temporary_folder.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>
#include <catch2/catch.hpp>

#include <cstdlib>
#include <fstream>
#include <string>

namespace input_file_tests {

using namespace weft;
using namespace weft::io;
using weft::testing::message_of;
using weft::testing::TemporaryFolder;

namespace {

//! What gzip makes of `contents`; appending two results makes a file of two members.
std::string gzip(const TemporaryFolder& folder, const std::string& contents) {
  const auto path = folder.path("packed");
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, contents.data(), static_cast<unsigned>(contents.size()));
  gzclose(file);
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

//! Bytes that gzip cannot make much smaller, so that cutting them is felt.
std::string noise(int bytes) {
  std::string out;
  unsigned state = 1;
  for (int i = 0; i < bytes; ++i)
    out += static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return out;
}

}  // namespace

TEST_CASE("a file is read as it is, whatever its size is beside the chunks") {
  TemporaryFolder folder;
  for (const int size : {0, 1, 65535, 65536, 65537, 200'000}) {
    const auto contents = noise(size);
    CHECK(read_file(folder.write("plain", contents)) == contents);
    CHECK(read_file(folder.write("packed.gz", gzip(folder, contents))) == contents);
  }
}

TEST_CASE("gzip is recognised by its bytes and not by the name") {
  TemporaryFolder folder;
  CHECK(read_file(folder.write("plain.gz", "not packed")) == "not packed");
  CHECK(read_file(folder.write("packed.txt", gzip(folder, "packed"))) == "packed");
  CHECK(read_file(folder.write("members", gzip(folder, "one ") + gzip(folder, "two"))) ==
        "one two");
}

TEST_CASE("reads of any size give the same bytes and then the end") {
  TemporaryFolder folder;
  InputFile file(folder.write("f", "abcdefg"));
  char part[3];
  CHECK(file.read(part, 0) == 0);
  CHECK((file.read(part, 3) == 3 && std::string(part, 3) == "abc"));
  CHECK((file.read(part, 3) == 3 && std::string(part, 3) == "def"));
  CHECK((file.read(part, 3) == 1 && part[0] == 'g'));
  CHECK(file.read(part, 3) == 0);
}

TEST_CASE("a file that the system does not give is a SystemError with its path and reason") {
  TemporaryFolder folder;
  const auto missing = folder.path("missing");
  CHECK(message_of<SystemError>([&] { return read_file(missing); }) ==
        "cannot open " + missing + ": No such file or directory");
  const auto itself = folder.path("");
  CHECK(message_of<SystemError>([&] { return read_file(itself); }) ==
        "cannot read " + itself + ": it is a directory");
  // A read at address 0 of the own memory fails after an open that does not.
  CHECK(message_of<SystemError>([&] { return read_file("/proc/self/mem"); }) ==
        "cannot read /proc/self/mem: Input/output error");
}

TEST_CASE("a file, or what a gzip file holds, may be exactly as large as the limit") {
  TemporaryFolder folder;
  for (const int size : {0, 10, 65536, 200'000}) {
    const auto contents = noise(size);
    for (const auto& path :
         {folder.write("plain", contents), folder.write("packed", gzip(folder, contents))}) {
      CHECK(read_file(path, size) == contents);
      if (size == 0) continue;
      CHECK(message_of<FormatError>([&] { return read_file(path, size - 1); }) ==
            text(path, ": holds more than ", size - 1, " bytes"));
    }
  }
}

TEST_CASE("a gzip file cut anywhere is a FormatError") {
  TemporaryFolder folder;
  const auto packed = gzip(folder, noise(300));
  // From zlib 1.3.2 on a file of the two bytes that gzip begins with, alone, is no gzip file.
  for (std::size_t bytes = 3; bytes < packed.size(); ++bytes) {
    const auto path = folder.write("cut.gz", packed.substr(0, bytes));
    const auto message = message_of<FormatError>([&] { return read_file(path); });
    if (message != path + ": the gzip stream ends early")
      FAIL("cut to " << bytes << ": " << message);
  }
}

TEST_CASE("a gzip file with a wrong byte is a FormatError") {
  TemporaryFolder folder;
  auto packed = gzip(folder, noise(300));
  packed[packed.size() - 6] = static_cast<char>(packed[packed.size() - 6] ^ 1);  // in its checksum
  const auto path = folder.write("damaged.gz", packed);
  CHECK(message_of<FormatError>([&] {
          return read_file(path);
        }).starts_with(path + ": the gzip stream is damaged"));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they need the memory
TEST_CASE("a file for which there is no memory is not called damaged") {
  const TemporaryFolder folder;
  const auto path = folder.path("text");
  std::ofstream(path) << "plain";
  const pid_t child = fork();
  if (child == 0) {
    InputFile file(path);
    const rlimit none{0, 0};
    setrlimit(RLIMIT_AS, &none);
    void* last = nullptr;
    while (void* const more = std::malloc(4096)) last = more;  // of what the process has
    std::free(last);                                           // for the words; zlib wants 8192
    char byte = 0;
    const std::string message = message_of<SystemError>([&] { return file.read(&byte, 1); });
    _exit(message == "cannot read " + path + ": zlib has no memory for it" ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
}
#endif

}  // namespace input_file_tests
