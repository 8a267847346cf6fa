// expect: a schedule needs at least one micro-batch
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/parallel/schedule/one_forward_one_backward.hpp>

constexpr auto table = weft::OneForwardOneBackward<0>::table<2>();
