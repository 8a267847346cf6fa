// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
// With two.cpp: every header in two sources of one program, so that a function which is not inline
// is defined twice and does not link.
#include <weft/weft.hpp>

int two();

int main() { return two(); }
