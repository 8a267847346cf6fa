// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The training loop: epochs, validation, early stopping, saved states.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include <weft/core/clock.hpp>
#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/sum_count.hpp>
#include <weft/core/trace.hpp>
#include <weft/data/batch_position.hpp>
#include <weft/device/cpu.hpp>
#include <weft/io/metadata.hpp>
#include <weft/io/safetensors_file.hpp>
#include <weft/io/safetensors_layout.hpp>
#include <weft/ops/check_finite.hpp>
#include <weft/parallel/loss_sum.hpp>
#include <weft/parallel/objective.hpp>
#include <weft/parallel/recipe.hpp>
#include <weft/parallel/strategy.hpp>
#include <weft/parallel/with_average.hpp>
#include <weft/train/early_stopping.hpp>
#include <weft/train/process_usage.hpp>
#include <weft/train/run_folder.hpp>
#include <weft/train/run_place.hpp>
#include <weft/train/saved_model.hpp>
#include <weft/train/saved_state.hpp>
#include <weft/train/trainer_settings.hpp>
#include <weft/train/try_together.hpp>

namespace weft::train {

//! Gives the batches of all epochs from a position on.
//!
//! **Semantics.** `next(batch)` makes the batch that stands at `position()`: batch 0 of the next
//! epoch, once it has made the last one of an epoch. `batches_in_epoch()` is of the last one's.
template <class L, class B>
concept BatchLoader = requires(L& loader, B& batch) {
  loader.next(batch);
  { loader.position() } -> std::convertible_to<data::BatchPosition>;
  { loader.batches_in_epoch() } -> std::convertible_to<index_t>;
};

//! What a Trainer reads: loaders of batches that begin at any position, in the order of a seed; the
//! batches to validate on; and what strategies take of a batch.
template <class T>
concept TrainingData = requires(const T& data, const typename T::Batch& batch,
                                void (*take)(const typename T::Batch&)) {
  { data.loader(std::uint64_t{}, data::BatchPosition{}) } -> BatchLoader<typename T::Batch>;
  data.for_validation(take);
  { T::on_device(batch) } -> parallel::Batch<Cpu>;
};

//! What a strategy takes of data's batch.
template <class Data>
using DeviceBatchOf =
    std::remove_cvref_t<decltype(Data::on_device(std::declval<const typename Data::Batch&>()))>;

//! Trains a strategy on data such as TranslationData. All ranks of a strategy that has ranks do the
//! same. Files are written by the first rank, or by all, each its shard, where a rank has no more
//! than that.
//!
//! After every epoch the run's state is saved, the model validated, and the state saved with what
//! that found; the best model so far is kept, as are the last few. So it is where `max_updates`
//! ends a run within an epoch. A run that was saved goes on with the same bits. With an optimizer
//! that keeps a moving average of the parameters, that is the model that is validated and saved.
template <class Strategy, class Schedule, class Data>
class Trainer {
  static_assert(TrainingData<Data>,
                "a trainer's data has a type Batch, a loader(seed, position) whose next(batch), "
                "position() and batches_in_epoch() go through the epochs, a for_validation(f), and "
                "a static on_device(batch), which a strategy takes: see train::TrainingData");
  static_assert(sizeof(parallel::CheckStrategy<Strategy, DeviceBatchOf<Data>>) > 0);

 public:
  //! `folder` holds what is saved; the first rank claims it.
  //!
  //! **Errors.** SystemError if another run holds the folder, CommunicatorAborted on the other ranks
  //! then; ArgumentError for metadata or facts that are not UTF-8.
  Trainer(Strategy& strategy, const Data& data, Schedule schedule, RunFolder folder,
          TrainerSettings settings, TrainerHooks hooks = {})
      : strategy_(&strategy),
        data_(data),
        schedule_(std::move(schedule)),
        folder_(std::move(folder)),
        settings_(std::move(settings)),
        hooks_(std::move(hooks)),
        stopping_(stopping_options(), {}) {
    static_cast<void>(io::SafetensorsLayout({}, run_metadata()));  // can be written, then
    in_folder([&] { folder_.claim(); });
    if (settings_.check_finite) check_finite_.emplace();
  }

