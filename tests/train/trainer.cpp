// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/train/trainer.hpp>
#include <weft/train/translation_data.hpp>

#include <weft/optim/moving_average.hpp>
#include <weft/optim/schedules.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "../file_size_limit.hpp"
#include "../message_of.hpp"
#include "../temporary_folder.hpp"
#include "small_runs.hpp"

namespace trainer_tests {

using namespace weft;
using namespace weft::testing;
using namespace weft::train;

namespace {

constexpr data::BatchRule rule{.unit = data::BatchUnit::sentences, .budget = 6};
constexpr index_t batches = 4;  // of 22 sentences
const optim::Noam noam{.d_model = 24, .factor = 0.2, .warmup = 10};

double rising_rate(index_t update) { return 0.25 * static_cast<double>(update); }

//! Data of one's own, whose loader may not say how long an epoch is.
template <bool counts>
struct OwnData {
  using Batch = data::TranslationBatch;
  struct Loader {
    void next(Batch&) {}
    [[nodiscard]] data::BatchPosition position() const { return {}; }
    [[nodiscard]] index_t batches_in_epoch() const requires(counts) { return 1; }
  };
  [[nodiscard]] Loader loader(std::uint64_t, data::BatchPosition) const { return {}; }
  void for_validation(const auto&) const {}
  [[nodiscard]] static DeviceBatch on_device(const Batch& batch) { return DeviceBatch(batch); }
};
static_assert(TrainingData<OwnData<true>>);
static_assert(!TrainingData<OwnData<false>>, "else the error lies deep in the trainer");

//! What an epoch reports, but for the time that it took.
using EpochNumbers =
    std::tuple<index_t, index_t, index_t, double, double, double, std::optional<double>, bool>;

EpochNumbers numbers_of(const EpochReport& r) {
  return {r.epoch, r.updates, r.skipped, r.rate, r.train_loss, r.valid_loss, r.valid_score, r.best};
}

//! What a run told.
struct Log {
  std::vector<double> losses;  // of each update
  std::vector<EpochNumbers> epochs;

  friend bool operator==(const Log&, const Log&) = default;
};

//! Runs on one corpus. What happens is added to `log`.
struct Course {
  data::ParallelCorpus train = random_corpus(22, 1), valid = random_corpus(9, 2);
  Log log;

  [[nodiscard]] TrainerHooks hooks(index_t interrupt_after = -1) {
    TrainerHooks hooks;
    auto updates = std::make_shared<index_t>(0);
    hooks.after_update = [this, updates](const UpdateReport& report) {
      ++*updates;
      log.losses.push_back(report.step.loss.loss.value());
    };
    hooks.after_epoch = [this](const EpochReport& report) {
      log.epochs.push_back(numbers_of(report));
    };
    hooks.interrupted = [updates, interrupt_after] { return *updates == interrupt_after; };
    return hooks;
  }

  template <class Strategy, class Schedule = optim::Noam>
  [[nodiscard]] Trainer<Strategy, Schedule, TranslationData> trainer(
      Strategy& strategy, const std::string& folder, const TrainerSettings& settings,
      TrainerHooks hooks, const Schedule& schedule = noam) const {
    return {strategy, {train, valid, rule}, schedule, RunFolder(folder),
            settings, std::move(hooks)};
  }
};

//! Which values a model's file holds.
std::vector<float> values_in(const std::string& path) {
  OneDevice<> one;
  load_model(one.strategy, path);
  return contents_of(one.strategy).buffers[0];
}

std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& [name, bytes] : files_in(folder)) names.insert(name);
  return names;
}

}  // namespace

