// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include "run_log.hpp"

#include "report_errors.hpp"

#include <cstdio>
#include <filesystem>
#include <system_error>
#include <variant>

namespace examples {

namespace {

constexpr const char* no_events = "TensorBoard gets nothing";

//! Whether a file's last line has no end: a run was cut off there, or the disk was full.
bool is_cut_off(const std::string& path) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown)) return false;  // a pipe would be waited for
  std::ifstream file(path, std::ios::binary);
  char last = '\n';
  return file.seekg(-1, std::ios::end).get(last) && last != '\n';
}

}  // namespace

RunLog::RunLog(const std::string& lines, const std::string& events, bool goes_on) : path_(lines) {
  if (!lines.empty()) {
    const bool cut_off = goes_on && is_cut_off(lines);
    lines_.open(lines, goes_on ? std::ios::app : std::ios::trunc);
    if (cut_off) lines_ << std::endl;  // what was cut off does not take the next line along
    expect_written_lines();
  }
  if (!events.empty()) could_write(no_events, [&] { events_.emplace(events); });
}

void RunLog::expect_written_lines() {
  if (lines_) return;
  std::fprintf(stderr, "there will be no more lines: cannot write %s\n", path_.c_str());
  lines_.close();
}

void RunLog::write(weft::index_t updates, const Figures& figures) {
  if (lines_.is_open()) {
    Figures line{{"updates", updates}};
    line.insert(line.end(), figures.begin(), figures.end());
    lines_ << to_json(line) << std::endl;
    expect_written_lines();
  }
  if (!events_) return;
  const auto add_all = [&] {
    for (const auto& [name, value] : figures) {
      if (const auto* number = std::get_if<double>(&value)) events_->add(name, updates, *number);
      if (const auto* number = std::get_if<weft::index_t>(&value)) {
        events_->add(name, updates, static_cast<double>(*number));
      }
    }
  };
  if (!could_write(no_events, add_all)) events_.reset();
}

}  // namespace examples
