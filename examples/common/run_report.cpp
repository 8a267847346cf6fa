// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include "run_report.hpp"

#include "report_errors.hpp"

#include <weft/io/atomic_file.hpp>

namespace examples {

RunReport::RunReport(std::string path, std::string title, std::string command, std::string score)
    : path_(std::move(path)), score_(std::move(score)) {
  page.title = std::move(title);
  page.command = std::move(command);
}

void RunReport::after_update(const weft::train::UpdateReport& update) {
  if (path_.empty()) return;
  const auto at = static_cast<double>(update.update);
  const auto& loss = update.step.loss;
  if (loss.tokens.value() > 0) {
    train_loss_.emplace_back(at, mean(loss.loss, loss.tokens).value());
  }
  rate_.emplace_back(at, update.rate);
}

void RunReport::after_epoch(const weft::train::EpochReport& epoch) {
  if (path_.empty()) return;
  const auto at = static_cast<double>(epoch.updates);
  valid_loss_.emplace_back(at, epoch.valid_loss);
  if (epoch.valid_score) scores_.emplace_back(at, *epoch.valid_score);
  speed_.emplace_back(at, epoch.tokens_per_second);
  write();
}

void RunReport::write() {
  if (path_.empty() || rate_.empty()) return;  // a run that has ended keeps its page
  const std::string updates = "updates";
  page.charts = {
      {"Loss per token", updates, {{"training", train_loss_}, {"validation", valid_loss_}}},
      {.title = "Learning rate", .places = updates, .curves = {{"rate", rate_}}, .from_zero = true},
      {.title = "Speed",
       .places = updates,
       .curves = {{"tokens per second", speed_}},
       .from_zero = true}};
  if (!scores_.empty()) {
    page.charts.push_back({score_, updates, {{"validation", scores_}}, true});
  }
  const auto write_page = [&] { weft::io::write_file(path_, to_html(page)); };
  if (!could_write("there will be no report", write_page)) path_.clear();
}

}  // namespace examples