TEST_CASE("a run that was interrupted anywhere goes on with the same bits, on any devices") {
  const TemporaryFolder folder;
  const TrainerSettings settings{.max_epochs = 3, .averaged_epochs = 2};
  Course whole;
  OneDevice<> one;
  const auto ended =
      whole.trainer(one.strategy, folder.path("whole"), settings, whole.hooks()).run();
  REQUIRE(ended == Ended::max_epochs);
  REQUIRE(whole.log.losses.size() == 3 * batches);
  REQUIRE(whole.log.epochs.size() == 3);

  // At the first update, within epochs, at an epoch's end, at the very end.
  for (const index_t interrupt_after : {1, 2, 4, 7, 12}) {
    CAPTURE(interrupt_after);
    const auto path = folder.path(text("interrupted-", interrupt_after));
    Course course;
    {
      Devices first(2);
      CHECK(course.trainer(first.strategy, path, settings, course.hooks(interrupt_after)).run() ==
            Ended::interrupted);
      CHECK(std::ssize(course.log.losses) == interrupt_after);
      CHECK(first.strategy.state().updates() == interrupt_after);
    }
    Devices second(static_cast<int>(interrupt_after % 3) + 1);
    auto trainer = course.trainer(second.strategy, path, settings, course.hooks());
    trainer.resume();
    CHECK(trainer.run() == Ended::max_epochs);
    CHECK(course.log == whole.log);
    CHECK(contents_of(second.strategy) == contents_of(one.strategy));
    CHECK(files_in(path) == files_in(folder.path("whole")));
  }
}

TEST_CASE("a run that was interrupted at every update goes on with the same bits") {
  const TemporaryFolder folder;
  const TrainerSettings settings{.max_epochs = 2};
  Course whole, pieces;
  OneDevice<> one;
  whole.trainer(one.strategy, folder.path("whole"), settings, whole.hooks()).run();
  index_t runs = 0;
  for (auto ended = Ended::interrupted; ended == Ended::interrupted; ++runs) {
    REQUIRE(runs <= 2 * batches);
    OneDevice<> again;
    auto trainer = pieces.trainer(again.strategy, folder.path("run"), settings, pieces.hooks(1));
    if (runs > 0) trainer.resume();
    ended = trainer.run();
  }
  CHECK(runs == 2 * batches + 1);
  CHECK(pieces.log == whole.log);
  CHECK(files_in(folder.path("run")) == files_in(folder.path("whole")));
}

TEST_CASE("a run of so many updates ends within an epoch, is saved, and can be gone on with") {
  const TemporaryFolder folder;
  Course whole, course;
  OneDevice<> one;
  whole.trainer(one.strategy, folder.path("whole"), {.max_updates = 10}, whole.hooks()).run();
  CHECK(whole.log.losses.size() == 10);
  CHECK(whole.log.epochs.size() == 3);  // two whole ones
  {
    OneDevice<> first;
    auto trainer =
        course.trainer(first.strategy, folder.path("run"), {.max_updates = 6}, course.hooks());
    CHECK(trainer.run() == Ended::max_updates);
    CHECK(course.log.losses.size() == 6);
    CHECK(trainer.run() == Ended::max_updates);
    CHECK(course.log.losses.size() == 6);
    // The second epoch was cut off after two of its four batches.
    CHECK(trainer.epochs() == 2);
    const RunFolder files(folder.path("run"));
    CHECK(values_in(files.epoch(2)) == contents_of(first.strategy).buffers[0]);
    CHECK(values_in(files.best()) == values_in(files.epoch(2)));
    REQUIRE(course.log.epochs.size() == 2);
    course.log.epochs.pop_back();
  }
  OneDevice<> second;
  auto trainer =
      course.trainer(second.strategy, folder.path("run"), {.max_updates = 10}, course.hooks());
  trainer.resume();
  CHECK(trainer.run() == Ended::max_updates);
  CHECK(course.log == whole.log);
  CHECK(files_in(folder.path("run")) == files_in(folder.path("whole")));
}

TEST_CASE("what ended within an epoch is the best model no longer when the run goes on") {
  const TemporaryFolder folder;
  const optim::Constant high{0.05};  // with which losses rise from the second epoch on
  const auto run = [&](const std::string& name, const TrainerSettings& settings, bool resumed) {
    Course course;
    OneDevice<> one;
    auto trainer = course.trainer(one.strategy, folder.path(name), settings, course.hooks(), high);
    if (resumed) trainer.resume();
    trainer.run();
    return course.log;
  };
  const auto whole = run("whole", {.max_epochs = 6}, false);
  bool was_better = false;  // somewhere within an epoch than at all ends before
  for (index_t updates = 1; updates < 6 * batches; ++updates) {
    if (updates % batches == 0) continue;
    CAPTURE(updates);
    const auto name = text("cut-", updates);
    const auto cut = run(name, {.max_updates = updates}, false);
    const RunFolder files(folder.path(name));
    was_better = was_better || std::get<7>(cut.epochs.back());
    CHECK((values_in(files.best()) == values_in(files.epoch(std::get<0>(cut.epochs.back())))) ==
          std::get<7>(cut.epochs.back()));
    (void)run(name, {.max_epochs = 6}, true);
    CHECK(files_in(folder.path(name)) == files_in(folder.path("whole")));
  }
  CHECK(was_better);
}

