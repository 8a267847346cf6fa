// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Whether an operation replaces its result or adds to it.
#pragma once

namespace weft::ops {

//! Gradients accumulate over the micro-batches of an update; the first one replaces, which saves a
//! pass of zeros.
enum class Write : bool { replace = false, accumulate = true };

}  // namespace weft::ops
