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

namespace detail {

template <int stage>
struct ZeroStage {
  static_assert(stage >= 0 && stage <= 3,
                "ZeRO has the stages Zero<0> to Zero<3>: ranks divide nothing, the optimizer's "
                "state, the gradients too, the parameters too");
  static constexpr Shard shard = Shard{stage};
};

}  // namespace detail

//! The stages of ZeRO: `DistributedDataParallel<Model, Loss, Zero<2>>`.
template <int stage>
inline constexpr Shard Zero = detail::ZeroStage<stage>::shard;

}  // namespace weft::parallel

namespace weft {
using parallel::Zero;
}
