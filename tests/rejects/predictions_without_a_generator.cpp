// expect: predict takes a strategy whose loss has a generator of logits
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/weft.hpp>

using namespace weft;

struct NumbersOnly {
  struct {
    struct {
      int criterion;
    } parts;
    const auto& loss() const { return parts; }
  } all;
  const auto& objective() const { return all; }
};

auto run(NumbersOnly& train, const train::DeviceBatch& batch) {
  return train::predict(train, batch);
}