  //! Goes on from the state in the run's folder.
  //!
  //! **Errors.** SystemError, FormatError: as `load_state`; FormatError, with both values, also for
  //! a run with other facts. Nothing is changed then, on any rank.
  //! std::filesystem::filesystem_error where the run was resumed, and its best model cannot take
  //! its name again.
  void resume() {
    const std::string path = folder_.state();
    const RunPlace saved = try_together(*strategy_, [&] {
      const auto metadata = io::SafetensorsFile(path).metadata();
      auto place = detail::place_in(metadata, path, best_of());
      detail::expect_facts(metadata, path, settings_.facts);
      return place;
    });
    load_state(*strategy_, path);
    has_best_ = saved.has_best;
    is_own_folder_ = true;
    skipped_in_a_row_ = 0;
    epoch_ends_ = saved.has_epoch_to_evaluate;
    ends_within_epoch_ = false;
    report_.reset();
    rate_ = schedule_(std::max(strategy_->state().updates(), index_t{1}));
    position_ = saved.position;
    epoch_loss_ = saved.epoch_loss;
    stopping_ = EarlyStopping(stopping_options(), saved.stopping);
    epoch_seconds_ = exposed_seconds_ = 0.0;
    seen_tokens_ = 0;
    in_folder([&] { folder_.take_best_back(has_best_); });
  }

  //! Runs until something ends it. After an error it goes on where it was: where an epoch's end
  //! failed, with that.
  //!
  //! **Errors.** ArgumentError if the folder holds another run, which was not asked to `resume`;
  //! comm::RanksDiffer if ranks are not to end alike; what the strategy and the data throw;
  //! NotFiniteError, if the settings ask for it; Error where the gradients of 256 batches in a row
  //! are not finite.
  Ended run() {
    expect_same_end();
    if (!is_own_folder_) in_folder([&] { folder_.begin_run(); });
    is_own_folder_ = true;
    auto loader = data_.loader(strategy_->recipe().seed, position_);
    typename Data::Batch batch;
    for (;;) {
      if (epoch_ends_) {
        end_epoch();
        if (is_interrupted())
          return Ended::interrupted;  // an evaluation may take long; it is saved
      }
      if (const auto ended = finished()) {
        if (position_.batch > 0 && !ends_within_epoch_) {
          end_within_epoch();
          if (is_interrupted()) return Ended::interrupted;  // as above
        }
        return *ended;
      }
      const double begin = monotonic_seconds();
      const index_t epoch = position_.epoch;
      const index_t number = position_.batch + 1;
      {
        const TraceSpan span(strategy_->device(0), "next batch");
        loader.next(batch);
      }
      rate_ = schedule_(strategy_->state().updates() + 1);
      const auto step = named([&] { return strategy_->step(Data::on_device(batch), rate_); });
      position_ = loader.position();
      epoch_ends_ = position_.batch == 0;
      if (step.loss.tokens.value() > 0) {
        skipped_in_a_row_ = step.skipped ? skipped_in_a_row_ + 1 : 0;
      }
      epoch_loss_ += step.loss;
      epoch_seconds_ += monotonic_seconds() - begin;
      exposed_seconds_ += step.exposed_s;
      seen_tokens_ += step.loss.tokens.value();
      if (hooks_.after_update) {
        hooks_.after_update({strategy_->state().updates(), epoch + 1, number,
                             loader.batches_in_epoch(), rate_, step});
      }
      if (is_interrupted()) {
        save();
        return Ended::interrupted;
      }
      if (skipped_in_a_row_ == most_skipped) {
        skipped_in_a_row_ = 0;
        throw Error(text("no update for ", most_skipped, " batches, after update ",
                         strategy_->state().updates(),
                         ": their gradients were not finite; the rate may be too high"));
      }
    }
  }

