// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What the commands do.
#pragma once

#include "../common/counted.hpp"
#include "../common/figures.hpp"
#include "../common/run_log.hpp"
#include "../common/run_report.hpp"
#include "../common/run_trace.hpp"
#include "model.hpp"
#include "options.hpp"
#include "texts.hpp"

#include <weft/comm/check_same.hpp>
#include <weft/core/clock.hpp>
#include <weft/core/error.hpp>
#include <weft/core/fixed.hpp>
#include <weft/core/philox.hpp>
#include <weft/data/basic_english.hpp>
#include <weft/data/columns.hpp>
#include <weft/generate/sample.hpp>
#include <weft/io/atomic_file.hpp>
#include <weft/io/metadata_numbers.hpp>
#include <weft/metrics/perplexity.hpp>
#include <weft/nn/context.hpp>
#include <weft/optim/schedules.hpp>
#include <weft/optim/sgd.hpp>
#include <weft/parallel/loss_sum.hpp>
#include <weft/parallel/pipeline_trace.hpp>
#include <weft/parallel/recipe.hpp>
#include <weft/parallel/schedule/simulate.hpp>
#include <weft/train/interrupt.hpp>
#include <weft/train/language_model_data.hpp>
#include <weft/train/model_config.hpp>
#include <weft/train/product_precision.hpp>
#include <weft/train/run_folder.hpp>
#include <weft/train/saved_model.hpp>
#include <weft/train/trainer.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace language_model {

using examples::counted;

//! The types of model.hpp. How they are cut into stages does not matter to who loads them.
inline weft::train::ModelConfig config_of_model() {
  return {{"model", "language_model"},
          {"d_model", d_model},
          {"heads", heads},
          {"d_ff", d_ff},
          {"layers", layers}};
}

namespace detail {

inline void print(const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); }

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

//! The share of the time that a schedule loses where all stages cost the same.
inline double lost_by_schedule(const weft::parallel::TableView& table, int micro_batches) {
  std::vector<int> ends(static_cast<std::size_t>(table.places()));
  std::vector<int> next(static_cast<std::size_t>(table.ranks));
  constexpr weft::parallel::Costs costs;
  const int makespan = simulate(table, costs, micro_batches, ends, next);
  const int work = micro_batches * (table.stages / table.ranks) * costs.all();
  return 1.0 - static_cast<double>(work) / makespan;
}

//! Records what the ranks of a pipeline do in some batches, once they run evenly.
template <class Type>
class Recorder {
 public:
  static constexpr weft::index_t first = 5, last = 10;  //!< batches

  explicit Recorder(Type& strategy) : strategy_(&strategy) {}

  void after_batch(weft::index_t number) {
    if (number == first) strategy_->record(&trace_);
    if (number == last) strategy_->record(nullptr);
  }

  //! What all ranks did. All of them call it.
  template <class Communicator>
  std::vector<weft::parallel::Trace> traces(Communicator& communicator) {
    strategy_->record(nullptr);
    return weft::parallel::gathered_traces(communicator, trace_);
  }

 private:
  Type* strategy_;
  weft::parallel::Trace trace_;
};

//! What is to be said of recorded traces.
inline std::string waiting_text(std::span<const weft::parallel::Trace> traces,
                                const weft::parallel::TableView& table, int micro_batches) {
  return weft::text("ranks waited ", weft::fixed(100 * weft::parallel::lost_share(traces), 1),
                    " % of the time in the batches that were recorded; stages that cost the same "
                    "lose ",
                    weft::fixed(100 * lost_by_schedule(table, micro_batches), 1),
                    " % by this schedule");
}

}  // namespace detail