TEST_CASE("a run whose gradients are never finite ends") {
  const TemporaryFolder folder;
  Course course;
  OneDevice<> one;
  auto trainer = course.trainer(one.strategy, folder.path("run"), {.max_updates = 20},
                                course.hooks(), optim::Constant{1e30});
  CHECK_THAT(message_of<Error>([&] { return trainer.run(); }),
             Catch::StartsWith("no update for 256 batches, after update "));
}

TEST_CASE("updates and epochs are counted, and each is reported once") {
  const TemporaryFolder folder;
  Course course;
  OneDevice<> one;
  std::vector<UpdateReport> updates;
  std::vector<EpochReport> epochs;
  int scores = 0, questions = 0;
  const TrainerHooks hooks{
      .after_update = [&](const UpdateReport& report) { updates.push_back(report); },
      .after_epoch = [&](const EpochReport& report) { epochs.push_back(report); },
      .score = [&] { return static_cast<double>(++scores); },
      .interrupted = [&] { return ++questions < 0; }};
  auto trainer = course.trainer(one.strategy, folder.path("run"), {.max_epochs = 2}, hooks);
  CHECK(trainer.run() == Ended::max_epochs);
  CHECK(scores == 2);
  CHECK(questions == 2 * (batches + 1));  // after each update and each evaluation
  REQUIRE(updates.size() == 2 * batches);
  REQUIRE(epochs.size() == 2);

  double loss = 0.0;
  index_t tokens = 0;
  for (index_t i = 0; i < 2 * batches; ++i) {
    const auto& report = updates[static_cast<std::size_t>(i)];
    CHECK(report.update == i + 1);
    CHECK(report.epoch == i / batches + 1);
    CHECK(report.batch == i % batches + 1);
    CHECK(report.batches_in_epoch == batches);
    CHECK(report.rate == noam(i + 1));
    CHECK_FALSE(report.step.skipped);
    if (report.epoch == 2) {
      loss += report.step.loss.loss.value();
      tokens += report.step.loss.tokens.value();
    }
  }
  CHECK(tokens == std::ssize(course.train.target.tokens) + course.train.size());
  CHECK(epochs[1].train_loss == loss / static_cast<double>(tokens));
  CHECK(epochs[1].epoch == 2);
  CHECK(epochs[1].updates == 2 * batches);
  CHECK(epochs[1].skipped == 0);
  CHECK(epochs[1].rate == noam(2 * batches));
  CHECK(epochs[1].valid_score == 2.0);
  CHECK(epochs[1].best);
  CHECK(epochs[1].seconds > 0.0);
  CHECK(epochs[1].tokens_per_second == Approx(static_cast<double>(tokens) / epochs[1].seconds));
  CHECK(epochs[1].valid_loss == trainer.validate());
  CHECK(trainer.run() == Ended::max_epochs);  // again: there is nothing left to do
  CHECK(updates.size() == 2 * batches);
}

TEST_CASE("hooks may all be empty") {
  const TemporaryFolder folder;
  Course course;
  OneDevice<> one;
  CHECK(course.trainer(one.strategy, folder.path("run"), {.max_updates = 5}, {}).run() ==
        Ended::max_updates);
  CHECK(one.strategy.state().updates() == 5);
}

TEST_CASE("the validation loss is per token over the whole set, without dropout") {
  const TemporaryFolder folder;
  Course course;
  OneDevice<> one;
  auto trainer = course.trainer(one.strategy, folder.path("run"), {}, {});
  data::TranslationBatch all;
  const std::vector<index_t> sentences{0, 1, 2, 3, 4, 5, 6, 7, 8};
  data::fill_batch(course.valid, sentences, all);
  const auto sum = one.strategy.evaluate(DeviceBatch(all));
  // The same rows in other batches: their products round otherwise.
  CHECK(trainer.validate() == Approx(sum.loss.value() / static_cast<double>(all.target_tokens())));
  CHECK(trainer.validate() == trainer.validate());
}

