// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// Trains a Transformer to translate German number words, dates, times and prices into English, by
// data parallelism over two logical devices, and has it translate sentences that it never saw.
//
//     demo [--summary FILE] [--updates N]

#include "../common/report_errors.hpp"
#include "curve.hpp"

#include <weft/core/clock.hpp>
#include <weft/core/version.hpp>
#include <weft/data/german_english/corpus.hpp>
#include <weft/data/loader.hpp>
#include <weft/data/parallel_corpus.hpp>
#include <weft/data/vocabulary.hpp>
#include <weft/nn/criteria.hpp>
#include <weft/nn/generator.hpp>
#include <weft/nn/transformer.hpp>
#include <weft/optim/schedules.hpp>
#include <weft/parallel/chunked.hpp>
#include <weft/parallel/data_parallel.hpp>
#include <weft/train/device_batch.hpp>
#include <weft/train/progress.hpp>
#include <weft/train/translate.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <fstream>
#include <span>
#include <string>
#include <vector>

using namespace weft;

namespace {

constexpr nn::TransformerShape shape{
    .d_model = 128, .heads = 4, .d_ff = 256, .encoder_layers = 2, .decoder_layers = 2};
using Model = nn::Transformer<shape>;
using Loss = Chunked<nn::Generator<shape>, nn::LabelSmoothing>;
using Strategy = DataParallel<Model, Loss>;

data::Vocabulary vocabulary_of(const std::vector<std::string>& lines) {
  data::WordCounts counts;
  for (const auto& line : lines) counts.add_line(line);
  return data::build_vocabulary(counts);
}

void run(index_t updates, const std::string& summary_path) {
  const double begin = monotonic_seconds();
  const auto text_pairs = data::german_english::generate_corpus(1, 120'000);
  const auto german = vocabulary_of(text_pairs.training.source);
  const auto english = vocabulary_of(text_pairs.training.target);
  const auto training = data::encode_text(text_pairs.training, german, english).corpus;
  auto held_out = data::encode_text(text_pairs.held_out, german, english).corpus;

  const DeviceGroup<Cpu> devices(2);
  Strategy strategy(
      devices,
      Strategy::Objective(Model({german.size(), english.size(), 64}, {.residual = 0.1f}),
                          nn::LabelSmoothing(0.1f)),
      optim::Adam({.beta1 = 0.9, .beta2 = 0.98, .epsilon = 1e-9}),
      {.seed = 1, .lanes = 2, .micro_batches = 2});

  std::printf(
      "%lld pairs to learn from, %lld to be judged by; %lld German and %lld English words\n",
      static_cast<long long>(training.size()), static_cast<long long>(held_out.size()),
      static_cast<long long>(german.size()), static_cast<long long>(english.size()));
  std::printf("DataParallel over 2 devices, %lld parameters; for example\n  %s\n  %s\n",
              static_cast<long long>(strategy.objective().layout().trained),
              text_pairs.training.source[0].c_str(), text_pairs.training.target[0].c_str());

  std::fflush(stdout);  // before the progress bar, which goes to stderr

  data::TranslationLoader loader(training, {.budget = 4096, .by_length = false}, 1);
  data::TranslationBatch batch;
  const optim::InverseSquareRoot schedule{.peak = 0.004, .warmup = 300};
  std::vector<double> losses;
  index_t tokens = 0;
  const double training_begin = monotonic_seconds();
  {
    train::Progress progress("training", updates, {.unit = "update"});
    for (index_t update = 1; update <= updates; ++update) {
      loader.next(batch);
      // A straight line down to 0 over the last third settles the weights.
      const double decay = std::min(
          1.0, 3.0 * static_cast<double>(updates - update + 1) / static_cast<double>(updates));
      const auto report = strategy.step(train::DeviceBatch(batch), schedule(update) * decay);
      losses.push_back(mean(report.loss.loss, report.loss.tokens).value());
      tokens += report.loss.tokens.value();
      progress.set_postfix(text("loss=", fixed(losses.back(), 3)));
      progress.advance();
    }
  }
  const double training_seconds = monotonic_seconds() - training_begin;
  std::printf("\n%s\n", demo::draw_curve(losses, 64, 12).c_str());

  const auto hypotheses =
      train::translate(strategy, held_out.source, german.eos(), {.beam = 4, .max_length_b = 60});
  index_t exact = 0;
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < hypotheses.size(); ++i) {
    const auto row = static_cast<index_t>(i);
    const auto reference = english.decode(held_out.target[row]);
    const auto output = english.decode(hypotheses[i].tokens);
    exact += output == reference ? 1 : 0;
    if (shown.size() < 12 && i % (hypotheses.size() / 12) == 0) {
      shown.push_back(text("  ", german.decode(held_out.source[row]), "\n    ",
                           output == reference ? "= " : "! ", output));
    }
  }
  std::puts("Sentences that it never saw ('=' exact, '!' not):");
  for (const auto& line : shown) std::puts(line.c_str());
  const double share = static_cast<double>(exact) / static_cast<double>(hypotheses.size());
  std::printf("\n%lld of %zu held-out sentences exact: %.2f %%\n", static_cast<long long>(exact),
              hypotheses.size(), 100.0 * share);
  std::printf("%.0f s in all, %.0f s of training, %.0f tokens a second\n",
              monotonic_seconds() - begin, training_seconds,
              static_cast<double>(tokens) / training_seconds);

  if (!summary_path.empty()) {
    const nlohmann::json summary{
        {"strategy", "data_parallel"},
        {"devices", 2},
        {"parameters", strategy.objective().layout().trained},
        {"updates", updates},
        {"seconds", monotonic_seconds() - begin},
        {"tokens_per_second", static_cast<double>(tokens) / training_seconds},
        {"train_loss", losses.back()},
        {"held_out", hypotheses.size()},
        {"exact_match", share}};
    std::ofstream file(summary_path);
    file << summary.dump(2) << '\n';
    if (!file.flush()) throw SystemError(text("cannot write ", summary_path));
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Learns to translate number words, dates, times and prices, and shows it.");
  app.set_version_flag("--version", std::string("weft ") + version);
  std::string summary;
  index_t updates = 800;
  app.add_option("--summary", summary, "Write the figures to this file as a JSON object");
  app.add_option("--updates", updates, "Updates to train")->check(CLI::Range(12, 100'000));
  CLI11_PARSE(app, argc, argv);
  return examples::report_errors([&] {
    run(updates, summary);
    return 0;
  });
}
