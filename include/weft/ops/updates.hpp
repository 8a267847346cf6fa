// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The updates of optimizers: one pass over the contiguous buffers.
#pragma once

#include <weft/core/any_floats.hpp>
#include <weft/core/host_device.hpp>
#include <weft/core/simd.hpp>
#include <weft/ops/blocks.hpp>

namespace weft::ops {

//! One step of Adam or AdamW, with everything that is the same for all parameters worked out.
struct AdamStep {
  float gradient_scale;           //!< 1 / count of tokens, times what clipping asks for
  float beta2;                    //!< decay of the second moment
  float share1;                   //!< 1 - beta1, not from a rounded beta: 0.999 would cost 1e-5
  float share2;                   //!< 1 - beta2
  float step_size;                //!< rate / (1 - beta1^t)
  float inverse_sqrt_correction;  //!< 1 / sqrt(1 - beta2^t)
  float epsilon;                  //!< added to the root of the second moment
  float coupled_decay;            //!< Adam: added to the gradient as decay * value
  float decoupled_factor;  //!< AdamW: the value is multiplied by 1 - rate * decay; 1 for Adam
  //! If not null, on the device: what gradients are multiplied by in place of `gradient_scale`; 0
  //! leaves all as it is.
  const float* device_scale = nullptr;
};

//! One step of stochastic gradient descent with momentum.
struct SgdStep {
  float gradient_scale;  //!< 1 / count of tokens, times what clipping asks for
  float rate;            //!< the learning rate
  float momentum;        //!< the share of the velocity that is kept
  float decay;           //!< added to the gradient as decay * value
  bool first;            //!< the buffer of the first step is the gradient itself, as in PyTorch
  bool nesterov;         //!< whether the gradient is looked up ahead
  //! As Adam's.
  const float* device_scale = nullptr;
};

namespace detail {

//! What gradients are multiplied by.
template <class Step>
WEFT_HOST_DEVICE float scale_of(const Step& step) {
  return step.device_scale == nullptr ? step.gradient_scale : *step.device_scale;
}

//! Whether a device found that nothing is to be changed.
template <class Step>
WEFT_HOST_DEVICE bool is_left_out(const Step& step) {
  return step.device_scale != nullptr && *step.device_scale == 0.0f;
}

struct AdamBlock {
  AdamStep s;
  const float* gradients;
  float* values;
  float* first_moments;
  float* second_moments;
  AnyFloats<void> rounded;  // may be null

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t first, index_t count, index_t) const {
    if (is_left_out(s)) return;
    const float scale = scale_of(s);
    lanes.for_each(count, [&](auto c) {
      auto value = simd::load(values + first, c);
      const auto g = simd::load(gradients + first, c) * scale + value * s.coupled_decay;
      const auto m = simd::load(first_moments + first, c);
      const auto v = simd::load(second_moments + first, c);
      const auto m_next = m + (g - m) * s.share1;
      const auto v_next = v * s.beta2 + g * g * s.share2;
      value = value * s.decoupled_factor;
      value -= m_next * s.step_size / (simd::sqrt(v_next) * s.inverse_sqrt_correction + s.epsilon);
      simd::store(first_moments + first, c, m_next);
      simd::store(second_moments + first, c, v_next);
      simd::store(values + first, c, value);
      if (rounded.data != nullptr) simd::store(rounded + first, c, value);
    });
  }
};

struct SgdBlock {
  SgdStep s;
  const float* gradients;
  float* values;
  float* velocities;        // null without momentum
  AnyFloats<void> rounded;  // may be null

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t first, index_t count, index_t) const {
    if (is_left_out(s)) return;
    const float scale = scale_of(s);
    lanes.for_each(count, [&](auto c) {
      const auto value = simd::load(values + first, c);
      auto g = simd::load(gradients + first, c) * scale + value * s.decay;
      if (velocities != nullptr) {
        const auto velocity = s.first ? g : simd::load(velocities + first, c) * s.momentum + g;
        simd::store(velocities + first, c, velocity);
        g = s.nesterov ? g + velocity * s.momentum : velocity;
      }
      const auto next = value - g * s.rate;
      simd::store(values + first, c, next);
      if (rounded.data != nullptr) simd::store(rounded + first, c, next);
    });
  }
};

}  // namespace detail

//! Adam over blocks `begin` to `end` - 1 of n parameters; the new values go to `rounded` too,
//! unless it is null.
//!
//! **Cost.** Reads 16 bytes a parameter and writes 12, with `rounded` 14.
//! **Source.** Kingma and Ba 2015, algorithm 1, in the form of PyTorch's `torch.optim.Adam`.
template <class D>
void adam_update(D& device, const AdamStep& step, index_t n, index_t begin, index_t end,
                 const float* gradients, float* values, float* first_moments, float* second_moments,
                 AnyFloats<void> rounded = {}) {
  for_blocks(device, n, begin, end,
             detail::AdamBlock{step, gradients, values, first_moments, second_moments, rounded});
}

//! SGD over blocks `begin` to `end` - 1 of n parameters; `velocities` is null without momentum. The
//! new values go to `rounded` too, unless it is null.
//!
//! **Source.** PyTorch's `torch.optim.SGD`: v = momentum v + g; value -= rate v.
template <class D>
void sgd_update(D& device, const SgdStep& step, index_t n, index_t begin, index_t end,
                const float* gradients, float* values, float* velocities,
                AnyFloats<void> rounded = {}) {
  for_blocks(device, n, begin, end, detail::SgdBlock{step, gradients, values, velocities, rounded});
}

}  // namespace weft::ops
