// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include "epochs.hpp"

#include "../common/counted.hpp"

#include <weft/core/fixed.hpp>
#include <weft/core/text.hpp>

namespace translation {

std::string line_of(const weft::train::EpochReport& epoch) {
  return weft::text(
      "epoch ", epoch.epoch, ": ", examples::counted(epoch.updates, "updates"), ", train loss ",
      weft::fixed(epoch.train_loss, 4), ", valid loss ", weft::fixed(epoch.valid_loss, 4),
      epoch.valid_score ? weft::text(", BLEU ", weft::fixed(*epoch.valid_score, 2)) : "", ", ",
      weft::fixed(epoch.tokens_per_second, 0), " tokens/s",
      epoch.exposed_share > 0.0
          ? weft::text(", ", weft::fixed(100.0 * epoch.exposed_share, 1), " % waiting for ranks")
          : "",
      ", ", to_text(epoch.usage),
      epoch.skipped > 0 ? weft::text(", ", examples::counted(epoch.skipped, "updates"), " skipped")
                        : "",
      epoch.best ? ", best so far" : "");
}

examples::Figures figures_of(const weft::train::EpochReport& epoch, double seconds) {
  examples::Figures figures{{"epoch", epoch.epoch},
                            {"skipped", epoch.skipped},
                            {"rate", epoch.rate},
                            {"train_loss", epoch.train_loss},
                            {"valid_loss", epoch.valid_loss},
                            {"seconds", seconds},
                            {"tokens_per_second", epoch.tokens_per_second}};
  if (epoch.valid_score) figures.emplace_back("valid_bleu", *epoch.valid_score);
  return figures;
}

void EpochProgress::after_update(const weft::train::UpdateReport& update) {
  if (!shows_) return;
  if (bar_ == nullptr) {
    bar_ = std::make_unique<weft::train::Progress>(
        weft::text("epoch ", update.epoch), update.batches_in_epoch,
        weft::train::ProgressOptions{
            .line_interval_s = 60, .unit = "update", .done = update.batch - 1});
  }
  if (update.step.loss.tokens.value() > 0) {
    const double loss = mean(update.step.loss.loss, update.step.loss.tokens).value();
    bar_->set_postfix(weft::text("loss=", weft::fixed(loss, 3),
                                 " rate=", weft::fixed(update.rate * 1e3, 3), "e-3"));
  }
  bar_->advance();
}

}  // namespace translation
