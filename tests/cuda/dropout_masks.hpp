// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What tests of a GPU drop.
#pragma once

#include <weft/ops/dropout.hpp>

namespace weft::testing {

inline const ops::DropoutMask nothing_dropped;
inline const ops::DropoutMask some_dropped(0.25f, RandomKey(7, 8), 30);

}  // namespace weft::testing