TEST_CASE("a moving average is what is validated and saved; training goes on from the parameters") {
  const TemporaryFolder folder;
  const TrainerSettings settings{.max_epochs = 2, .averaged_epochs = 2};
  const auto run = [&](auto& one, Course& course, const std::string& name,
                       index_t interrupt_after) {
    auto hooks = course.hooks(interrupt_after);
    hooks.score = [&] {
      return one.strategy.evaluate(DeviceBatch(random_translations(5, 9))).loss.value();
    };
    auto trainer = course.trainer(one.strategy, folder.path(name), settings, std::move(hooks));
    if (interrupt_after == 0) trainer.resume();
    return trainer.run();
  };
  using Averaging = optim::MovingAverage<optim::Adam>;
  Course plain, averaged;
  OneDevice<> by_adam;
  OneDevice<Averaging> one;
  REQUIRE(run(by_adam, plain, "plain", -1) == Ended::max_epochs);
  REQUIRE(run(one, averaged, "whole", -1) == Ended::max_epochs);
  const auto values = contents_of(one.strategy).buffers[0];
  CHECK(values == contents_of(by_adam.strategy).buffers[0]);
  CHECK(averaged.log.losses == plain.log.losses);

  auto average = to_host(one.strategy.state().average());
  average.insert(average.end(), values.begin() + std::ssize(average), values.end());
  const auto saved = folder.path("whole") + "/epoch-2.safetensors";
  CHECK(values_in(saved) == average);
  OneDevice<> other;
  load_model(other.strategy, saved);
  const auto trainer = [&](auto& strategy) {
    return averaged.trainer(strategy, folder.path("validation"), {}, {});
  };
  const double loss = trainer(other.strategy).validate();
  CHECK(trainer(one.strategy).validate() == loss);
  CHECK(std::get<5>(averaged.log.epochs[1]) == loss);
  CHECK(std::get<6>(averaged.log.epochs[1]) ==
        other.strategy.evaluate(DeviceBatch(random_translations(5, 9))).loss.value());

  Course course;
  OneDevice<Averaging> first, second;
  REQUIRE(run(first, course, "interrupted", 6) == Ended::interrupted);
  REQUIRE(run(second, course, "interrupted", 0) == Ended::max_epochs);
  CHECK(course.log == averaged.log);
  CHECK(files_in(folder.path("interrupted")) == files_in(folder.path("whole")));
}

TEST_CASE("training ends when the validation loss has not improved for as long as patience says") {
  const TemporaryFolder folder;
  Course course;
  OneDevice<> one;
  // At a rate of 0 the model stays as it is: the first epoch is the best.
  auto trainer = course.trainer(one.strategy, folder.path("run"), {.patience = 2}, course.hooks(),
                                optim::Constant{0.0});
  CHECK(trainer.run() == Ended::patience);
  REQUIRE(course.log.epochs.size() == 3);
  CHECK(std::get<bool>(course.log.epochs[0]));
  CHECK_FALSE(std::get<bool>(course.log.epochs[1]));
  CHECK_FALSE(std::get<bool>(course.log.epochs[2]));
}

TEST_CASE("the best model is that of the highest score, also over an interruption") {
  const TemporaryFolder folder;
  const std::vector<double> scores{3.0, 5.0, 4.0, 5.0, 2.0};
  // Interrupted in the third epoch, or not at all.
  const index_t interrupt_after = GENERATE(0, 2 * batches + 1);
  Course course;
  std::vector<std::vector<float>> models;
  const auto run = [&](bool resume, index_t updates) {
    OneDevice<> one;
    auto hooks = course.hooks(updates);
    hooks.score = [&] {
      models.push_back(contents_of(one.strategy).buffers[0]);
      return scores.at(models.size() - 1);
    };
    auto trainer = course.trainer(one.strategy, folder.path("run"), {.patience = 3}, hooks);
    if (resume) trainer.resume();
    return trainer.run();
  };
  auto ended = run(false, interrupt_after);
  if (interrupt_after > 0) {
    CHECK(ended == Ended::interrupted);
    ended = run(true, 0);
  }
  CHECK(ended == Ended::patience);
  REQUIRE(models.size() == 5);
  const RunFolder files(folder.path("run"));
  CHECK(values_in(files.best()) == models[1]);
  CHECK(values_in(files.epoch(5)) == models[4]);
  CHECK(models[1] != models[3]);
}

