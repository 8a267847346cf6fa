// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The version of these headers.
#pragma once

namespace weft {

//! The version of these headers, as meson.build has it.
inline constexpr const char* version = "0.1.0";

}  // namespace weft
