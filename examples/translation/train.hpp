// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Trains.
#pragma once

#include "../common/counted.hpp"
#include "../common/figures.hpp"
#include "../common/print.hpp"
#include "../common/report_errors.hpp"
#include "../common/run_records.hpp"
#include "../common/training_run.hpp"
#include "corpora.hpp"
#include "epochs.hpp"
#include "model.hpp"
#include "options.hpp"
#include "run_facts.hpp"
#include "score.hpp"
#include "translate.hpp"

#include <weft/core/clock.hpp>
#include <weft/core/fixed.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/optim/adam.hpp>
#include <weft/optim/schedules.hpp>
#include <weft/parallel/recipe.hpp>
#include <weft/train/average_models.hpp>
#include <weft/train/model_config.hpp>
#include <weft/train/product_precision.hpp>
#include <weft/train/saved_model.hpp>
#include <weft/train/trainer.hpp>
#include <weft/train/translation_data.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <iterator>
#include <optional>
#include <string>

namespace translation {

namespace detail {

inline constexpr std::size_t most_samples = 8;  //!< of translations in a report

inline weft::index_t peak_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return weft::index_t{usage.ru_maxrss} * 1024;
}

inline std::function<double(weft::index_t)> schedule_of(const TrainOptions& o) {
  if (o.schedule == "noam") {
    return weft::optim::Noam{.d_model = Model::C, .factor = o.rate, .warmup = o.warmup};
  }
  if (o.schedule == "constant") return weft::optim::Constant{o.rate};
  return weft::optim::InverseSquareRoot{.peak = o.rate, .warmup = o.warmup};
}

//! The model, its loss and the optimizer, placed by a strategy.
template <class Strategy>
typename Strategy::Type make_strategy(const TrainOptions& o, const Vocabularies& words,
                                      const weft::parallel::Recipe& recipe, Strategy& devices) {
  return devices.make(
      typename Strategy::Type::Objective(
          Model({words.source.size(), words.target.size(), o.longest},
                {.residual = static_cast<float>(o.dropout),
                 .attention = static_cast<float>(o.attention_dropout),
                 .activation = static_cast<float>(o.activation_dropout)}),
          weft::nn::LabelSmoothing(static_cast<float>(o.label_smoothing)), o.chunk),
      weft::optim::Adam(
          {.beta1 = 0.9, .beta2 = 0.98, .epsilon = 1e-8, .weight_decay = o.weight_decay}),
      recipe);
}

}  // namespace detail

