// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Layers whose parameters need not be there all the time.
#pragma once

namespace weft::nn {

//! Hears which of a layout's units (its stacks' layers, see `ParameterLayout::units`) a pass works
//! on. A strategy whose ranks hold shares of the parameters has them there in between.
class UnitObserver {
 public:
  virtual ~UnitObserver() = default;

  //! Returns when the unit's parameters are there.
  virtual void enter(int unit) = 0;
  //! They are not used any more until the unit is entered again.
  virtual void leave(int unit) = 0;
};

}  // namespace weft::nn