TEST_CASE("of the epochs' models the latest are kept, under the metadata that was given") {
  const TemporaryFolder folder;
  Course course;
  OneDevice<> one;
  course
      .trainer(one.strategy, folder.path("run"),
               {.max_epochs = 5, .averaged_epochs = 3, .model_metadata = {{"longest", "24"}}}, {})
      .run();
  const RunFolder files(folder.path("run"));
  CHECK(names_in(files.path()) ==
        std::set<std::string>{"best.safetensors", "epoch-3.safetensors", "epoch-4.safetensors",
                              "epoch-5.safetensors", "state.safetensors"});
  CHECK(io::SafetensorsFile(files.epoch(4)).metadata() ==
        io::Metadata{{"epoch", "4"}, {"format", "pt"}, {"longest", "24"}, {"updates", "16"}});
  CHECK(values_in(files.epoch(5)) == contents_of(one.strategy).buffers[0]);
  CHECK(files.epochs(5, 3).size() == 3);
}

TEST_CASE("when the disk is full the run fails, and goes on later from the state that it had") {
  const TemporaryFolder folder;
  Course whole, course;
  OneDevice<> one;
  whole.trainer(one.strategy, folder.path("whole"), {.max_epochs = 2}, whole.hooks()).run();

  const RunFolder files(folder.path("run"));
  {
    OneDevice<> first;
    auto trainer = course.trainer(first.strategy, files.path(), {.max_epochs = 1}, course.hooks());
    trainer.run();
  }
  const auto before = files_in(files.path());
  // A model has some 80 kB, a state three times as much: first only the state does not fit.
  const auto model_bytes = static_cast<rlim_t>(bytes_of(files.best()).size());
  for (const rlim_t limit_bytes : {2 * model_bytes, rlim_t{4096}}) {
    OneDevice<> second;
    Course failing;
    auto trainer =
        failing.trainer(second.strategy, files.path(), {.max_epochs = 2}, failing.hooks());
    trainer.resume();
    const FileSizeLimit limit(limit_bytes);
    CHECK_THAT(
        message_of<SystemError>([&] { return trainer.run(); }),
        Catch::StartsWith("cannot write " + files.path()) && Catch::EndsWith(": File too large"));
    CHECK(bytes_of(files.state()) == before.at("state.safetensors"));
  }
  for (const auto& name : names_in(files.path())) {
    CHECK(name.find(".tmp") == std::string::npos);
  }

  OneDevice<> third;
  auto trainer = course.trainer(third.strategy, files.path(), {.max_epochs = 2}, course.hooks());
  trainer.resume();
  CHECK(trainer.run() == Ended::max_epochs);
  CHECK(course.log == whole.log);
  CHECK(files_in(files.path()) == files_in(folder.path("whole")));
}

TEST_CASE("sets without sentences are refused") {
  const TemporaryFolder folder;
  Course course;
  OneDevice<> one;
  auto empty = course;
  empty.valid = {};
  CHECK(message_of<DataError>([&] {
          return empty.trainer(one.strategy, folder.path("run"), {}, {}).validate();
        }) == "trainer: the validation set has no sentences");
  empty = course;
  empty.train = {};
  auto trainer = empty.trainer(one.strategy, folder.path("run"), {}, {});
  CHECK(message_of<DataError>([&] { return trainer.run(); }) ==
        "loader: the corpus has no sentences");
}

