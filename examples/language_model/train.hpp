// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Trains.
#pragma once

#include "../common/counted.hpp"
#include "../common/figures.hpp"
#include "../common/print.hpp"
#include "../common/run_options.hpp"
#include "../common/run_records.hpp"
#include "../common/training_run.hpp"
#include "model.hpp"
#include "options.hpp"
#include "pipeline_record.hpp"
#include "texts.hpp"

#include <weft/comm/check_same.hpp>
#include <weft/core/clock.hpp>
#include <weft/core/error.hpp>
#include <weft/core/fixed.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/data/columns.hpp>
#include <weft/data/vocabulary.hpp>
#include <weft/optim/schedules.hpp>
#include <weft/parallel/loss_sum.hpp>
#include <weft/parallel/recipe.hpp>
#include <weft/train/language_model_data.hpp>
#include <weft/train/model_config.hpp>
#include <weft/train/product_precision.hpp>
#include <weft/train/run_folder.hpp>
#include <weft/train/saved_model.hpp>
#include <weft/train/trainer.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace language_model {

using examples::counted;

namespace detail {

//! The texts of a training, in the numbers of their words.
struct Texts {
  weft::data::Vocabulary vocabulary;
  std::size_t training_words;
  weft::data::Columns train;
  weft::data::Columns valid;
  std::optional<weft::data::Columns> test;
};

//! Reads them. The training text of a new run says what the vocabulary is.
inline Texts read_texts(const TrainOptions& o, const weft::train::RunFolder& folder) {
  const auto train_words = read_words(o.train);
  auto vocabulary = o.run.resume ? load_vocabulary(folder.vocabulary("words"))
                                 : build_vocabulary(train_words, o.minimum_count);
  const auto columns_of = [&](const std::string& path) {
    return weft::data::Columns(numbers_of(vocabulary, read_words(path)), o.valid_batch, o.bptt,
                               path);
  };
  weft::data::Columns train(numbers_of(vocabulary, train_words), o.batch, o.bptt, o.train);
  auto valid = columns_of(o.valid);
  std::optional<weft::data::Columns> test;
  if (!o.test.empty()) test = columns_of(o.test);
  return {std::move(vocabulary), train_words.size(), std::move(train), std::move(valid),
          std::move(test)};
}

//! What is the same on all ranks, and whenever the run goes on.
inline weft::comm::Facts facts_of(const TrainOptions& o, const Texts& texts) {
  return {{"--minimum-count", weft::text(o.minimum_count)},
          {"--mask", o.causal ? "causal" : "none"},
          {"--batch", weft::text(o.batch)},
          {"--valid-batch", weft::text(o.valid_batch)},
          {"--bptt", weft::text(o.bptt)},
          {"--chunk", weft::text(o.chunk)},
          {"--dropout", weft::text(o.dropout)},
          {"--rate", weft::text(o.rate)},
          {"--decay", weft::text(o.decay)},
          {"--batches", weft::text(o.batches)},
          {"vocabulary", weft::text(texts.vocabulary.fingerprint())},
          {"training words", weft::text(texts.training_words)},
          {"training text", weft::text(texts.train.fingerprint())},
          {"validation text", weft::text(texts.valid.fingerprint())}};
}

//! "loss 5.12 | ppl 167.3"
inline std::string loss_text(double loss, const char* what = "") {
  return weft::text(what, "loss ", weft::fixed(loss, 3), " | ", what, "ppl ",
                    weft::fixed(std::exp(loss), 2));
}

//! The loss of a text, per word.
template <class Strategy>
double loss_of(Strategy& strategy, const weft::data::Columns& columns) {
  weft::parallel::LossSum sum;
  weft::train::LanguageModelData::for_chunks(columns, [&](const auto& batch) {
    sum += strategy.evaluate(weft::train::LanguageModelData::on_device(batch));
  });
  return mean(sum.loss, sum.tokens).value();
}

//! An epoch as a line for people.
inline std::string line_of(const weft::train::EpochReport& epoch) {
  return weft::text(
      "| end of epoch ", epoch.epoch, " | time: ", weft::fixed(epoch.seconds, 2), "s | ",
      loss_text(epoch.valid_loss, "valid "), " | ", weft::fixed(epoch.tokens_per_second, 0),
      " words/s",
      epoch.skipped > 0 ? weft::text(" | ", counted(epoch.skipped, "updates"), " skipped") : "",
      epoch.best ? " | best so far" : "");
}

//! The same for the log.
inline examples::Figures figures_of(const weft::train::EpochReport& epoch) {
  return {{"epoch", epoch.epoch},
          {"rate", epoch.rate},
          {"train_loss", epoch.train_loss},
          {"valid_loss", epoch.valid_loss},
          {"valid_perplexity", std::exp(epoch.valid_loss)},
          {"seconds", epoch.seconds},
          {"tokens_per_second", epoch.tokens_per_second}};
}

}  // namespace detail

