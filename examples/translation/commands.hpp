// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What the commands do.
#pragma once

#include "../common/counted.hpp"
#include "../common/figures.hpp"
#include "../common/run_log.hpp"
#include "../common/run_report.hpp"
#include "../common/run_trace.hpp"
#include "../common/standard_input.hpp"
#include "corpora.hpp"
#include "model.hpp"
#include "options.hpp"

#include <weft/comm/check_same.hpp>
#include <weft/core/clock.hpp>
#include <weft/core/fixed.hpp>
#include <weft/generate/beam_search.hpp>
#include <weft/generate/search_settings.hpp>
#include <weft/io/lines.hpp>
#include <weft/io/metadata_numbers.hpp>
#include <weft/metrics/bleu.hpp>
#include <weft/metrics/multi_bleu.hpp>
#include <weft/metrics/tokenizers.hpp>
#include <weft/optim/adam.hpp>
#include <weft/optim/schedules.hpp>
#include <weft/train/average_models.hpp>
#include <weft/train/interrupt.hpp>
#include <weft/train/model_config.hpp>
#include <weft/train/product_precision.hpp>
#include <weft/train/progress.hpp>
#include <weft/train/run_folder.hpp>
#include <weft/train/saved_model.hpp>
#include <weft/train/trainer.hpp>
#include <weft/train/translate.hpp>
#include <weft/train/translation_data.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace translation {

using examples::counted;

namespace detail {

inline constexpr std::size_t most_samples = 8;  //!< of translations in a report

inline void print(const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); }

inline weft::index_t peak_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return weft::index_t{usage.ru_maxrss} * 1024;
}

//! The file of a model that an option names. A run that has not ended has no mean yet: the best
//! one takes its place.
inline std::string model_path(const weft::train::RunFolder& folder, const std::string& model) {
  if (model == "best") return folder.best();
  if (model != "average") return model;
  if (std::filesystem::exists(folder.average())) return folder.average();
  print(weft::text("there is no ", folder.average(), " before a run has ended: this is ",
                   folder.best()));
  return folder.best();
}

inline std::function<double(weft::index_t)> schedule_of(const TrainOptions& o) {
  if (o.schedule == "noam") {
    return weft::optim::Noam{.d_model = Model::C, .factor = o.rate, .warmup = o.warmup};
  }
  if (o.schedule == "constant") return weft::optim::Constant{o.rate};
  return weft::optim::InverseSquareRoot{.peak = o.rate, .warmup = o.warmup};
}

//! The options that the numbers of a run depend on, beside the recipe's.
inline weft::comm::Facts facts_of(const TrainOptions& o) {
  return {{"--minimum-count", weft::text(o.minimum_count)},
          {"--vocabulary", weft::text(o.vocabulary)},
          {"--longest", weft::text(o.longest)},
          {"--tokens", weft::text(o.tokens)},
          {"--by-length", weft::text(o.by_length)},
          {"--dropout", weft::text(o.dropout)},
          {"--attention-dropout", weft::text(o.attention_dropout)},
          {"--activation-dropout", weft::text(o.activation_dropout)},
          {"--label-smoothing", weft::text(o.label_smoothing)},
          {"--schedule", o.schedule},
          {"--rate", weft::text(o.rate)},
          {"--warmup", weft::text(o.warmup)},
          {"--weight-decay", weft::text(o.weight_decay)},
          {"--score", weft::text(o.score)},
          {"--chunk", weft::text(o.chunk)}};
}

//! The same of what ranks send, where it is not what one device computes.
inline weft::comm::Facts facts_of(const weft::Exchange& exchange) {
  weft::comm::Facts facts;
  if (exchange.order == weft::Order::fast) facts.emplace_back("--order", "fast");
  if (exchange.wire == weft::Wire::bfloat16) facts.emplace_back("--wire", "bfloat16");
  return facts;
}