TEST_CASE("a state that is missing, or no trainer's, or another recipe's changes nothing") {
  const TemporaryFolder folder;
  const RunFolder files(folder.path("run"));
  Course course;
  OneDevice<> one, other({.seed = 6});
  const auto refusal = [&](OneDevice<>& resumed) {
    auto trainer = course.trainer(resumed.strategy, files.path(), {}, {});
    const auto before = contents_of(resumed.strategy);
    const auto message = message_of([&] { return trainer.resume(), 0; });
    CHECK(contents_of(resumed.strategy) == before);
    return message;
  };
  CHECK(refusal(one) == "cannot open " + files.state() + ": No such file or directory");

  train_on(one.strategy, 0, 1);
  save_state(one.strategy, files.state(), {});
  train_on(one.strategy, 1, 2);
  CHECK(refusal(one) == files.state() + ": its metadata has no whole number \"epoch\"");

  std::filesystem::remove(files.state());
  course.trainer(one.strategy, files.path(), {.max_updates = 3}, {}).run();
  train_on(one.strategy, 1, 2);
  CHECK_THAT(refusal(other), Catch::Contains("seed 5, this one has 6"));
  FileContents contents(files.state());
  contents.metadata["batch"] = "-2";
  contents.write(files.state());
  CHECK(refusal(one) == files.state() + ": its metadata has \"batch\" -2");
}

TEST_CASE("a run goes on with the facts that it began with, or says both") {
  const TemporaryFolder folder;
  const auto path = folder.path("run");
  Course course;
  OneDevice<> one;
  course.trainer(one.strategy, path, {.max_updates = 3, .facts = {{"text", "7"}}}, {}).run();
  train_on(one.strategy, 1, 2);
  const auto refusal = [&](const comm::Facts& facts) {
    auto trainer = course.trainer(one.strategy, path, {.facts = facts}, {});
    const auto before = contents_of(one.strategy);
    const auto message = message_of<FormatError>([&] { return trainer.resume(), 0; });
    if (message != "(no error)") CHECK(contents_of(one.strategy) == before);
    return message;
  };
  const std::string was = RunFolder(path).state() + ": was saved by a run with ";
  CHECK(refusal({{"text", "8"}}) == was + "text 7, this one has 8: the numbers would differ");
  CHECK(refusal({}) == was + "text 7, this one has (none): the numbers would differ");
  CHECK(refusal({{"text", "7"}, {"rate", "0.1"}}) ==
        was + "rate (none), this one has 0.1: the numbers would differ");
  CHECK(refusal({{"text", "7"}}) == "(no error)");
}

namespace {

//! Sets a parameter's first element.
template <class Strategy>
void spoil(Strategy& strategy, const std::string& parameter, float value) {
  for (const auto& [name, p] : nn::named_parameters(strategy.objective())) {
    if (name == parameter) strategy.state().values().data()[p.value_offset] = value;
  }
}

}  // namespace

TEST_CASE("the module is named that makes a number that is not finite") {
  const TemporaryFolder folder;
  Course course;
  const TrainerSettings settings{.max_updates = 2, .check_finite = true};
  const auto run = [&](auto& strategy, const auto& schedule) {
    auto trainer = course.trainer(strategy, folder.path("run"), settings, course.hooks(), schedule);
    return message_of<ops::NotFiniteError>([&] { return trainer.run(); });
  };
  SECTION("in the forward pass") {
    Devices devices(2);
    spoil(devices.strategy, "encoder.layers.1.feed_forward.outer.weight", 3e38f);
    CHECK(run(devices.strategy, noam) ==
          "update 1, rank 0: cpu:0: encoder.layers.1.feed_forward.outer: matmul_nt: c has inf at "
          "(0, 0) of (5, 24)");
  }
  SECTION("by a weight that modules share") {
    OneDevice one;
    spoil(one.strategy, "source_embedding.weight", std::numeric_limits<float>::infinity());
    CHECK_THAT(run(one.strategy, noam),
               Catch::StartsWith("update 1, rank 0: source_embedding, or what shares its weight: "
                                 "matmul_nt: c has "));
  }
  SECTION("in the optimizer's update") {
    OneDevice one;
    CHECK(run(one.strategy, [](index_t) { return 1e39; }) ==
          "update 1, rank 0: update: values has inf at (0, 0) of (1, 23704)");
  }
  SECTION("a later update") {
    OneDevice one;
    CHECK(run(one.strategy,
              [&](index_t update) {
                if (update == 2)
                  spoil(one.strategy, "decoder.layers.0.cross_attention.norm.bias", std::nanf(""));
                return 1e-3;
              }) ==
          "update 2, rank 0: decoder.layers.0.cross_attention.norm: residual_layer_norm: y has nan "
          "at (0, 0) of (9, 24)");
  }
}

