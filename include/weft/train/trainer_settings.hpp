// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What a Trainer is told, and what it tells.
#pragma once

#include <functional>
#include <optional>

#include <weft/comm/check_same.hpp>
#include <weft/core/index.hpp>
#include <weft/io/metadata.hpp>
#include <weft/parallel/recipe.hpp>
#include <weft/train/process_usage.hpp>

namespace weft::train {

//! When to stop, and what to keep.
struct TrainerSettings {
  index_t max_updates = 0;        //!< 0 for any number
  index_t max_epochs = 0;         //!< 0 for any number
  int patience = 0;               //!< epochs without improvement; 0 for any number
  index_t averaged_epochs = 1;    //!< how many of the last epochs' models are kept, to be averaged
  io::Metadata model_metadata{};  //!< written into every saved model
  bool check_finite = false;      //!< name the operation that makes a number that is not finite
  //! What the numbers depend on beside the recipe, such as options and fingerprints of the data: a
  //! run that goes on has the same.
  comm::Facts facts{};
};

//! What one update did.
struct UpdateReport {
  index_t update;             //!< from 1
  index_t epoch;              //!< from 1
  index_t batch;              //!< of the epoch, from 1
  index_t batches_in_epoch;   //!< of this epoch
  double rate;                //!< at which the update was made
  parallel::StepReport step;  //!< loss, norm, and whether it was left out
};

//! What an epoch did.
struct EpochReport {
  index_t epoch;                      //!< from 1
  index_t updates;                    //!< made since the run began
  index_t skipped;                    //!< left out since the run began
  double rate;                        //!< of the last update
  double train_loss;                  //!< per token, as the criterion smooths it
  double valid_loss;                  //!< the same on the validation set
  std::optional<double> valid_score;  //!< what `TrainerHooks::score` returned
  double seconds;                     //!< of training in this epoch
  double tokens_per_second;           //!< target tokens
  double exposed_share;               //!< of the seconds, in which this rank only waited for others
  Usage usage;                        //!< of processes and GPUs, from the last epoch's end on
  bool best;                          //!< of all epochs so far
};

//! Why a run ended.
enum class Ended { max_updates, max_epochs, patience, interrupted };

//! What a program adds to the loop; each may be empty.
struct TrainerHooks {
  //! called after each update
  std::function<void(const UpdateReport&)> after_update;
  //! called after each epoch, and where `max_updates` ends a run within one
  std::function<void(const EpochReport&)> after_epoch;
  //! A score of the model on the validation set, such as BLEU: higher is better. Without it the
  //! validation loss decides which model is the best. Every rank calls it; the first one's counts.
  std::function<double()> score;
  //! Asked after every update: true ends the run after saving its state.
  std::function<bool()> interrupted;
};

}  // namespace weft::train