//! A number of the run that goes on; `given` is what an option says, 0 for nothing.
//!
//! **Errors.** FormatError where the option says another: the recipe of both may make no sense.
inline weft::index_t as_before(const weft::io::Metadata& saved, const std::string& path,
                               const std::string& name, weft::index_t given) {
  const auto was = weft::io::number_in(saved, path, name);
  if (given == 0 || given == was) return was;
  throw weft::FormatError(weft::text(path, ": was saved by a run with ", name, " ", was,
                                     ", this one has ", given, ": the numbers would differ"));
}

//! The search's settings for a target vocabulary.
inline weft::generate::SearchSettings search_settings(const Vocabularies& words,
                                                      const TranslateOptions& options) {
  return {.beam = options.beam,
          .length_penalty = options.length_penalty,
          .max_length_b = options.max_length,
          .bos = words.target.bos(),
          .eos = words.target.eos(),
          .forbidden = {words.target.pad()},
          .scores = false};
}

//! The best translation of each row of words.
template <class Strategy>
std::vector<weft::generate::Hypothesis> search(Strategy& strategy,
                                               const weft::data::TokenRows& rows,
                                               const Vocabularies& words,
                                               const TranslateOptions& options) {
  return weft::train::translate(strategy, rows, words.source.eos(), search_settings(words, options),
                                options.batch);
}

//! A translation as a line.
inline std::string line_of(const weft::generate::Hypothesis& hypothesis, const Vocabularies& words,
                           const TranslateOptions& options) {
  return words.subwords.join(words.target.decode(hypothesis.tokens), options.join_subwords);
}

//! Translates rows of words into lines.
template <class Strategy>
std::vector<std::string> translate_rows(Strategy& strategy, const weft::data::TokenRows& rows,
                                        const Vocabularies& words,
                                        const TranslateOptions& options) {
  std::vector<std::string> lines;
  for (const auto& hypothesis : search(strategy, rows, words, options)) {
    lines.push_back(line_of(hypothesis, words, options));
  }
  return lines;
}

//! Translates lines of text. A line without words stays one.
//!
//! **Errors.** DataError for a line that is longer than the model's positions, unless it is to be
//! truncated; how many were is then said. Error for a model that makes no numbers.
template <class Strategy>
std::vector<std::string> translate_lines(Strategy& strategy, const std::vector<std::string>& lines,
                                         const Vocabularies& words, const TranslateOptions& options,
                                         const std::vector<weft::index_t>& numbers = {}) {
  const weft::index_t most = strategy.objective().model().longest() - 1;  // and the end
  weft::data::TokenRows rows;
  std::vector<std::size_t> row_of_line;
  weft::index_t truncated = 0, unknown = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    auto ids = words.source.encode(words.subwords.split(lines[i]));
    if (ids.empty()) continue;
    if (std::ssize(ids) > most) {
      if (!options.truncate) {
        const auto number = numbers.empty() ? static_cast<weft::index_t>(i + 1) : numbers[i];
        throw weft::DataError(weft::text("line ", number, " has ",
                                         counted(std::ssize(ids), "words"), ", the model takes ",
                                         most, "; --truncate cuts such lines"));
      }
      ids.resize(static_cast<std::size_t>(most));
      ++truncated;
    }
    unknown += std::ranges::count(ids, words.source.unk());
    rows.tokens.insert(rows.tokens.end(), ids.begin(), ids.end());
    rows.end_row();
    row_of_line.push_back(i);
  }
  if (truncated > 0) {
    print(weft::text(counted(truncated, "lines"), truncated == 1 ? " was" : " were",
                     " truncated to ", counted(most, "words")));
  }
  if (unknown > 0) {
    print(weft::text(counted(unknown, "words"), unknown == 1 ? " is" : " are",
                     " not in the vocabulary"));
  }
  std::vector<std::string> results(lines.size());
  const auto found = search(strategy, rows, words, options);
  const auto without = std::ranges::count_if(
      found, [](const auto& hypothesis) { return hypothesis.tokens.empty(); });
  if (without > 0) {  // the search finds a word at least, where any has a probability
    throw weft::Error(weft::text("no word has a probability in the translations of ",
                                 counted(without, "lines"),
                                 ": the model makes numbers that are not finite"));
  }
  for (std::size_t row = 0; row < found.size(); ++row) {
    results[row_of_line[row]] = line_of(found[row], words, options);
  }
  return results;
}