TEST_CASE("a run that was not asked to go on leaves another's folder alone") {
  const TemporaryFolder folder;
  Course course;
  OneDevice<> one;
  course.trainer(one.strategy, folder.path("run"), {.max_updates = 2}, {}).run();
  const auto before = files_in(folder.path("run"));
  auto again = course.trainer(one.strategy, folder.path("run"), {.max_updates = 4}, {});
  CHECK(message_of<ArgumentError>([&] { return again.run(); }) ==
        folder.path("run") + " holds another run: resume it, or choose another folder");
  CHECK(files_in(folder.path("run")) == before);
}

TEST_CASE("a run whose epoch could not be saved begins with that when it goes on") {
  const TemporaryFolder folder;
  Course whole, course;
  OneDevice<> one, other;
  whole.trainer(one.strategy, folder.path("whole"), {.max_epochs = 1}, whole.hooks()).run();
  const RunFolder files(folder.path("run"));
  auto trainer = course.trainer(other.strategy, files.path(), {.max_epochs = 1}, course.hooks());
  {
    const FileSizeLimit limit(4096);
    CHECK_THAT(message_of<SystemError>([&] { return trainer.run(); }),
               Catch::EndsWith(": File too large"));
  }
  CHECK(trainer.run() == Ended::max_epochs);
  CHECK(course.log == whole.log);
  CHECK(files_in(files.path()) == files_in(folder.path("whole")));
}

TEST_CASE("a run that was ended while it evaluated goes on with that") {
  const TemporaryFolder folder;
  Course whole, course;
  OneDevice<> one, first, second;
  const TrainerSettings settings{.max_epochs = 2};
  const auto with_score = [](Course& scored, std::function<double()> score) {
    auto hooks = scored.hooks();
    hooks.score = std::move(score);
    return hooks;
  };
  const auto one_half = [] { return 0.5; };
  whole.trainer(one.strategy, folder.path("whole"), settings, with_score(whole, one_half)).run();
  const RunFolder files(folder.path("run"));
  {
    const auto killed = []() -> double { throw Error("killed"); };
    auto trainer =
        course.trainer(first.strategy, files.path(), settings, with_score(course, killed));
    CHECK(message_of<Error>([&] { return trainer.run(); }) == "killed");
    CHECK(trainer.epochs() == 0);
  }
  auto trainer =
      course.trainer(second.strategy, files.path(), settings, with_score(course, one_half));
  trainer.resume();
  CHECK(trainer.run() == Ended::max_epochs);
  CHECK(trainer.epochs() == 2);
  CHECK(course.log == whole.log);
  CHECK(files_in(files.path()) == files_in(folder.path("whole")));
}

TEST_CASE("a signal while the last epoch is evaluated ends the run as interrupted") {
  const TemporaryFolder folder;
  Course course;
  OneDevice<> one;
  bool signal = false;
  auto hooks = course.hooks();
  hooks.score = [&] {
    signal = true;
    return 0.5;
  };
  hooks.interrupted = [&] { return signal; };
  auto trainer = course.trainer(one.strategy, folder.path("run"), {.max_epochs = 1}, hooks);
  CHECK(trainer.run() == Ended::interrupted);
  CHECK(trainer.epochs() == 1);
  signal = false;
  CHECK(trainer.run() == Ended::max_epochs);
  CHECK(std::ssize(course.log.losses) == batches);
}

