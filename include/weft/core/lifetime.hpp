// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Marks arguments that must outlive what is made of them.
#pragma once

#include <weft/core/version.hpp>

#if defined(__clang__)
//! Behind an argument that the object refers to: clang warns where a temporary is given.
#define WEFT_LIFETIME_BOUND [[clang::lifetimebound]]
#else
#define WEFT_LIFETIME_BOUND
#endif
