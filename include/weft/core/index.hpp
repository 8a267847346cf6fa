// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The integer that counts elements.
#pragma once

#include <cstdint>

#include <weft/core/version.hpp>

namespace weft {

//! Counts elements, rows and bytes. Signed, so that differences and reversed loops are safe.
using index_t = std::int64_t;

//! Identifies a word of a vocabulary.
using token_t = std::int32_t;

}  // namespace weft
