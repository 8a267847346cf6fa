// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What an option's number may be. What is refused is said with the option: "--tokens: needs
//! a positive whole number, not 0".
#pragma once

#include <weft/core/index.hpp>

#include <CLI/CLI.hpp>

namespace examples {

//! 1, 2, ...
CLI::Validator positive_whole_number();

//! 0, 1, 2, ...
CLI::Validator whole_number_from_0();

//! From `least` to `most`.
CLI::Validator whole_number(weft::index_t least, weft::index_t most);

//! Any that 64 bits hold.
CLI::Validator seed();

//! Above 0, and finite.
CLI::Validator positive_number();

//! 0 or above, and finite.
CLI::Validator number_from_0();

//! 0 or above, and below 1.
CLI::Validator share();

//! Above 0, and at most 1.
CLI::Validator share_above_0();

}  // namespace examples