//! Trains; with ranks, each of them calls it and the first one reports.
template <class Strategy>
int train_command(const Options& options, Strategy& ranks) {
  const TrainOptions& o = options.train;
  const bool reports = ranks.is_root();
  const auto print = [&](const std::string& line) {
    if (reports) detail::print(line);
  };
  auto folder = o.run.resume ? weft::train::RunFolder::existing(options.folder)
                             : weft::train::RunFolder(options.folder);
  if (reports) folder.claim();
  if (reports && !o.run.resume) folder.expect_no_run();
  if (o.run.resume) {
    folder.expect_state();
    weft::train::expect_config(folder, config_of_model());
  }
  const auto train_words = read_words(o.train);
  const auto vocabulary = o.run.resume ? load_vocabulary(folder.vocabulary("words"))
                                       : build_vocabulary(train_words, o.minimum_count);
  const auto columns_of = [&](const std::string& path, weft::index_t columns) {
    return weft::data::Columns(numbers_of(vocabulary, read_words(path)), columns, o.bptt, path);
  };
  const weft::data::Columns train(numbers_of(vocabulary, train_words), o.batch, o.bptt, o.train);
  const auto valid = columns_of(o.valid, o.valid_batch);
  std::optional<weft::data::Columns> test;
  if (!o.test.empty()) test = columns_of(o.test, o.valid_batch);
  // What is the same on all ranks, and whenever the run goes on.
  weft::comm::Facts facts{{"--minimum-count", weft::text(o.minimum_count)},
                          {"--mask", o.causal ? "causal" : "none"},
                          {"--batch", weft::text(o.batch)},
                          {"--valid-batch", weft::text(o.valid_batch)},
                          {"--bptt", weft::text(o.bptt)},
                          {"--chunk", weft::text(o.chunk)},
                          {"--dropout", weft::text(o.dropout)},
                          {"--rate", weft::text(o.rate)},
                          {"--decay", weft::text(o.decay)},
                          {"--batches", weft::text(o.batches)},
                          {"vocabulary", weft::text(vocabulary.fingerprint())},
                          {"training words", weft::text(train_words.size())},
                          {"training text", weft::text(train.fingerprint())},
                          {"validation text", weft::text(valid.fingerprint())}};
  ranks.check_same(facts);

  const weft::index_t lanes = ranks.replicas();
  const weft::index_t micro_batches =
      o.micro_batches > 0 ? o.micro_batches : Strategy::micro_batches;
  const weft::parallel::Recipe recipe{.seed = o.seed,
                                      .lanes = lanes,
                                      .micro_batches = lanes * micro_batches,
                                      .clip_norm = o.clip_norm,
                                      .loss_scaling = examples::loss_scaling_of(o.run)};
  auto strategy = ranks.make({.vocabulary = vocabulary.size(),
                              .longest = o.bptt,
                              .dropout = static_cast<float>(o.dropout),
                              .causal = o.causal},
                             o.chunk, recipe, o.recompute);
  const auto precision = weft::train::set_product_precision(strategy, o.run.product_precision);
  facts.emplace_back("products", to_text(precision));
  if (!o.run.resume && reports) {
    weft::train::save_config(folder, config_of_model());
    vocabulary.save(folder.vocabulary("words"));
  }
  print(weft::text("strategy ", Strategy::name, ", ", counted(options.ranks, "ranks"), " of ",
                   counted(options.threads, "threads"), ", ", strategy.objective().layout().trained,
                   " parameters, ", train_words.size(), " words, ", vocabulary.size(),
                   " distinct, ", to_text(precision), " products"));
  if (o.batch < recipe.micro_batches) {
    print(weft::text("a batch of ", counted(o.batch, "columns"), " makes ",
                     counted(o.batch, "micro-batches"), ", not ", recipe.micro_batches));
  }

  const weft::train::LanguageModelData data(train, valid, o.batches);
  const weft::index_t batches = data.loader(o.seed, {}).batches_in_epoch();
  std::optional<weft::train::Interrupt> interrupt(std::in_place);
  std::optional<examples::RunLog> log;
  if (reports) log.emplace(o.run.log, o.run.tensorboard, o.run.resume);
  examples::RunReport report(reports ? o.run.report : "", "Language model, " + options.folder,
                             options.command_line);
  report.page.facts = {{"strategy", Strategy::name},
                       {"ranks", weft::text(options.ranks)},
                       {"threads of each", weft::text(options.threads)},
                       {"products", to_text(precision)},
                       {"parameters", weft::text(strategy.objective().layout().trained)},
                       {"words", weft::text(train_words.size())},
                       {"distinct words", weft::text(vocabulary.size())}};
  constexpr bool records = requires { strategy.record(nullptr); };
  std::optional<detail::Recorder<decltype(strategy)>> recorder;
  // Every rank records where one is to draw.
  if (records && !(o.run.trace.empty() && o.run.report.empty())) recorder.emplace(strategy);
  examples::RunTrace trace(o.run.trace, strategy.rank());

  weft::train::TrainerHooks hooks;
  weft::parallel::LossSum since_line;
  double line_begin = weft::monotonic_seconds();
  weft::index_t batches_here = 0;
  hooks.interrupted = [&] { return interrupt->signal() != 0; };
  hooks.after_update = [&](const weft::train::UpdateReport& update) {
    if constexpr (records) {
      if (recorder) recorder->after_batch(++batches_here);
    }
    report.after_update(update);
    trace.after_update();
    since_line += update.step.loss;
    if (update.batch % o.log_interval != 0) return;
    const double now = weft::monotonic_seconds();
    print(weft::text("| epoch ", update.epoch, " | ", update.batch, "/", batches, " batches | lr ",
                     weft::fixed(update.rate, 2), " | ms/batch ",
                     weft::fixed(1e3 * (now - line_begin) / static_cast<double>(o.log_interval), 2),
                     " | ", detail::loss_text(mean(since_line.loss, since_line.tokens).value())));
    since_line = {};
    line_begin = now;
  };
  hooks.after_epoch = [&](const weft::train::EpochReport& epoch) {
    print(weft::text(
        "| end of epoch ", epoch.epoch, " | time: ", weft::fixed(epoch.seconds, 2), "s | ",
        detail::loss_text(epoch.valid_loss, "valid "), " | ",
        weft::fixed(epoch.tokens_per_second, 0), " words/s",
        epoch.skipped > 0 ? weft::text(" | ", counted(epoch.skipped, "updates"), " skipped") : "",
        epoch.best ? " | best so far" : ""));
    report.page.memory = weft::train::memory_of_devices(strategy);
    report.after_epoch(epoch);
    if (log) {
      log->write(epoch.updates, {{"epoch", epoch.epoch},
                                 {"rate", epoch.rate},
                                 {"train_loss", epoch.train_loss},
                                 {"valid_loss", epoch.valid_loss},
                                 {"valid_perplexity", std::exp(epoch.valid_loss)},
                                 {"seconds", epoch.seconds},
                                 {"tokens_per_second", epoch.tokens_per_second}});
    }
    since_line = {};
    line_begin = weft::monotonic_seconds();
  };

  const weft::optim::StepDecay schedule{.rate = o.rate, .step_size = batches, .gamma = o.decay};
  const weft::train::TrainerSettings settings{
      .max_epochs = o.max_epochs,
      .model_metadata = {{"vocabulary", weft::text(vocabulary.fingerprint())},
                         {"longest", weft::text(o.bptt)},
                         {"mask", o.causal ? "causal" : "none"}},
      .check_finite = o.run.check_finite,
      .facts = facts};
  weft::train::Trainer trainer(strategy, data, schedule, folder, settings, hooks);
  if (o.run.resume) {
    trainer.resume();
    report.page.facts.emplace_back("shown after update", weft::text(strategy.state().updates()));
  }
  const auto ended = trainer.run();
  const int signal = interrupt->signal();
  interrupt.reset();  // the state is saved: a signal may end what follows
  trace.write(strategy);
  if constexpr (records) {
    if (recorder) {
      const auto most = std::clamp(o.batch / lanes, weft::index_t{1}, micro_batches);
      const auto traces = recorder->traces(ranks.communicator);
      if (batches_here <= recorder->first) {
        print(weft::text("no batch was recorded: that begins after batch ", recorder->first));
      } else {
        report.page.schedule = svg(traces);
        report.page.schedule_caption =
            detail::waiting_text(traces, Strategy::Model::table(), static_cast<int>(most));
        print(report.page.schedule_caption);
        report.write();
      }
    }
  }
  if (ended == weft::train::Ended::interrupted) {
    print(weft::text("interrupted after ", counted(strategy.state().updates(), "updates"),
                     ", the state is saved; go on with\n  ", options.command_line,
                     o.run.resume ? "" : " --resume"));
    return 128 + weft::train::Interrupt::on_any_rank(strategy, signal);
  }
  if (test) {
    if (!std::filesystem::exists(folder.best())) {
      throw weft::Error("there is no best model to test: no epoch's validation loss was a number");
    }
    weft::train::load_model(strategy, folder.best());
    const double loss = detail::loss_of(strategy, *test);
    print(weft::text("| end of training | ", detail::loss_text(loss, "test ")));
    if (log) {
      log->write(strategy.state().updates(),
                 {{"test_loss", loss}, {"test_perplexity", std::exp(loss)}});
    }
  }
  return 0;
}

