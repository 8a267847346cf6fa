// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Where a run is, and what it was called with, as the metadata of its state say it.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <set>
#include <string>

#include <weft/comm/check_same.hpp>
#include <weft/core/error.hpp>
#include <weft/core/sum_count.hpp>
#include <weft/core/text.hpp>
#include <weft/data/batch_position.hpp>
#include <weft/io/detail/messages.hpp>
#include <weft/io/metadata.hpp>
#include <weft/parallel/loss_sum.hpp>
#include <weft/train/early_stopping.hpp>

namespace weft::train {

//! What a run goes on from, beside its strategy's state.
struct RunPlace {
  data::BatchPosition position{};      //!< of the next batch
  parallel::LossSum epoch_loss{};      //!< of the epoch's batches so far
  bool has_epoch_to_evaluate = false;  //!< all its batches are done
  bool has_best = false;               //!< an epoch's model is the folder's best
  EarlyStoppingState stopping{};       //!< after the evaluations so far
};

namespace detail {

inline const std::string fact_prefix = "run/";

//! Writes a place; `best_of` is what the best model is chosen by: "loss" or "score".
inline void put_place(io::Metadata& metadata, const RunPlace& place, const std::string& best_of) {
  metadata["epoch"] = std::to_string(place.position.epoch);
  metadata["batch"] = std::to_string(place.position.batch);
  metadata["epoch_loss"] = text(place.epoch_loss.loss.value());
  metadata["epoch_tokens"] = std::to_string(place.epoch_loss.tokens.value());
  if (place.has_epoch_to_evaluate) metadata["epoch_to_evaluate"] = metadata["epoch"];
  if (place.has_best) metadata["has_best"] = "yes";
  metadata["epochs_without_improvement"] =
      std::to_string(place.stopping.evaluations_without_improvement);
  if (place.stopping.best) {
    metadata["best"] = text(*place.stopping.best);
    metadata["best_of"] = best_of;
  }
}

//! Reads what `put_place` wrote into the state at `path`. A loss says nothing of a score: a run
//! that begins or ceases to have scores has no best yet. A state of an older version, which does
//! not say what its best is of, is taken for one like this run's.
//!
//! **Errors.** FormatError.
inline RunPlace place_in(const io::Metadata& metadata, const std::string& path,
                         const std::string& best_of) {
  RunPlace place;
  place.position = {io::number_in(metadata, path, "epoch"), io::number_in(metadata, path, "batch")};
  place.epoch_loss = {Sum<of::Loss>(io::real_in(metadata, path, "epoch_loss")),
                      Count<of::Tokens>(io::number_in(metadata, path, "epoch_tokens"))};
  place.has_epoch_to_evaluate = place.position.batch == 0 && metadata.contains("epoch_to_evaluate");
  place.has_best = metadata.contains("has_best") || metadata.contains("best");
  place.stopping.evaluations_without_improvement = static_cast<int>(
      io::number_in(metadata, path, "epochs_without_improvement", std::numeric_limits<int>::max()));
  if (metadata.contains("best")) {
    const double best = io::real_in(metadata, path, "best");
    if (std::isnan(best)) throw FormatError(text(path, ": its metadata has \"best\" ", best));
    place.stopping.best = best;
  }
  const auto was_best_of = metadata.find("best_of");
  if (was_best_of != metadata.end() && was_best_of->second != best_of) place.stopping = {};
  return place;
}

//! Writes what a run was called with.
inline void put_facts(io::Metadata& metadata, const comm::Facts& facts) {
  for (const auto& [name, value] : facts) metadata[fact_prefix + name] = value;
}

//! **Errors.** FormatError, with both values, unless what the state at `path` was saved with is
//! what this run has.
template <class Value>
void expect_as_saved(const std::string& path, const std::string& name, const Value& was,
                     const Value& is) {
  if (was == is) return;
  constexpr std::size_t most_bytes = 1000;
  throw FormatError(text(path, ": was saved by a run with ",
                         io::detail::readable(text(name, " ", was), most_bytes), ", this one has ",
                         is, ": the numbers would differ"));
}

//! **Errors.** FormatError, with both values, unless the state at `path` is of a run with these
//! facts.
inline void expect_facts(const io::Metadata& metadata, const std::string& path,
                         const comm::Facts& facts) {
  const std::string none = "(none)";
  std::set<std::string> expected;
  for (const auto& [name, value] : facts) {
    const auto found = metadata.find(fact_prefix + name);
    expect_as_saved(path, name, found == metadata.end() ? none : found->second, value);
    expected.insert(fact_prefix + name);
  }
  for (const auto& [name, value] : metadata) {
    if (!name.starts_with(fact_prefix) || expected.contains(name)) continue;
    expect_as_saved(path, name.substr(fact_prefix.size()), value, none);
  }
}

}  // namespace detail

}  // namespace weft::train