//! Trains; with ranks, each of them calls it and the first one reports.
template <class Strategy>
int train_command(const Options& options, Strategy& ranks) {
  const TrainOptions& o = options.train;
  const bool reports = ranks.is_root();
  const auto print = [&](const std::string& line) {
    if (reports) examples::print(line);
  };
  const auto folder = examples::open_run(options.folder, o.run, reports, config_of_model());
  const auto texts = detail::read_texts(o, folder);
  auto facts = detail::facts_of(o, texts);
  ranks.check_same(facts);

  const weft::index_t lanes = ranks.replicas();
  const weft::index_t micro_batches =
      o.micro_batches > 0 ? o.micro_batches : Strategy::micro_batches;
  const weft::parallel::Recipe recipe{.seed = o.seed,
                                      .lanes = lanes,
                                      .micro_batches = lanes * micro_batches,
                                      .clip_norm = o.clip_norm,
                                      .loss_scaling = examples::loss_scaling_of(o.run)};
  auto strategy = ranks.make({.vocabulary = texts.vocabulary.size(),
                              .longest = o.bptt,
                              .dropout = static_cast<float>(o.dropout),
                              .causal = o.causal},
                             o.chunk, recipe, o.recompute);
  const auto precision = weft::train::set_product_precision(strategy, o.run.product_precision);
  facts.emplace_back("products", to_text(precision));
  if (!o.run.resume && reports) {
    weft::train::save_config(folder, config_of_model());
    texts.vocabulary.save(folder.vocabulary("words"));
  }
  const weft::index_t parameters = strategy.objective().layout().trained;
  print(weft::text("strategy ", Strategy::name, ", ", counted(options.ranks, "ranks"), " of ",
                   counted(options.threads, "threads"), ", ", parameters, " parameters, ",
                   texts.training_words, " words, ", texts.vocabulary.size(), " distinct, ",
                   to_text(precision), " products"));
  if (o.batch < recipe.micro_batches) {
    print(weft::text("a batch of ", counted(o.batch, "columns"), " makes ",
                     counted(o.batch, "micro-batches"), ", not ", recipe.micro_batches));
  }

  const weft::train::LanguageModelData data(texts.train, texts.valid, o.batches);
  const weft::index_t batches = data.loader(o.seed, {}).batches_in_epoch();
  examples::RunRecords records(strategy, o.run, "Language model, " + options.folder);
  auto& page = records.report.page;
  page.facts = {{"strategy", Strategy::name},
                {"ranks", weft::text(options.ranks)},
                {"threads of each", weft::text(options.threads)},
                {"products", to_text(precision)},
                {"parameters", weft::text(parameters)},
                {"words", weft::text(texts.training_words)},
                {"distinct words", weft::text(texts.vocabulary.size())}};
  constexpr bool is_pipeline = requires { strategy.record(nullptr); };
  std::optional<PipelineRecord<decltype(strategy)>> pipeline;
  // Every rank records where one is to draw.
  if (is_pipeline && !(o.run.trace.empty() && o.run.report.empty())) pipeline.emplace(strategy);

  weft::train::TrainerHooks hooks;
  weft::parallel::LossSum since_line;
  double line_begin = weft::monotonic_seconds();
  weft::index_t line_batches = 0;  // fewer than an interval where a run goes on
  weft::index_t batches_here = 0;
  hooks.after_update = [&](const weft::train::UpdateReport& update) {
    if constexpr (is_pipeline) {
      if (pipeline) pipeline->after_batch(++batches_here);
    }
    records.after_update(update);
    since_line += update.step.loss;
    ++line_batches;
    if (update.batch % o.log_interval != 0) return;
    const double now = weft::monotonic_seconds();
    print(weft::text("| epoch ", update.epoch, " | ", update.batch, "/", batches, " batches | lr ",
                     weft::fixed(update.rate, 2), " | ms/batch ",
                     weft::fixed(1e3 * (now - line_begin) / static_cast<double>(line_batches), 2),
                     " | ", detail::loss_text(mean(since_line.loss, since_line.tokens).value())));
    since_line = {};
    line_begin = now;
    line_batches = 0;
  };
  hooks.after_epoch = [&](const weft::train::EpochReport& epoch) {
    print(detail::line_of(epoch));
    records.after_epoch(strategy, epoch, detail::figures_of(epoch));
    since_line = {};
    line_begin = weft::monotonic_seconds();
    line_batches = 0;
  };

  const weft::optim::StepDecay schedule{.rate = o.rate, .step_size = batches, .gamma = o.decay};
  const auto end = examples::train_run(
      strategy, data, schedule, folder,
      {.max_epochs = o.max_epochs,
       .model_metadata = {{"vocabulary", weft::text(texts.vocabulary.fingerprint())},
                          {"longest", weft::text(o.bptt)},
                          {"mask", o.causal ? "causal" : "none"}},
       .check_finite = o.run.check_finite,
       .facts = facts},
      hooks, records, o.run);
  if constexpr (is_pipeline) {
    if (pipeline) {
      const auto most = std::clamp(o.batch / lanes, weft::index_t{1}, micro_batches);
      const auto traces = pipeline->traces(ranks.communicator);
      if (batches_here <= pipeline->first) {
        print(weft::text("no batch was recorded: that begins after batch ", pipeline->first));
      } else {
        page.schedule = svg(traces);
        page.schedule_caption =
            waiting_text(traces, Strategy::Model::table(), static_cast<int>(most));
        print(page.schedule_caption);
        records.report.write();
      }
    }
  }
  if (end.status != 0) {
    print(examples::how_to_go_on(strategy, o.run));
    return end.status;
  }
  if (texts.test) {
    examples::expect_best(folder);
    weft::train::load_model(strategy, folder.best());
    const double loss = detail::loss_of(strategy, *texts.test);
    print(weft::text("| end of training | ", detail::loss_text(loss, "test ")));
    records.log(strategy.state().updates(),
                {{"test_loss", loss}, {"test_perplexity", std::exp(loss)}});
  }
  return 0;
}

}  // namespace language_model