  //! Epochs of which there is a model: those that have ended, those before `resume` included, and
  //! one that `max_updates` has cut off.
  [[nodiscard]] index_t epochs() const {
    return position_.epoch + (ends_within_epoch_ ? 1 : 0) - (epoch_ends_ ? 1 : 0);
  }

  //! The loss per token on the validation set.
  //!
  //! **Errors.** DataError if none of its labels counts.
  [[nodiscard]] double validate() {
    parallel::LossSum sum;
    with_model([&] {
      named([&] {
        data_.for_validation([&](const typename Data::Batch& batch) {
          sum += strategy_->evaluate(Data::on_device(batch));
        });
      });
    });
    return mean_of(sum, "the validation set");
  }

 private:
  //! **Errors.** DataError if no label counts, as where all are ignored.
  [[nodiscard]] static double mean_of(const parallel::LossSum& sum, const char* labels) {
    if (sum.tokens.value() == 0) throw DataError(text("trainer: no label of ", labels, " counts"));
    return mean(sum.loss, sum.tokens).value();
  }

  //! Calls `f()` with what is validated and saved as a model in the place of the parameters.
  template <class F>
  void with_model(const F& f) {
    if constexpr (std::remove_cvref_t<decltype(strategy_->state())>::keeps_average) {
      parallel::with_average(*strategy_, f);
    } else {
      f();
    }
  }

  //! What `f` returns. **Errors.** What it throws; a NotFiniteError also says on which rank and in
  //! which update.
  template <class F>
  auto named(const F& f) {
    const index_t update = strategy_->state().updates() + 1;
    try {
      return f();
    } catch (const ops::NotFiniteError& error) {
      throw ops::NotFiniteError(
          text("update ", update, ", rank ", strategy_->rank(), ": ", error.message()),
          error.parameter());
    }
  }

  //! Where one rank ends or scores and another goes on, they would wait for each other.
  void expect_same_end() {
    strategy_->check_same({{"max_updates", text(settings_.max_updates)},
                           {"max_epochs", text(settings_.max_epochs)},
                           {"patience", text(settings_.patience)},
                           {"the best model by", best_of()}});
  }

  //! All ranks ask.
  [[nodiscard]] bool is_interrupted() {
    return strategy_->on_any_rank(hooks_.interrupted && hooks_.interrupted());
  }

  [[nodiscard]] EarlyStoppingOptions stopping_options() const {
    // Without patience it only keeps the record of the best.
    constexpr int never = 1 << 30;
    return {.patience = settings_.patience > 0 ? settings_.patience : never,
            .better = hooks_.score ? Better::higher : Better::lower};
  }

  [[nodiscard]] std::optional<Ended> finished() const {
    if (settings_.max_updates > 0 && strategy_->state().updates() >= settings_.max_updates) {
      return Ended::max_updates;
    }
    if (position_.batch > 0) return std::nullopt;
    if (settings_.max_epochs > 0 && position_.epoch >= settings_.max_epochs) {
      return Ended::max_epochs;
    }
    if (stopping_.should_stop()) return Ended::patience;
    return std::nullopt;
  }

  //! The state is saved first too: a run that is ended while it evaluates, which may take longer
  //! than a cluster waits, goes on with that. What has been evaluated is not once more, should
  //! saving it have failed.
  void end_epoch() {
    if (!report_) {
      save();
      report_ = evaluate(position_.epoch);
    }
    const EpochReport report = *report_;
    epoch_loss_ = {};
    epoch_seconds_ = exposed_seconds_ = 0.0;
    seen_tokens_ = 0;
    save_models(report);
    has_best_ = has_best_ || report.best;
    save();
    epoch_ends_ = false;
    report_.reset();
    if (hooks_.after_epoch) hooks_.after_epoch(report);
  }

  //! The state is saved first: a run that goes on from it evaluates at the epoch's end, as one that
  //! was not cut off. That one's best model is kept beside this end's, should it be better.
  void end_within_epoch() {
    if (!report_) {
      save();
      report_ = evaluate(position_.epoch + 1);
    }
    const EpochReport report = *report_;
    if (report.best) in_folder([&] { folder_.set_best_aside(); });
    save_models(report);
    ends_within_epoch_ = true;
    report_.reset();
    if (hooks_.after_epoch) hooks_.after_epoch(report);
  }