//! Trains; with ranks, each of them calls it and the first one reports.
template <class Strategy>
int train_command(const Options& options, Strategy& devices) {
  const TrainOptions& o = options.train;
  const bool reports = devices.is_root();
  const auto print = [&](const std::string& line) {
    if (reports) examples::print(line);
  };
  const auto config = weft::train::config_of(shape);
  const auto folder = examples::open_run(o.folder, o.run, reports, config);
  const auto corpora = read_corpora(o, folder, reports, [&devices] { devices.wait_for_all(); });
  const Vocabularies& words = corpora.words;
  const auto &training = corpora.training.corpus, &validation = corpora.validation.corpus;
  auto facts = facts_of(options, corpora);
  devices.check_same(facts);

  auto strategy = detail::make_strategy(o, words, recipe_of(options, folder), devices);
  const auto precision = weft::train::set_product_precision(strategy, o.run.product_precision);
  facts.emplace_back("products", to_text(precision));
  const weft::index_t parameters = strategy.objective().layout().trained;
  print(weft::text("strategy ", Strategy::name, ", ", counted(options.devices, Strategy::unit),
                   " of ", counted(options.threads, "threads"), ", ", parameters, " parameters, ",
                   words.source.size(), " and ", words.target.size(), " words, ",
                   to_text(precision), " products"));
  examples::RunRecords records(strategy, o.run, "Translation, " + o.folder,
                               "BLEU of the validation corpus");
  auto& page = records.report.page;
  page.facts = {{"strategy", Strategy::name},
                {Strategy::unit, weft::text(options.devices)},
                {"threads of each", weft::text(options.threads)},
                {"products", to_text(precision)},
                {"parameters", weft::text(parameters)},
                {"sentences", weft::text(training.pairs.size())},
                {"words", weft::text(words.source.size(), " and ", words.target.size())}};
  if (!o.run.resume && reports) {
    weft::train::save_config(folder, config);
    words.source.save(folder.vocabulary("source"));
    words.target.save(folder.vocabulary("target"));
  }

  const double begin = weft::monotonic_seconds();
  EpochProgress progress(reports);
  std::optional<weft::train::EpochReport> last;  // of this process
  weft::index_t tokens = 0;
  double training_seconds = 0.0;
  weft::train::TrainerHooks hooks;
  hooks.after_update = [&](const weft::train::UpdateReport& update) {
    // A mean of the models that there were before the run went on is none of its last ones.
    if (reports && tokens == 0) std::filesystem::remove(folder.average());
    tokens += update.step.loss.tokens.value();
    records.after_update(update);
    progress.after_update(update);
  };
  hooks.after_epoch = [&](const weft::train::EpochReport& epoch) {
    progress.end_epoch();
    training_seconds += epoch.seconds;
    last = epoch;
    print(line_of(epoch));
    records.after_epoch(strategy, epoch, figures_of(epoch, weft::monotonic_seconds() - begin));
  };
  TranslateOptions search;
  search.join_subwords = true;
  const auto valid_translations = [&] {
    return translate_rows(strategy, validation.source, words, search);
  };
  if (o.score) {
    hooks.score = [&] {
      return bleu(valid_translations(), corpora.valid_references, "none").first;
    };
  }
  auto metadata = fingerprints(words);
  metadata["longest"] = std::to_string(o.longest);
  const weft::train::TranslationData data(training, validation,
                                          {.budget = o.tokens, .by_length = o.by_length});
  const auto end = examples::train_run(strategy, data, detail::schedule_of(o), folder,
                                       {.max_updates = o.max_updates,
                                        .max_epochs = o.max_epochs,
                                        .patience = o.patience,
                                        .averaged_epochs = o.average,
                                        .model_metadata = metadata,
                                        .check_finite = o.run.check_finite,
                                        .facts = facts},
                                       hooks, records, o.run);
  progress.end_epoch();
  if (end.status != 0) {
    print(examples::how_to_go_on(strategy, o.run));
    return end.status;
  }

  if (end.epochs > 0) examples::expect_best(folder);
  const auto epochs = folder.epochs(end.epochs, o.average);
  if (!epochs.empty()) {
    if (reports) weft::train::average_models(epochs, folder.average());
    devices.wait_for_all();
    weft::train::load_model(strategy, folder.average());
    print(weft::text("the mean of ", counted(std::ssize(epochs), "models"), " is in ",
                     folder.average()));
  }
  const auto translations = valid_translations();
  const double score = bleu(translations, corpora.valid_references, "none").first;
  for (std::size_t i = 0; i < std::min(translations.size(), detail::most_samples); ++i) {
    page.samples.push_back({words.subwords.join(corpora.valid_sources[i], true),
                            corpora.valid_references[i], translations[i]});
  }
  records.report.write();
  print(weft::text("BLEU of the validation corpus: ", weft::fixed(score, 2)));
  examples::Figures summary{
      {"strategy", std::string(Strategy::name)},
      {"devices", weft::index_t{options.devices}},
      {"threads", weft::index_t{options.threads}},
      {"parameters", parameters},
      {"updates", strategy.state().updates()},
      {"skipped", strategy.state().skipped()},
      {"epochs", end.epochs},
      {"seconds", weft::monotonic_seconds() - begin},
      {"tokens_per_second",
       training_seconds > 0.0 ? static_cast<double>(tokens) / training_seconds : 0.0},
      {"peak_memory_bytes", detail::peak_memory_bytes()},
      {"bleu", score}};
  if (last) {
    summary.emplace_back("train_loss", last->train_loss);
    summary.emplace_back("valid_loss", last->valid_loss);
  }
  if (reports) {
    examples::could_write("there will be no summary",
                          [&] { examples::write_summary(o.summary, summary); });
  }
  return 0;
}

}  // namespace translation
