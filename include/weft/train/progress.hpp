// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Shows how far a loop is.
//!
//!     Progress progress("epoch 1", batches);
//!     for (...) {
//!       progress.set_postfix(text("loss=", fixed(loss, 3)));
//!       progress.advance();
//!     }
#pragma once

#include <weft/core/clock.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/train/progress_line.hpp>

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

namespace weft::train {

//! Where and how often a progress is shown.
struct ProgressOptions {
  std::FILE* out = stderr;       //!< null: show nothing (all ranks but the first)
  double bar_interval_s = 0.1;   //!< at least that long between two draws on a terminal
  double line_interval_s = 10;   //!< at least that long between two lines elsewhere
  std::string_view unit = "it";  //!< a step's name
  index_t done = 0;              //!< steps that were done before, as where a run goes on
  //! in seconds
  double (*clock)() = monotonic_seconds;
};

//! A bar on a terminal; elsewhere, and on a terminal that cannot go back (`TERM=dumb`), a line now
//! and then. The last state is always shown, by `finish` or the destructor.
//!
//! The bar is green unless the environment has NO_COLOR. Rates are recent ones (each draw weighs
//! 0.3); the last state has the rate over all. A stream that cannot be written is no error. One
//! thread at a time.
class Progress {
 public:
  //! `total` 0 stands for an unknown number of steps.
  explicit Progress(std::string description, index_t total = 0, ProgressOptions options = {})
      : description_(std::move(description)),
        total_(total),
        options_(options),
        bar_(options.out != nullptr && is_terminal(options.out)),
        start_s_(options.clock()),
        done_(options.done),
        shown_s_(start_s_),
        shown_(options.done) {
    if (bar_) show(start_s_);
  }

  ~Progress() {
    try {
      finish();
    } catch (...) {  // no memory for a line, as where an error of that kind ends the steps
    }
  }

  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  //! Counts steps that are done, and shows so if it is time.
  void advance(index_t steps = 1) {
    done_ += steps;
    const double now_s = options_.clock();
    const double interval_s = bar_ ? options_.bar_interval_s : options_.line_interval_s;
    if (finished_ || now_s - shown_s_ < interval_s) return;
    constexpr double weight = 0.3;
    recent_steps_ += weight * (static_cast<double>(done_ - shown_) - recent_steps_);
    recent_s_ += weight * (now_s - shown_s_ - recent_s_);
    steps_per_s_ = recent_s_ > 0 ? recent_steps_ / recent_s_ : 0;
    show(now_s);
    shown_ = done_;
    shown_s_ = now_s;
  }

  //! Sets what the line ends with, such as "loss=1.23", from the next time that it is shown.
  void set_postfix(std::string postfix) { postfix_ = std::move(postfix); }

  //! Writes a line of its own, above the bar.
  void print(std::string_view line) {
    if (!bar_ || finished_) return write(text(line, "\n"));
    write(text("\r", line, erase_rest, "\n"));
    show(options_.clock());
  }

  //! Shows the last state; from then on none is shown.
  void finish() {
    if (std::exchange(finished_, true)) return;
    const double now_s = options_.clock();
    const auto steps = static_cast<double>(done_ - options_.done);
    steps_per_s_ = now_s > start_s_ ? steps / (now_s - start_s_) : 0;
    show(now_s);
    if (bar_) write("\n");
  }

 private:
  static constexpr std::string_view erase_rest = "\x1b[K";

  [[nodiscard]] static bool is_terminal(std::FILE* out) {
    const char* kind = std::getenv("TERM");
    return ::isatty(::fileno(out)) == 1 && kind != nullptr && std::string_view(kind) != "dumb";
  }

  //! One less than there are: a character in the last column would begin a new line.
  [[nodiscard]] index_t columns() const {
    winsize size{};
    const bool known = ::ioctl(::fileno(options_.out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return std::max(known ? index_t{size.ws_col} - 1 : index_t{79}, index_t{1});
  }

  void show(double now_s) {
    const ProgressState state = {description_, done_,    total_,       now_s - start_s_,
                                 steps_per_s_, postfix_, options_.unit};
    if (!bar_) return write(text(progress_line(state), "\n"));
    const char* no_color = std::getenv("NO_COLOR");
    const bool green = no_color == nullptr || *no_color == '\0';
    write(text("\r",
               progress_line(state, columns(), green ? "\x1b[32m" : "", green ? "\x1b[0m" : ""),
               erase_rest));
  }

  void write(std::string_view bytes) const {
    if (options_.out == nullptr) return;
    std::fwrite(bytes.data(), 1, bytes.size(), options_.out);
    std::fflush(options_.out);
  }

  std::string description_;
  index_t total_;
  ProgressOptions options_;
  bool bar_;
  bool finished_ = false;
  double start_s_;
  std::string postfix_;
  index_t done_;
  // When the rate was taken last, and how many steps were done then.
  double shown_s_;
  index_t shown_;
  // Steps and seconds from one time to the next, averaged; their quotient is the rate.
  double recent_steps_ = 0;
  double recent_s_ = 0;
  double steps_per_s_ = 0;
};

}  // namespace weft::train