  [[nodiscard]] EpochReport evaluate(index_t epoch) {
    EpochReport report{};
    report.epoch = epoch;
    report.updates = strategy_->state().updates();
    report.skipped = strategy_->state().skipped();
    report.rate = rate_;
    report.train_loss = mean_of(epoch_loss_, "the epoch");
    report.seconds = epoch_seconds_;
    if (epoch_seconds_ > 0.0) {  // a run may go on only to see that it has ended
      report.tokens_per_second = static_cast<double>(seen_tokens_) / epoch_seconds_;
      report.exposed_share = exposed_seconds_ / epoch_seconds_;
    }
    report.usage = usage_.take(*strategy_);
    with_model([&] {
      report.valid_loss = validate();
      if (hooks_.score) report.valid_score = score_of_root();
    });
    report.best = stopping_.update(report.valid_score.value_or(report.valid_loss));
    return report;
  }

  void save_models(const EpochReport& report) {
    auto metadata = settings_.model_metadata;
    metadata["epoch"] = std::to_string(report.epoch);
    metadata["updates"] = std::to_string(report.updates);
    with_model([&] {
      save_model(*strategy_, folder_.epoch(report.epoch), metadata);
      in_folder([&] { folder_.keep_epochs(report.epoch, settings_.averaged_epochs); });
      if (report.best) save_model(*strategy_, folder_.best(), metadata);
    });
  }

  //! Has the first rank work on the folder; its error ends the call on all ranks, which may go on.
  template <class F>
  void in_folder(const F& f) {
    try_together(*strategy_, [&] {
      if (strategy_->is_root()) f();
      return true;
    });
  }

  //! What decides which model is the best is the same on all ranks.
  [[nodiscard]] double score_of_root() {
    double score = hooks_.score();
    if (!strategy_->is_root()) score = 0.0;
    strategy_->add_over_ranks(std::span(&score, 1));
    return score;
  }

  //! What every state says of its run.
  [[nodiscard]] io::Metadata run_metadata() const {
    io::Metadata metadata;
    for (const auto& [name, value] : settings_.model_metadata) metadata["model/" + name] = value;
    detail::put_facts(metadata, settings_.facts);
    return metadata;
  }

  void save() {
    auto metadata = run_metadata();
    detail::put_place(metadata,
                      {.position = position_,
                       .epoch_loss = epoch_loss_,
                       .has_epoch_to_evaluate = epoch_ends_ && !report_,
                       .has_best = has_best_,
                       .stopping = stopping_.state()},
                      best_of());
    save_state(*strategy_, folder_.state(), metadata);
  }

  //! What the best model is chosen by.
  [[nodiscard]] std::string best_of() const { return hooks_.score ? "score" : "loss"; }

  // Loss scaling skips updates until its scale is small enough, at most 64 from 2^32 to 2^-32.
  static constexpr int most_skipped = 256;

  Strategy* strategy_;
  Data data_;
  Schedule schedule_;
  RunFolder folder_;
  TrainerSettings settings_;
  TrainerHooks hooks_;
  EarlyStopping stopping_;
  data::BatchPosition position_;
  bool is_own_folder_ = false;         // what lies in it is of this run
  bool has_best_ = false;              // an epoch's model is the folder's best
  bool ends_within_epoch_ = false;     // as `max_updates` asked
  bool epoch_ends_ = false;            // all its batches are done, and it is not saved
  std::optional<EpochReport> report_;  // of what is evaluated and not saved
  double rate_ = 0.0;                  // of the last update
  int skipped_in_a_row_ = 0;
  parallel::LossSum epoch_loss_;
  double epoch_seconds_ = 0.0;
  double exposed_seconds_ = 0.0;
  index_t seen_tokens_ = 0;
  UsageMeter usage_;
  std::optional<ops::CheckFinite> check_finite_;
};

}  // namespace weft::train
