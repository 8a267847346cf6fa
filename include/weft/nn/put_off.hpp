// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Weight gradients that wait for a turn of their own.
#pragma once

#include <functional>
#include <utility>
#include <vector>

namespace weft::nn {

//! What a backward pass put off, in its order. It holds the activations that it needs.
class PutOff {
 public:
  //! Does `work` in its turn, behind what was put off before.
  void add(std::function<void()> work) { works_.push_back(std::move(work)); }

  //! Does it all, and forgets each part when it is done.
  void run() {
    for (auto& work : std::exchange(works_, {})) std::exchange(work, nullptr)();
  }

 private:
  std::vector<std::function<void()>> works_;
};

}  // namespace weft::nn