//! Writes the prompt and the words that the model puts after it.
template <class Strategy>
int generate_command(const Options& options) {
  const GenerateOptions& o = options.generate;
  const auto folder = weft::train::RunFolder::existing(options.folder);
  weft::train::expect_config(folder, config_of_model());
  const auto vocabulary = load_vocabulary(folder.vocabulary("words"));
  const auto metadata = weft::io::SafetensorsFile(folder.best()).metadata();
  const auto longest = weft::io::number_in(metadata, folder.best(), "longest");
  const auto saved = [&](const std::string& name) {
    const auto found = metadata.find(name);
    if (found != metadata.end()) return found->second;
    throw weft::FormatError(weft::text(folder.best(), ": its metadata has no \"", name,
                                       "\": no model of this program"));
  };
  if (saved("vocabulary") != weft::text(vocabulary.fingerprint())) {
    throw weft::FormatError(weft::text(folder.best(), ": was trained with another vocabulary"));
  }
  if (saved("mask") != "causal") {
    throw weft::ArgumentError(weft::text(
        folder.best(), ": was trained without a mask, to look words up: it cannot write"));
  }
  auto words = numbers_of(vocabulary, weft::data::basic_english(o.prompt));
  if (std::ranges::all_of(words, [&](auto word) { return word == vocabulary.unk(); })) {
    throw weft::ArgumentError(
        weft::text("the model knows no word of the prompt \"", o.prompt, "\""));
  }
  Strategy ranks(options.threads);
  auto strategy =
      ranks.make({.vocabulary = vocabulary.size(), .longest = longest}, longest, {}, {});
  weft::train::load_model(strategy, folder.best());

  const std::size_t given = words.size();
  auto& device = strategy.device(0);
  for (weft::index_t drawn = 0; drawn < o.words; ++drawn) {
    // The model reads as many words as it was trained with, and sees no further back.
    const auto read =
        std::span(words).last(std::min(words.size(), static_cast<std::size_t>(longest)));
    weft::data::TokenRows row;
    row.tokens.assign(read.begin(), read.end());
    row.end_row();
    weft::nn::Context ctx(device, strategy.state().values().data());
    const auto output =
        strategy.objective().model().forward(ctx, weft::train::to_sequences(device, row, {0, 1}));
    const auto& generator = strategy.objective().loss().generator;
    const auto last = output.output.values.slice(std::ssize(read) - 1, std::ssize(read));
    const auto logits = to_host(generator.logits(ctx, last));
    const auto random =
        weft::philox({static_cast<std::uint32_t>(drawn), 0, 0, 0}, weft::RandomKey(o.seed, 0));
    words.push_back(weft::generate::sample_word(logits, o.temperature, random[0] * 0x1p-32));
  }
  std::printf("%s\n%s\n", vocabulary.decode(std::span(words).first(given)).c_str(),
              vocabulary.decode(std::span(words).subspan(given)).c_str());
  return 0;
}

}  // namespace language_model
