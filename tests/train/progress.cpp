// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/train/progress.hpp>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <optional>
#include <string>

namespace progress_tests {

using namespace weft;
using train::Progress;
using train::ProgressOptions;

namespace {

double now_s = 0;
double test_clock() { return now_s; }

//! Sets a variable of the environment, or takes it out, and restores it.
class WithVariable {
 public:
  WithVariable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  ~WithVariable() { set(before_ ? before_->c_str() : nullptr); }
  WithVariable(const WithVariable&) = delete;
  WithVariable& operator=(const WithVariable&) = delete;

 private:
  void set(const char* value) const {
    value == nullptr ? ::unsetenv(name_) : ::setenv(name_, value, 1);
  }
  const char* name_;
  std::optional<std::string> before_;
};

//! A stream into memory: no terminal.
class Memory {
 public:
  Memory() : file_(::open_memstream(&bytes_, &size_)) {}
  ~Memory() {
    std::fclose(file_);
    std::free(bytes_);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  [[nodiscard]] std::FILE* file() const { return file_; }
  [[nodiscard]] std::string bytes() const { return {bytes_, size_}; }

 private:
  char* bytes_ = nullptr;
  std::size_t size_ = 0;
  std::FILE* file_;
};

//! A terminal of some columns.
class Terminal {
 public:
  explicit Terminal(unsigned short columns) : master_(::posix_openpt(O_RDWR | O_NOCTTY)) {
    REQUIRE(::grantpt(master_) == 0);
    REQUIRE(::unlockpt(master_) == 0);
    file_ = ::fopen(::ptsname(master_), "w");
    REQUIRE(file_ != nullptr);
    resize(columns);
    ::fcntl(master_, F_SETFL, O_NONBLOCK);
  }
  ~Terminal() {
    std::fclose(file_);
    ::close(master_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  void resize(unsigned short columns) const {
    winsize size{};
    size.ws_col = columns;
    REQUIRE(::ioctl(master_, TIOCSWINSZ, &size) == 0);
  }

  [[nodiscard]] std::FILE* file() const { return file_; }

  //! What came since the last call.
  [[nodiscard]] std::string received() const {
    std::string out;
    char bytes[4096];
    for (ssize_t got; (got = ::read(master_, bytes, sizeof bytes)) > 0;) {
      out.append(bytes, static_cast<std::size_t>(got));
    }
    return out;
  }

 private:
  int master_;
  std::FILE* file_ = nullptr;
};

ProgressOptions to(std::FILE* out) { return {.out = out, .clock = test_clock}; }

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("a file gets a plain line every ten seconds and one at the end") {
  now_s = 1000;
  const Memory memory;
  {
    Progress progress("train", 50, to(memory.file()));
    for (int step = 0; step < 50; ++step) {
      now_s += 0.5;
      progress.set_postfix("step=" + std::to_string(step));
      progress.advance();
    }
  }
  CHECK(memory.bytes() ==
        "train:  40% 20/50 [00:10<00:15,  2.00it/s, step=19]\n"
        "train:  80% 40/50 [00:20<00:05,  2.00it/s, step=39]\n"
        "train: 100% 50/50 [00:25<00:00,  2.00it/s, step=49]\n");
}

TEST_CASE("steps that were done before are counted, and take no time") {
  now_s = 1000;
  const Memory memory;
  {
    auto options = to(memory.file());
    options.done = 30;
    Progress progress("train", 50, options);
    for (int step = 30; step < 50; ++step) {
      now_s += 1;
      progress.advance();
    }
  }
  CHECK(memory.bytes() ==
        "train:  80% 40/50 [00:10<00:10,  1.00it/s]\n"
        "train: 100% 50/50 [00:20<00:00,  1.00it/s]\n"
        "train: 100% 50/50 [00:20<00:00,  1.00it/s]\n");
}

TEST_CASE("a terminal gets a bar in one line, at most ten times a second") {
  const WithVariable term("TERM", "xterm"), color("NO_COLOR", "1");
  now_s = 0;
  const Terminal terminal(60);
  {
    Progress progress("train", 100, to(terminal.file()));
    CHECK(terminal.received().starts_with("\rtrain:   0%|  "));
    for (int step = 0; step < 100; ++step) {
      now_s += 1. / 64;
      progress.advance();
    }
  }
  const auto shown = terminal.received();
  CHECK(count(shown, "\r") == 14 + 1 + 1);  // every 7th step, the end, and its new line
  CHECK(count(shown, "\n") == 1);
  CHECK(count(shown, "\x1b[K") == 15);
  CHECK(shown.ends_with("\u2588| 100/100 [00:01<00:00, 64.00it/s]\x1b[K\r\n"));
}

TEST_CASE("a bar leaves the last column of its terminal free, also after a resize") {
  const WithVariable term("TERM", "xterm"), color("NO_COLOR", "1");
  now_s = 0;
  const Terminal terminal(60);
  Progress progress("train", 100, to(terminal.file()));
  const auto columns_shown = [&] {
    auto line = terminal.received();
    line = line.substr(1, line.find("\x1b[K") - 1);
    return train::detail::columns_of(line);
  };
  CHECK(columns_shown() == 59);
  for (const int columns : {100, 20, 9, 1}) {
    terminal.resize(static_cast<unsigned short>(columns));
    now_s += 1;
    progress.advance();
    CHECK(columns_shown() == std::max(columns - 1, 1));
  }
}

TEST_CASE("the bar is green unless NO_COLOR is set to something") {
  const WithVariable term("TERM", "xterm");
  const auto is_green = [](const char* no_color) {
    const WithVariable color("NO_COLOR", no_color);
    const Terminal terminal(60);
    { Progress("train", 100, to(terminal.file())); }
    return terminal.received().find("|\x1b[32m") != std::string::npos;
  };
  CHECK(is_green(nullptr));
  CHECK(is_green(""));
  CHECK_FALSE(is_green("1"));
}

TEST_CASE("a terminal that cannot go back gets plain lines") {
  for (const char* kind : {"dumb", static_cast<const char*>(nullptr)}) {
    const WithVariable term("TERM", kind);
    now_s = 0;
    const Terminal terminal(60);
    { Progress("train", 100, to(terminal.file())); }
    CHECK(terminal.received() == "train:   0% 0/100 [00:00<?, ?it/s]\r\n");
  }
}

TEST_CASE("a printed line takes the bar's place, and the bar comes back below") {
  const WithVariable term("TERM", "xterm"), color("NO_COLOR", "1");
  now_s = 0;
  const Terminal terminal(60);
  Progress progress("train", 100, to(terminal.file()));
  static_cast<void>(terminal.received());
  progress.print("BLEU = 26.98");
  const auto shown = terminal.received();
  CHECK(shown.starts_with("\rBLEU = 26.98\x1b[K\r\n\rtrain:   0%|"));
  progress.finish();
  static_cast<void>(terminal.received());
  progress.print("done");
  CHECK(terminal.received() == "done\r\n");
}

TEST_CASE("in a file a printed line is a line") {
  const Memory memory;
  {
    Progress progress("train", 1, to(memory.file()));
    progress.print("BLEU = 26.98");
  }
  CHECK(memory.bytes().starts_with("BLEU = 26.98\ntrain:"));
}

TEST_CASE("the rate follows the recent steps, the last one is over all") {
  now_s = 0;
  const Memory memory;
  {
    auto options = to(memory.file());
    options.line_interval_s = 1;
    Progress progress("", 0, options);
    now_s += 1;
    progress.advance(10);
    now_s += 1;
    progress.advance(20);  // (0.7 * 10 + 20) / (0.7 + 1) is 15.88 a second
  }
  CHECK(memory.bytes() ==
        "10it [00:01, 10.00it/s]\n"
        "30it [00:02, 15.88it/s]\n"
        "30it [00:02, 15.00it/s]\n");
}

TEST_CASE("finish shows the last state once, and nothing comes after it") {
  now_s = 0;
  const Memory memory;
  {
    Progress progress("train", 2, to(memory.file()));
    progress.advance();
    progress.finish();
    progress.finish();
    now_s += 100;
    progress.advance();
  }
  CHECK(memory.bytes() == "train:  50% 1/2 [00:00<?, ?it/s]\n");
}

TEST_CASE("without a stream nothing is shown, with a closed one nothing breaks") {
  { Progress("train", 1, to(nullptr)); }
  std::FILE* full = std::fopen("/dev/full", "w");
  REQUIRE(full != nullptr);
  {
    Progress progress("train", 1, to(full));
    progress.print("line");
    progress.advance();
  }
  CHECK(std::ferror(full) != 0);
  std::fclose(full);
}

TEST_CASE("where there is no memory for the last state, the program goes on without it") {
  Memory out;
  static bool is_memory_short = false;
  const auto clock = [] { return is_memory_short ? throw std::bad_alloc() : 0.0; };
  {
    const Progress progress("epoch", 4, {.out = out.file(), .clock = clock});
    is_memory_short = true;
  }
  std::fflush(out.file());
  CHECK(out.bytes().empty());
}

}  // namespace progress_tests
