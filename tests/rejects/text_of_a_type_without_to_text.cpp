// expect: no matching function for call to 'append_text
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/core/text.hpp>

struct Opaque {};

const std::string message = weft::text("a value without words: ", Opaque{});
