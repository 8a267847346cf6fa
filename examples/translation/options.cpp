// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include "../common/number_checks.hpp"

#include <CLI/CLI.hpp>

#include <cstdlib>
#include <map>
#include <string>

namespace translation {

namespace {

void add_corpus(CLI::App& app, CorpusOptions& corpus, const std::string& prefix,
                const std::string& what) {
  const std::string group = "The " + what;
  app.add_option("--" + prefix + "source", corpus.source, "Sentences, one a line; may be gzip")
      ->group(group);
  app.add_option("--" + prefix + "target", corpus.target, "Their translations, line by line")
      ->group(group);
  app.add_option("--" + prefix + "tsv", corpus.tsv,
                 "Instead: a file with sentence, tab, translation in each line")
      ->group(group);
  app.add_option("--" + prefix + "json", corpus.json,
                 "Instead: a JSON list of pairs, [[\"...\", \"...\"], ...]")
      ->group(group);
}

void add_search(CLI::App& app, TranslateOptions& options) {
  const std::string group = "Searching";
  app.add_option("--model", options.model, "best, average, or the path of a .safetensors file")
      ->group(group);
  app.add_option("--beam", options.beam, "Width of the beam; 1 is greedy search")
      ->check(examples::positive_whole_number())
      ->group(group);
  app.add_option("--length-penalty", options.length_penalty,
                 "Scores are divided by length to the power of this")
      ->group(group);
  app.add_option("--max-length", options.max_length, "The most tokens of a translation")
      ->check(examples::positive_whole_number())
      ->group(group);
  app.add_option("--batch", options.batch, "Sentences that are searched together")
      ->check(examples::positive_whole_number())
      ->group(group);
  examples::add_product_precision(app, options.product_precision,
                                  "Round the factors of matrix products; fastest measures, and "
                                  "takes bfloat16 where it is faster",
                                  group);
  app.add_flag("--truncate", options.truncate,
               "Cut sentences that are longer than the model's positions");
  app.add_flag("--join-subwords", options.join_subwords,
               "Join what '@@ ' splits (subword-nmt) in the output, where the corpus was cut; what "
               "--subwords cut is joined anyway");
}

void add_train(CLI::App& app, TrainOptions& o) {
  app.add_option("folder", o.folder, "The folder for the model, its vocabulary and its state")
      ->required();
  add_corpus(app, o.train, "", "training corpus");
  add_corpus(app, o.valid, "valid-", "validation corpus");

  const std::map<std::string, weft::data::TooLong> too_long{
      {"refuse", weft::data::TooLong::refuse},
      {"drop", weft::data::TooLong::drop},
      {"truncate", weft::data::TooLong::truncate}};
  const std::string data = "Data";
  app.add_option("--subwords", o.subwords,
                 "Cut words by this file: a SentencePiece model if its name ends with .model or "
                 ".spm, else codes of subword-nmt. It is kept in the folder")
      ->group(data);
  app.add_option("--train-subwords", o.train_subwords,
                 "Instead: cut words by a SentencePiece model of so many pieces, found in the "
                 "training corpus first; 0: none")
      ->check(examples::whole_number_from_0())
      ->group(data);
  app.add_option("--minimum-count", o.minimum_count, "Rarer words are unknown")
      ->check(examples::whole_number_from_0())
      ->group(data);
  app.add_option("--vocabulary", o.vocabulary, "The most words, special ones included")
      ->check(examples::positive_whole_number())
      ->group(data);
  app.add_option("--longest", o.longest, "The most tokens of a sentence, its end included")
      ->check(examples::whole_number(2, 65536))
      ->group(data);
  app.add_option("--too-long", o.too_long, "Longer sentences: refuse, drop or truncate")
      ->transform(CLI::CheckedTransformer(too_long).description("refuse, drop, truncate"))
      ->default_str("refuse")
      ->group(data);
  app.add_option("--tokens", o.tokens, "Target tokens of an update")
      ->check(examples::positive_whole_number())
      ->group(data);
  app.add_flag("--by-length", o.by_length, "Sentences of like length together")->group(data);

  const std::string recipe = "Training";
  app.add_option("--dropout", o.dropout, "Probability of dropout, of embeddings and branches")
      ->check(examples::share())
      ->group(recipe);
  app.add_option("--attention-dropout", o.attention_dropout,
                 "Probability of dropout, of attention weights")
      ->check(examples::share())
      ->group(recipe);
  app.add_option("--activation-dropout", o.activation_dropout,
                 "Probability of dropout, inside feed-forward networks")
      ->check(examples::share())
      ->group(recipe);
  app.add_option("--label-smoothing", o.label_smoothing,
                 "The share of the target that goes to all words alike")
      ->check(examples::share())
      ->group(recipe);
  app.add_option("--schedule", o.schedule, "Of the rate: inverse-sqrt, noam or constant")
      ->check(CLI::IsMember({"inverse-sqrt", "noam", "constant"}))
      ->group(recipe);
  app.add_option("--rate", o.rate, "Its peak; for noam the factor")
      ->check(examples::number_from_0())
      ->group(recipe);
  app.add_option("--warmup", o.warmup, "Updates until the peak")
      ->check(examples::whole_number_from_0())
      ->group(recipe);
  app.add_option("--clip-norm", o.clip_norm, "The gradient's largest norm; 0: any")
      ->check(examples::number_from_0())
      ->group(recipe);
  app.add_option("--weight-decay", o.weight_decay, "This times a value is added to its gradient")
      ->check(examples::number_from_0())
      ->group(recipe);
  app.add_option("--max-updates", o.max_updates, "Stop after so many; 0: any number")
      ->check(examples::whole_number_from_0())
      ->group(recipe);
  app.add_option("--max-epochs", o.max_epochs, "Stop after so many; 0: any number")
      ->check(examples::whole_number_from_0())
      ->group(recipe);
  app.add_option("--patience", o.patience, "Epochs without improvement; 0: any number")
      ->check(examples::whole_number_from_0())
      ->group(recipe);
  app.add_option("--average", o.average, "Models of the last epochs to average at the end")
      ->check(examples::positive_whole_number())
      ->group(recipe);
  app.add_flag("--score", o.score,
               "Translate the validation corpus after each epoch; its BLEU decides what is best")
      ->group(recipe);
  examples::add_seed(app, o.seed, "Of first values, dropout and the order of the data", recipe);

  const std::string order = "Order of sums (the numbers depend on it, not on the devices)";
  app.add_option("--lanes", o.lanes,
                 "Lanes of gradients; 0: as many as devices; with --resume as before")
      ->check(examples::whole_number(0, examples::most_parts))
      ->group(order);
  app.add_option("--micro-batches", o.micro_batches,
                 "Parts of a batch; 0: as many as lanes; with --resume as before")
      ->check(examples::whole_number(0, examples::most_parts))
      ->group(order);
  app.add_option("--chunk", o.chunk, "Positions whose logits are in memory at once")
      ->check(examples::positive_whole_number())
      ->group(order);

  examples::add_run_options(app, o.run);
  app.add_option("--summary", o.summary, "Write the run's figures to this file, a JSON object")
      ->group(examples::run_group);
}

void add_exchange(CLI::App& app, weft::Exchange& exchange, const std::string& strategy) {
  using weft::Order, weft::Wire;
  const std::map<std::string, Order> orders{{"canonical", Order::canonical}, {"fast", Order::fast}};
  const std::map<std::string, Wire> wires{{"float32", Wire::float32}, {"bfloat16", Wire::bfloat16}};
  const std::string group = "Between ranks";
  app.add_option("--order", exchange.order,
                 "Of adding gradients: canonical has the bits of one device, fast sends less")
      ->transform(CLI::CheckedTransformer(orders).description("canonical or fast"))
      ->default_str("canonical")
      ->group(group);
  app.add_option("--wire", exchange.wire, "What gradients are sent as: float32 or bfloat16")
      ->transform(CLI::CheckedTransformer(wires).description("float32 or bfloat16"))
      ->default_str("float32")
      ->group(group);
  if (strategy == "zero3") {
    app.add_option(
           "--reshard-after-forward", exchange.reshard_after_forward,
           "Give a layer's parameters back until the backward pass: less memory, more to send")
        ->group(group);
  }
}

void add_translate(CLI::App& app, TranslateOptions& options) {
  app.add_option("folder", options.folder, "The folder of the model")->required();
  add_search(app, options);
}

void add_evaluate(CLI::App& app, EvaluateOptions& options) {
  app.add_option("folder", options.translate.folder, "The folder of the model");
  add_corpus(app, options.corpus, "", "corpus to translate");
  add_search(app, options.translate);
  const auto of_a_model =
      app.get_options([&](const CLI::Option* option) { return option != app.get_help_ptr(); });
  const std::string group = "Text files instead of a model";
  auto* hypotheses =
      app.add_option("--hypotheses", options.hypotheses, "Translations, one a line")->group(group);
  auto* references =
      app.add_option("--references", options.references, "What they should be, line by line")
          ->group(group);
  hypotheses->needs(references);
  references->needs(hypotheses);
  for (CLI::Option* option : of_a_model) hypotheses->excludes(option);
  app.add_option("--tokenize", options.tokenize,
                 "As sacreBLEU: 13a, zh, char, none; multi-bleu: none, in its format")
      ->check(CLI::IsMember({"13a", "zh", "char", "none", "multi-bleu"}));
  app.add_option("--summary", options.summary, "Write the figures to this file, a JSON object");
}

}  // namespace

Options parse_options(int argc, char** argv, const std::string& strategy, const std::string& unit,
                      int default_devices, int most_devices) {
  CLI::App app("Trains Transformers to translate (strategy: " + strategy +
               "), translates with them, and scores translations.");
  examples::prepare_commands(app);
  Options options;
  options.devices = default_devices;
  app.add_option("--" + unit, options.devices,
                 unit == "ranks"
                     ? "Ranks that train, a device each: threads of this process, or those of "
                       "mpirun; translate and evaluate use one device"
                     : "Logical devices")
      ->check(examples::whole_number(1, most_devices));
  app.add_option("--threads", options.threads, "Threads of each device")
      ->check(examples::whole_number(1, 1024));
  if (unit == "ranks") {
    app.add_option("--timeout", options.timeout_s, "Seconds that a rank waits for another")
        ->check(examples::positive_number());
    add_exchange(app, options.exchange, strategy);
  }
  auto* train = app.add_subcommand("train", "Train a model");
  add_train(*train, options.train);
  auto* translate = app.add_subcommand("translate", "Translate lines from standard input");
  add_translate(*translate, options.translate);
  auto* evaluate = app.add_subcommand("evaluate", "Score a model, or a text, by BLEU");
  add_evaluate(*evaluate, options.evaluate);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  options.command = train->parsed()       ? Command::train
                    : translate->parsed() ? Command::translate
                                          : Command::evaluate;
  options.train.run.command_line = examples::command_line(argc, argv);
  return options;
}

}  // namespace translation