//! BLEU in its line of text, for a tokenizer's name or "multi-bleu".
inline std::pair<double, std::string> bleu(const std::vector<std::string>& hypotheses,
                                           const std::vector<std::string>& references,
                                           const std::string& tokenize) {
  if (tokenize == "multi-bleu") {
    const auto score = weft::metrics::multi_bleu(hypotheses, references);
    return {score.score, weft::metrics::to_multi_bleu_text(score)};
  }
  const auto score =
      weft::metrics::corpus_bleu(hypotheses, references, weft::metrics::tokenizer_named(tokenize));
  return {score.score, to_text(score)};
}

//! A model from a folder, ready to translate. The folder's vocabularies say how large it is.
template <class Strategy>
struct LoadedModel {
  weft::train::RunFolder folder;
  Vocabularies words;
  std::string path;  // of the model
  Strategy devices;
  typename Strategy::Type strategy;

  LoadedModel(const Options& options, const TranslateOptions& translate)
      : folder(model_folder(translate.folder)),
        words(load_vocabularies(folder, Subwords(folder))),
        path(model_path(folder, translate.model)),
        devices(options.devices, options.threads),
        strategy(devices.make(objective(), weft::optim::Adam(), {})) {
    const auto metadata = weft::train::load_model(strategy, path);
    check_fingerprints(metadata, words, path);
    weft::train::set_product_precision(strategy, translate.product_precision);
  }

 private:
  static weft::train::RunFolder model_folder(const std::string& path) {
    auto folder = weft::train::RunFolder::existing(path);
    weft::train::expect_config(folder, weft::train::config_of(shape));
    return folder;
  }

  //! The longest sentence that a model takes is a choice of its training.
  [[nodiscard]] typename Strategy::Type::Objective objective() const {
    const weft::io::SafetensorsFile file(path);
    const auto longest = weft::io::number_in(file.metadata(), path, "longest");
    return typename Strategy::Type::Objective(
        Model({words.source.size(), words.target.size(), longest}), weft::nn::LabelSmoothing());
  }
};

}  // namespace detail

