// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include "../common/number_checks.hpp"

#include <CLI/CLI.hpp>

#include <cstdlib>
#include <map>
#include <string>

namespace language_model {

namespace {

void add_train(CLI::App& app, TrainOptions& o, bool has_stages) {
  const std::string data = "Data";
  app.add_option("--train", o.train, "Text to train on; may be gzip")->required()->group(data);
  app.add_option("--valid", o.valid, "Text that says after each epoch how good the model is")
      ->required()
      ->group(data);
  app.add_option("--test", o.test, "Text for the best model at the end")->group(data);
  app.add_option("--minimum-count", o.minimum_count, "Rarer words are unknown")
      ->check(examples::whole_number_from_0())
      ->group(data);
  app.add_option("--batch", o.batch, "Columns that the text is cut into, read side by side")
      ->check(examples::positive_whole_number())
      ->group(data);
  app.add_option("--valid-batch", o.valid_batch, "Columns of the other texts")
      ->check(examples::positive_whole_number())
      ->group(data);
  app.add_option("--bptt", o.bptt, "Words of a column in a batch")
      ->check(examples::whole_number(1, 65536))
      ->group(data);

  const std::string recipe = "Training";
  const std::map<std::string, bool> masks{{"causal", true}, {"none", false}};
  app.add_option("--mask", o.causal,
                 "causal: a word is told from those before it; none: it may be looked up, as in "
                 "PyTorch's tutorial")
      ->transform(CLI::CheckedTransformer(masks).description("causal or none"))
      ->default_str("causal")
      ->group(recipe);
  app.add_option("--dropout", o.dropout, "Probability of dropout, everywhere in the model")
      ->check(examples::share())
      ->group(recipe);
  app.add_option("--rate", o.rate, "Of SGD, in the first epoch")
      ->check(examples::number_from_0())
      ->group(recipe);
  app.add_option("--decay", o.decay, "Of the rate, after each epoch")
      ->check(examples::positive_number())
      ->group(recipe);
  app.add_option("--clip-norm", o.clip_norm, "The gradient's largest norm; 0: any")
      ->check(examples::number_from_0())
      ->group(recipe);
  app.add_option("--max-epochs", o.max_epochs, "Stop after so many")
      ->check(examples::positive_whole_number())
      ->group(recipe);
  app.add_option("--batches", o.batches, "An epoch's at most; 0: all")
      ->check(examples::whole_number_from_0())
      ->group(recipe);
  examples::add_seed(app, o.seed, "Of first values and dropout", recipe);

  using weft::parallel::Recompute;
  const std::map<std::string, Recompute> recomputes{{"never", Recompute::never},
                                                    {"except-last", Recompute::except_last},
                                                    {"always", Recompute::always}};
  const std::string order = "How it is computed";
  app.add_option("--micro-batches", o.micro_batches,
                 "Of each replica; 0: as many as the schedule has")
      ->check(examples::whole_number(0, examples::most_parts))
      ->group(order);
  app.add_option("--chunk", o.chunk, "Positions whose logits are in memory at once")
      ->check(examples::positive_whole_number())
      ->group(order);
  if (has_stages) {
    app.add_option("--recompute", o.recompute,
                   "Stages keep only their inputs: never, except-last (where it saves memory), always")
        ->transform(CLI::CheckedTransformer(recomputes).description("never, except-last, always"))
        ->default_str("never")
        ->group(order);
  }

  examples::add_run_options(app, o.run);
  app.add_option("--log-interval", o.log_interval, "Batches between lines")
      ->check(examples::positive_whole_number())
      ->group(examples::run_group);
}

void add_generate(CLI::App& app, GenerateOptions& o) {
  app.add_option("--prompt", o.prompt, "The words to go on from")->required();
  app.add_option("--words", o.words, "How many more")->check(examples::positive_whole_number());
  app.add_option("--temperature", o.sampling.temperature,
                 "0: always the most probable word; 1: by the model's probabilities")
      ->check(examples::number_from_0());
  app.add_option("--top-k", o.sampling.top_k, "Draw one of so many likeliest words; 0: of all")
      ->check(examples::whole_number_from_0());
  app.add_option("--top-p", o.sampling.top_p,
                 "Draw one of the fewest likeliest words with this probability together")
      ->check(examples::share_above_0());
  examples::add_seed(app, o.seed, "Of what is drawn");
}

}  // namespace

Options parse_options(int argc, char** argv, const std::string& strategy, int pipeline,
                      int default_ranks) {
  CLI::App app("Trains a language model (strategy: " + strategy + "), and lets it write.");
  examples::prepare_commands(app);
  Options options;
  options.ranks = default_ranks;
  if (pipeline > 0) {
    const auto whole_pipelines = [pipeline](const std::string& ranks) {
      return std::atoi(ranks.c_str()) % pipeline == 0
                 ? ""
                 : "a pipeline has " + std::to_string(pipeline) +
                       " ranks, so that several have a multiple of that, not " + ranks;
    };
    app.add_option("--ranks", options.ranks,
                   "Ranks that train, a device each: threads of this process, or those of "
                   "mpirun; generate uses one device")
        ->check(examples::whole_number(1, 1024))
        ->check(whole_pipelines);
    app.add_option("--timeout", options.timeout_s, "Seconds that a rank waits for another")
        ->check(examples::positive_number());
  }
  app.add_option("--threads", options.threads, "Threads of each device")
      ->check(examples::whole_number(1, 1024));
  auto* train = app.add_subcommand("train", "Train a model");
  train->add_option("folder", options.folder, "For the model, its vocabulary and its state")
      ->required();
  add_train(*train, options.train, pipeline > 0);
  auto* generate = app.add_subcommand("generate", "Go on with a text");
  generate->add_option("folder", options.folder, "The folder of the model")->required();
  add_generate(*generate, options.generate);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  options.command = train->parsed() ? Command::train : Command::generate;
  options.train.run.command_line = examples::command_line(argc, argv);
  return options;
}

}  // namespace language_model
