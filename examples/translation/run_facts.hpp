// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What the numbers of a run depend on.
#pragma once

#include "corpora.hpp"
#include "options.hpp"

#include <weft/comm/check_same.hpp>
#include <weft/parallel/recipe.hpp>
#include <weft/train/run_folder.hpp>

namespace translation {

//! What is the same on all ranks, and whenever the run goes on: options, words and texts.
weft::comm::Facts facts_of(const Options& options, const Corpora& corpora);

//! The recipe that options ask for. A run that goes on keeps the order of its sums, on however many
//! devices.
//!
//! **Errors.** FormatError where an option says another than the run that goes on has.
weft::parallel::Recipe recipe_of(const Options& options, const weft::train::RunFolder& folder);

}  // namespace translation