//! Trains; with ranks, each of them calls it and the first one reports.
template <class Strategy>
int train_command(const Options& options, Strategy& devices) {
  const TrainOptions& o = options.train;
  const bool reports = devices.is_root();
  const auto print = [&](const std::string& line) {
    if (reports) detail::print(line);
  };
  auto folder =
      o.run.resume ? weft::train::RunFolder::existing(o.folder) : weft::train::RunFolder(o.folder);
  if (reports) folder.claim();
  if (reports && !o.run.resume) folder.expect_no_run();
  if (o.run.resume) {
    folder.expect_state();
    weft::train::expect_config(folder, weft::train::config_of(shape));
  }
  auto train_pairs = read_pairs(o.train, "training corpus");
  auto valid_pairs = read_pairs(o.valid, "validation corpus");
  if (reports && !o.run.resume) write_subwords(folder, o, train_pairs);
  devices.wait_for_all();  // for the file of subwords
  const Subwords subwords(folder);
  if (o.run.resume) expect_subwords(subwords, o);
  if (subwords.any()) {
    print("subwords by " + subwords.path());
    static_cast<void>(subwords.split(train_pairs));
  }
  const auto valid_references = subwords.split(valid_pairs);
  const auto words =
      o.run.resume
          ? load_vocabularies(folder, subwords)
          : build_vocabularies(train_pairs,
                               {.minimum_count = o.minimum_count, .maximum_size = o.vocabulary},
                               subwords);
  const weft::data::LengthLimit limit{.longest = o.longest, .then = o.too_long};
  const auto training = encode_pairs(train_pairs, "training corpus", words, limit);
  const auto validation = encode_pairs(valid_pairs, "validation corpus", words, limit);
  print(weft::text("training corpus\n", to_text(training.report), "\nvalidation corpus\n",
                   to_text(validation.report)));

  // What is the same on all ranks, and whenever the run goes on.
  auto facts = detail::facts_of(o);
  for (const auto& fact : detail::facts_of(options.exchange)) facts.push_back(fact);
  for (const auto& [name, value] : fingerprints(words)) facts.emplace_back(name, value);
  for (const auto& [name, corpus] :
       {std::pair("training", &training.corpus), std::pair("validation", &validation.corpus)}) {
    facts.emplace_back(weft::text(name, " sentences"), weft::text(corpus->pairs.size()));
    facts.emplace_back(weft::text(name, " text"), weft::text(weft::data::fingerprint(*corpus)));
  }
  devices.check_same(facts);

  // A run that goes on keeps the order of its sums, on however many devices.
  weft::index_t lanes = o.lanes > 0 ? o.lanes : options.devices, micro_batches = o.micro_batches;
  if (o.run.resume) {
    const auto saved = weft::io::SafetensorsFile(folder.state()).metadata();
    lanes = detail::as_before(saved, folder.state(), "lanes", o.lanes);
    micro_batches = detail::as_before(saved, folder.state(), "micro_batches", o.micro_batches);
  }
  const weft::parallel::Recipe recipe{.seed = o.seed,
                                      .lanes = lanes,
                                      .micro_batches = micro_batches > 0 ? micro_batches : lanes,
                                      .clip_norm = o.clip_norm,
                                      .loss_scaling = examples::loss_scaling_of(o.run)};
  auto strategy = devices.make(
      typename Strategy::Type::Objective(
          Model({words.source.size(), words.target.size(), o.longest},
                {.residual = static_cast<float>(o.dropout),
                 .attention = static_cast<float>(o.attention_dropout),
                 .activation = static_cast<float>(o.activation_dropout)}),
          weft::nn::LabelSmoothing(static_cast<float>(o.label_smoothing)), o.chunk),
      weft::optim::Adam(
          {.beta1 = 0.9, .beta2 = 0.98, .epsilon = 1e-8, .weight_decay = o.weight_decay}),
      recipe);
  const auto precision = weft::train::set_product_precision(strategy, o.run.product_precision);
  facts.emplace_back("products", to_text(precision));
  print(weft::text("strategy ", Strategy::name, ", ", counted(options.devices, Strategy::unit),
                   " of ", counted(options.threads, "threads"), ", ",
                   strategy.objective().layout().trained, " parameters, ", words.source.size(),
                   " and ", words.target.size(), " words, ", to_text(precision), " products"));
  examples::RunReport report(reports ? o.run.report : "", "Translation, " + o.folder,
                             options.command_line, "BLEU of the validation corpus");
  report.page.facts = {{"strategy", Strategy::name},
                       {Strategy::unit, weft::text(options.devices)},
                       {"threads of each", weft::text(options.threads)},
                       {"products", to_text(precision)},
                       {"parameters", weft::text(strategy.objective().layout().trained)},
                       {"sentences", weft::text(training.corpus.pairs.size())},
                       {"words", weft::text(words.source.size(), " and ", words.target.size())}};
  if (!o.run.resume && reports) {
    weft::train::save_config(folder, weft::train::config_of(shape));
    words.source.save(folder.vocabulary("source"));
    words.target.save(folder.vocabulary("target"));
  }

  const double begin = weft::monotonic_seconds();
  std::optional<weft::train::Interrupt> interrupt(std::in_place);
  std::unique_ptr<weft::train::Progress> progress;
  std::optional<examples::RunLog> log;
  if (reports) log.emplace(o.run.log, o.run.tensorboard, o.run.resume);
  examples::RunTrace trace(o.run.trace, strategy.rank());
  std::optional<weft::train::EpochReport> last;  // of this process
  weft::index_t tokens = 0;
  double training_seconds = 0.0;
  weft::train::TrainerHooks hooks;
  hooks.interrupted = [&] { return interrupt->signal() != 0; };
  hooks.after_update = [&](const weft::train::UpdateReport& update) {
    if (reports && progress == nullptr) {
      progress = std::make_unique<weft::train::Progress>(
          weft::text("epoch ", update.epoch), update.batches_in_epoch,
          weft::train::ProgressOptions{.line_interval_s = 60, .unit = "update"});
    }
    tokens += update.step.loss.tokens.value();
    report.after_update(update);
    trace.after_update();
    if (progress == nullptr) return;
    if (update.step.loss.tokens.value() > 0) {
      const double loss = mean(update.step.loss.loss, update.step.loss.tokens).value();
      progress->set_postfix(weft::text("loss=", weft::fixed(loss, 3),
                                       " rate=", weft::fixed(update.rate * 1e3, 3), "e-3"));
    }
    progress->advance();
  };
  hooks.after_epoch = [&](const weft::train::EpochReport& epoch) {
    progress.reset();
    training_seconds += epoch.seconds;
    last = epoch;
    report.page.memory = weft::train::memory_of_devices(strategy);
    report.after_epoch(epoch);
    print(weft::text(
        "epoch ", epoch.epoch, ": ", counted(epoch.updates, "updates"), ", train loss ",
        weft::fixed(epoch.train_loss, 4), ", valid loss ", weft::fixed(epoch.valid_loss, 4),
        epoch.valid_score ? weft::text(", BLEU ", weft::fixed(*epoch.valid_score, 2)) : "", ", ",
        weft::fixed(epoch.tokens_per_second, 0), " tokens/s",
        epoch.exposed_share > 0.0
            ? weft::text(", ", weft::fixed(100.0 * epoch.exposed_share, 1), " % waiting for ranks")
            : "",
        ", ", to_text(epoch.usage),
        epoch.skipped > 0 ? weft::text(", ", counted(epoch.skipped, "updates"), " skipped") : "",
        epoch.best ? ", best so far" : ""));
    if (log) {
      examples::Figures line{{"epoch", epoch.epoch},
                             {"skipped", epoch.skipped},
                             {"rate", epoch.rate},
                             {"train_loss", epoch.train_loss},
                             {"valid_loss", epoch.valid_loss},
                             {"seconds", weft::monotonic_seconds() - begin},
                             {"tokens_per_second", epoch.tokens_per_second}};
      if (epoch.valid_score) line.emplace_back("valid_bleu", *epoch.valid_score);
      log->write(epoch.updates, line);
    }
  };
  TranslateOptions search;
  search.join_subwords = true;
  std::vector<std::string> references;
  for (const auto pair : validation.corpus.pairs) {
    references.push_back(valid_references[static_cast<std::size_t>(pair)]);
  }
  const auto validation_bleu = [&] {
    return detail::bleu(detail::translate_rows(strategy, validation.corpus.source, words, search),
                        references, "none")
        .first;
  };
  if (o.score) hooks.score = validation_bleu;

  auto metadata = fingerprints(words);
  metadata["longest"] = std::to_string(o.longest);
  const weft::train::TranslationData data(training.corpus, validation.corpus,
                                          {.budget = o.tokens, .by_length = o.by_length});
  const weft::train::TrainerSettings settings{.max_updates = o.max_updates,
                                              .max_epochs = o.max_epochs,
                                              .patience = o.patience,
                                              .averaged_epochs = o.average,
                                              .model_metadata = metadata,
                                              .check_finite = o.run.check_finite,
                                              .facts = facts};
  weft::train::Trainer trainer(strategy, data, detail::schedule_of(o), folder, settings, hooks);
  if (o.run.resume) {
    trainer.resume();
    report.page.facts.emplace_back("shown after update", weft::text(strategy.state().updates()));
  }
  const auto ended = trainer.run();
  const int signal = interrupt->signal();
  interrupt.reset();  // the state is saved: a signal may end what follows
  trace.write(strategy);
  progress.reset();
  if (ended == weft::train::Ended::interrupted) {
    print(weft::text("interrupted after ", counted(strategy.state().updates(), "updates"),
                     ", the state is saved; go on with\n  ", options.command_line,
                     o.run.resume ? "" : " --resume"));
    return 128 + weft::train::Interrupt::on_any_rank(strategy, signal);
  }

  const auto epochs = folder.epochs(trainer.epochs(), o.average);
  if (!epochs.empty()) {
    if (reports) weft::train::average_models(epochs, folder.average());
    devices.wait_for_all();
    weft::train::load_model(strategy, folder.average());
    print(weft::text("the mean of ", counted(std::ssize(epochs), "models"), " is in ",
                     folder.average()));
  }
  const auto translations =
      detail::translate_rows(strategy, validation.corpus.source, words, search);
  const double bleu = detail::bleu(translations, references, "none").first;
  const auto& sources = valid_pairs.source;
  for (std::size_t i = 0; i < std::min(translations.size(), detail::most_samples); ++i) {
    const auto pair = static_cast<std::size_t>(validation.corpus.pairs[i]);
    report.page.samples.push_back(
        {subwords.join(sources[pair], true), references[i], translations[i]});
  }
  report.write();
  print(weft::text("BLEU of the validation corpus: ", weft::fixed(bleu, 2)));
  examples::Figures summary{
      {"strategy", std::string(Strategy::name)},
      {"devices", weft::index_t{options.devices}},
      {"threads", weft::index_t{options.threads}},
      {"parameters", strategy.objective().layout().trained},
      {"updates", strategy.state().updates()},
      {"skipped", strategy.state().skipped()},
      {"epochs", trainer.epochs()},
      {"seconds", weft::monotonic_seconds() - begin},
      {"tokens_per_second",
       training_seconds > 0.0 ? static_cast<double>(tokens) / training_seconds : 0.0},
      {"peak_memory_bytes", detail::peak_memory_bytes()},
      {"bleu", bleu}};
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

template <class Strategy>
int translate_command(const Options& options) {
  detail::LoadedModel<Strategy> model(options, options.translate);
  const auto lines = examples::lines_of_standard_input();
  for (const auto& line :
       detail::translate_lines(model.strategy, lines, model.words, options.translate)) {
    std::printf("%s\n", line.c_str());
  }
  return 0;
}

template <class Strategy>
int evaluate_command(const Options& options) {
  const EvaluateOptions& o = options.evaluate;
  std::vector<std::string> hypotheses, references;
  const double begin = weft::monotonic_seconds();
  if (o.hypotheses.empty() != o.references.empty()) {
    throw weft::ArgumentError("--hypotheses and --references go together: one is missing");
  }
  if (o.hypotheses.empty() == o.translate.folder.empty()) {
    throw weft::ArgumentError(
        "evaluate takes the folder of a model, or --hypotheses and --references");
  }
  if (!o.hypotheses.empty()) {
    hypotheses = weft::io::read_lines(o.hypotheses);
    references = weft::io::read_lines(o.references);
    if (hypotheses.empty() && references.empty()) {
      throw weft::DataError(
          weft::text(o.hypotheses, " and ", o.references, ": there are no lines to score"));
    }
  } else {
    detail::LoadedModel<Strategy> model(options, o.translate);
    const auto pairs = read_pairs(o.corpus, "corpus to translate");
    if (pairs.skipped > 0) {
      detail::print(weft::data::skipped_text(pairs.skipped, pairs.skipped_lines));
    }
    for (const auto& line : pairs.target) {
      references.push_back(model.words.subwords.reference(line, o.translate.join_subwords));
    }
    hypotheses = detail::translate_lines(model.strategy, pairs.source, model.words, o.translate,
                                         pairs.lines);
  }
  const auto [score, line] = detail::bleu(hypotheses, references, o.tokenize);
  std::printf("%s\n", line.c_str());
  examples::write_summary(o.summary, {{"bleu", score},
                                      {"line", line},
                                      {"sentences", static_cast<weft::index_t>(hypotheses.size())},
                                      {"seconds", weft::monotonic_seconds() - begin}});
  return 0;
}

}  // namespace translation
