// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// A training program of one's own: it saves what another needs to translate, and goes on where it
// was stopped.
//
//     build/examples/guides/guide_train_and_load
//
// Prints:
//   epoch 1, best so far
//   epoch 2, best so far
//   goes on
//   epoch 3, best so far
//   another text is refused
//   2 sentences are translated

// [include]
#include <weft/train/trainer.hpp>
#include <weft/train/translation_data.hpp>
#include <weft/weft.hpp>
// [include]
#include <weft/data/german_english/corpus.hpp>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

// [include]
using namespace weft;
// [include]

// [objective]
constexpr nn::TransformerShape shape{
    .d_model = 32, .heads = 4, .d_ff = 64, .encoder_layers = 1, .decoder_layers = 1};
using Model = nn::Transformer<shape>;
using Loss = Chunked<nn::Generator<shape>, nn::LabelSmoothing>;
using Train = DataParallel<Model, Loss>;

Train::Objective objective(const data::Vocabulary& german, const data::Vocabulary& english) {
  const nn::TransformerSizes sizes{
      .source_vocabulary = german.size(), .target_vocabulary = english.size(), .longest = 64};
  return Train::Objective(Model(sizes), nn::LabelSmoothing(0.1f));
}
// [objective]

// [vocabulary]
data::Vocabulary vocabulary_of(const std::vector<std::string>& lines) {
  data::WordCounts counts;
  for (const auto& line : lines) counts.add_line(line);
  return data::build_vocabulary(counts);
}
// [vocabulary]

void train_model(const std::string& path, const data::ParallelText& train_text,
                 const data::ParallelText& valid_text, index_t epochs) {
  // [train]
  const auto german = vocabulary_of(train_text.source);
  const auto english = vocabulary_of(train_text.target);
  const auto training = data::encode_text(train_text, german, english).corpus;
  const auto validation = data::encode_text(valid_text, german, english).corpus;

  const train::RunFolder folder(path);
  const DeviceGroup<Cpu> devices(2);
  Train strategy(devices, objective(german, english), optim::Adam({.beta2 = 0.98}),
                 {.seed = 1, .lanes = 2, .micro_batches = 2});
  const train::TranslationData data(training, validation, {.budget = 2048});  // target tokens
  train::TrainerHooks hooks;
  hooks.after_epoch = [](const train::EpochReport& epoch) {
    std::printf("epoch %d%s\n", static_cast<int>(epoch.epoch), epoch.best ? ", best so far" : "");
  };
  const double peak = 0.004;
  const comm::Facts facts{{"peak rate", text(peak)},  // a run that goes on has the same
                          {"training text", text(data::fingerprint(training))}};
  train::Trainer trainer(strategy, data, optim::InverseSquareRoot{.peak = peak, .warmup = 100},
                         folder, {.max_epochs = epochs, .patience = 5, .facts = facts}, hooks);
  if (std::filesystem::exists(folder.state())) {
    trainer.resume();
    std::printf("goes on\n");
  }
  german.save(folder.vocabulary("source"));  // the folder is this run's
  english.save(folder.vocabulary("target"));
  trainer.run();
  // [train]
}

std::vector<std::string> translate(const std::string& path, const std::vector<std::string>& lines) {
  // [translate]
  const auto folder = train::RunFolder::existing(path);
  const auto german = data::Vocabulary::load(folder.vocabulary("source"));
  const auto english = data::Vocabulary::load(folder.vocabulary("target"));
  const DeviceGroup<Cpu> devices(2);
  Train strategy(devices, objective(german, english), optim::Adam(), {});
  train::load_model(strategy, folder.best());

  data::TokenRows sources;
  for (const auto& line : lines) {
    sources.append(german.encode(line));
    sources.end_row();
  }
  std::vector<std::string> translations;
  for (const auto& found :
       train::translate(strategy, sources, german.eos(), {.beam = 4, .max_length_b = 60})) {
    translations.push_back(english.decode(found.tokens));
  }
  // [translate]
  return translations;
}

int main() {
  const std::string path = "guide_train_and_load";
  std::filesystem::remove_all(path);
  const auto texts = data::german_english::generate_corpus(/*seed=*/1, /*count=*/1'500);
  train_model(path, texts.training, texts.held_out, 2);
  train_model(path, texts.training, texts.held_out, 3);
  try {
    train_model(path, texts.held_out, texts.held_out, 4);
  } catch (const FormatError&) {
    std::printf("another text is refused\n");
  }
  const auto translations = translate(path, {"drei euro", "um acht uhr"});
  std::printf("%zu sentences are translated\n", translations.size());
  std::filesystem::remove_all(path);
}
