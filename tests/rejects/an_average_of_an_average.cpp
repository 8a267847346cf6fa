// expect: MovingAverage: the optimizer that it wraps keeps an average already
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/optim/adam.hpp>
#include <weft/optim/moving_average.hpp>

const weft::optim::MovingAverage<weft::optim::MovingAverage<weft::optim::Adam>> twice;
