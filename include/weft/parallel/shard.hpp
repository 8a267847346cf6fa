// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What ranks divide among themselves instead of holding all of it.
#pragma once

namespace weft::parallel {

//! Of what a rank holds its share only.
enum class Shard {
  nothing,          //!< it holds all
  optimizer_state,  //!< the optimizer's buffers
  gradients,        //!< and the gradients
  parameters,       //!< and the parameters, which are gathered layer by layer when they are used
};

//! The stages of ZeRO: `DistributedDataParallel<Model, Loss, Zero<2>>`.
template <int stage>
requires(stage >= 0 && stage <= 3) inline constexpr Shard Zero = Shard{stage};

}  // namespace weft::parallel

namespace weft {
using parallel::Zero;
}
