// expect: text: a part needs a function to_text beside its type
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/core/text.hpp>

struct Opaque {};

const std::string message = weft::text("a value without words: ", Opaque{});