TEST_CASE("a signal while a run that ends within an epoch is evaluated ends it as interrupted") {
  const TemporaryFolder folder;
  Course whole, course;
  OneDevice<> one, first, second;
  whole.trainer(one.strategy, folder.path("whole"), {.max_updates = 6}, whole.hooks()).run();
  bool signal = false;
  auto hooks = course.hooks();
  hooks.after_epoch = [&](const EpochReport& report) { signal = report.epoch == 2; };
  hooks.interrupted = [&] { return signal; };
  {
    auto trainer =
        course.trainer(first.strategy, folder.path("run"), {.max_updates = 6}, std::move(hooks));
    CHECK(trainer.run() == Ended::interrupted);
    signal = false;
    CHECK(trainer.run() == Ended::max_updates);
  }
  auto trainer =
      course.trainer(second.strategy, folder.path("run"), {.max_updates = 6}, course.hooks());
  trainer.resume();
  CHECK(trainer.run() == Ended::max_updates);
  CHECK(std::ssize(course.log.losses) == 6);
  CHECK(files_in(folder.path("run")) == files_in(folder.path("whole")));
}

TEST_CASE("scores are not compared with the losses of a run that had none") {
  const TemporaryFolder folder;
  Course course;
  OneDevice<> one, other;
  course.trainer(one.strategy, folder.path("run"), {.max_epochs = 1}, {}).run();
  std::vector<bool> best;
  TrainerHooks hooks;
  hooks.score = [] { return 0.2; };  // less than the loss was
  hooks.after_epoch = [&](const EpochReport& report) { best.push_back(report.best); };
  auto trainer = course.trainer(other.strategy, folder.path("run"), {.max_epochs = 3}, hooks);
  trainer.resume();
  trainer.run();
  CHECK(best == std::vector{true, false});
}

TEST_CASE("a run that begins to have scores keeps the best model that there is") {
  const TemporaryFolder folder;
  const RunFolder files(folder.path("run"));
  Course course;
  {
    OneDevice<> one;
    course.trainer(one.strategy, files.path(), {.max_epochs = 1}, {}).run();
  }
  const auto best = bytes_of(files.best());
  for (int part = 0; part < 2; ++part) {  // the first one's state has no best score
    OneDevice<> one;
    auto hooks = course.hooks(/*interrupt_after=*/1);
    hooks.score = [] { return 1.0; };
    auto trainer = course.trainer(one.strategy, files.path(), {.max_epochs = 5}, hooks);
    trainer.resume();
    CHECK(trainer.run() == Ended::interrupted);
    CHECK(bytes_of(files.best()) == best);
  }
}

TEST_CASE("what a program says of a model stands in no way of what a state says of itself") {
  const TemporaryFolder folder;
  Course course;
  const TrainerSettings settings{
      .max_epochs = 1, .model_metadata = {{"loss_scale", "dynamic"}, {"run/data", "wmt"}}};
  OneDevice<> one, other;
  course.trainer(one.strategy, folder.path("run"), settings, {}).run();
  auto trainer = course.trainer(other.strategy, folder.path("run"), settings, {});
  trainer.resume();
  CHECK(trainer.run() == Ended::max_epochs);
}

TEST_CASE("a function of the update is a schedule") {
  const TemporaryFolder folder;
  const Course course;
  OneDevice<> one;
  std::vector<double> rates;
  TrainerHooks hooks;
  hooks.after_update = [&](const UpdateReport& report) { rates.push_back(report.rate); };
  Trainer trainer(one.strategy, TranslationData(course.train, course.valid, rule), rising_rate,
                  RunFolder(folder.path("run")), {.max_updates = 2}, hooks);
  trainer.run();
  CHECK(rates == std::vector<double>{0.25, 0.5});
}

TEST_CASE("a validation set without a label that counts is named") {
  const TemporaryFolder folder;
  OneDevice<> one;
  Trainer trainer(one.strategy, OwnData<true>(), noam, RunFolder(folder.path("run")), {});
  CHECK(message_of<DataError>([&] { return trainer.validate(); }) ==
        "trainer: no label of the validation set counts");
}

TEST_CASE("what cannot be saved is refused before the first update") {
  const TemporaryFolder folder;
  const Course course;
  OneDevice<> one;
  for (const auto& settings : {TrainerSettings{.facts = {{"source", "caf\xe9.en"}}},
                               TrainerSettings{.model_metadata = {{"source", "caf\xe9.en"}}}}) {
    CHECK(message_of<ArgumentError>([&] {
            (void)course.trainer(one.strategy, folder.path("run"), settings, {});
            return 0;
          }) == "safetensors: \"caf?.en\" is not UTF-8");
  }
}

}  // namespace trainer_tests
