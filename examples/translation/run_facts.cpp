// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include "run_facts.hpp"

#include "../common/run_options.hpp"

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/io/metadata.hpp>
#include <weft/io/safetensors_file.hpp>

#include <string>
#include <utility>

namespace translation {

namespace {

//! The options that the numbers of a run depend on, beside the recipe's.
weft::comm::Facts facts_of(const TrainOptions& o) {
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
weft::comm::Facts facts_of(const weft::Exchange& exchange) {
  weft::comm::Facts facts;
  if (exchange.order == weft::Order::fast) facts.emplace_back("--order", "fast");
  if (exchange.wire == weft::Wire::bfloat16) facts.emplace_back("--wire", "bfloat16");
  return facts;
}

//! A number of the run that goes on; `given` is what an option says, 0 for nothing.
//!
//! **Errors.** FormatError where the option says another: the recipe of both may make no sense.
weft::index_t as_before(const weft::io::Metadata& saved, const std::string& path,
                        const std::string& name, weft::index_t given) {
  const auto was = weft::io::number_in(saved, path, name, examples::most_parts);
  if (given == 0 || given == was) return was;
  throw weft::FormatError(weft::text(path, ": was saved by a run with ", name, " ", was,
                                     ", this one has ", given, ": the numbers would differ"));
}

}  // namespace

weft::comm::Facts facts_of(const Options& options, const Corpora& corpora) {
  auto facts = facts_of(options.train);
  for (const auto& fact : facts_of(options.exchange)) facts.push_back(fact);
  for (const auto& [name, value] : fingerprints(corpora.words)) facts.emplace_back(name, value);
  for (const auto& [name, encoded] :
       {std::pair("training", &corpora.training), std::pair("validation", &corpora.validation)}) {
    const auto& corpus = encoded->corpus;
    facts.emplace_back(weft::text(name, " sentences"), weft::text(corpus.pairs.size()));
    facts.emplace_back(weft::text(name, " text"), weft::text(weft::data::fingerprint(corpus)));
  }
  return facts;
}

weft::parallel::Recipe recipe_of(const Options& options, const weft::train::RunFolder& folder) {
  const TrainOptions& o = options.train;
  weft::index_t lanes = o.lanes > 0 ? o.lanes : options.devices, micro_batches = o.micro_batches;
  if (o.run.resume) {
    const auto saved = weft::io::SafetensorsFile(folder.state()).metadata();
    lanes = as_before(saved, folder.state(), "lanes", o.lanes);
    micro_batches = as_before(saved, folder.state(), "micro_batches", o.micro_batches);
  }
  return {.seed = o.seed,
          .lanes = lanes,
          .micro_batches = micro_batches > 0 ? micro_batches : lanes,
          .clip_norm = o.clip_norm,
          .loss_scaling = examples::loss_scaling_of(o.run)};
}

}  // namespace translation
