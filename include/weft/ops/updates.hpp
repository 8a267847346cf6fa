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

//! from + share (to - from), from the nearer of the two, as torch.lerp: `to` itself where the share
//! is 1.
template <class Value>
WEFT_HOST_DEVICE WEFT_INLINE Value lerp(Value from, Value to, float share) {
  return share < 0.5f ? from + (to - from) * share : to - (to - from) * (1.0f - share);
}

//! What Adam reads of a parameter.
template <class Value>
struct AdamNumbers {
  Value value, first_moment, second_moment, gradient;
};

template <class Value>
WEFT_HOST_DEVICE WEFT_INLINE AdamNumbers<Value> adam_numbers(Value value, Value m, Value v,
                                                             Value gradient) {
  return {value, m, v, gradient};
}

struct AdamPiece {
  AdamStep s;
  const float* gradients;
  float* values;
  float* first_moments;
  float* second_moments;
  AnyFloats<void> rounded;  // may be null

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t first, index_t count) const {
    if (is_left_out(s)) return;
    const float scale = scale_of(s);
    // Roots and quotients are found as they are put: a GPU's have branches, behind which nothing
    // more would be read.
    const auto read = [&](auto c) {
      return adam_numbers(simd::load(values + first, c), simd::load(first_moments + first, c),
                          simd::load(second_moments + first, c), simd::load(gradients + first, c));
    };
    lanes.map(count, read, [&](auto c, auto of) {
      const auto g = of.gradient * scale + of.value * s.coupled_decay;
      const auto m = lerp(of.first_moment, g, s.share1);
      const auto v = of.second_moment * s.beta2 + g * g * s.share2;
      auto value = of.value * s.decoupled_factor;
      value -= m * s.step_size / (simd::sqrt(v) * s.inverse_sqrt_correction + s.epsilon);
      simd::store(first_moments + first, c, m);
      simd::store(second_moments + first, c, v);
      simd::store(values + first, c, value);
      if (rounded.data != nullptr) simd::store(rounded + first, c, value);
    });
  }
};

//! What SGD keeps of a parameter.
template <class Value>
struct SgdNumbers {
  Value value, velocity;
};

template <class Value>
WEFT_HOST_DEVICE WEFT_INLINE SgdNumbers<Value> sgd_numbers(const SgdStep& s, Value value,
                                                           Value velocity, Value gradient,
                                                           bool has_velocity) {
  const auto g = gradient + value * s.decay;
  velocity = has_velocity ? velocity * s.momentum + g : g;
  return {value - (s.nesterov ? g + velocity * s.momentum : velocity) * s.rate, velocity};
}

struct SgdPiece {
  SgdStep s;
  const float* gradients;
  float* values;
  float* velocities;        // null without momentum
  AnyFloats<void> rounded;  // may be null

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t first, index_t count) const {
    if (is_left_out(s)) return;
    const float scale = scale_of(s);
    const bool has_velocity = velocities != nullptr;
    const auto find = [&](auto c) {
      const auto value = simd::load(values + first, c);
      return sgd_numbers(s, value, has_velocity ? simd::load(velocities + first, c) : value,
                         simd::load(gradients + first, c) * scale, has_velocity);
    };
    lanes.map(count, find, [&](auto c, auto next) {
      if (has_velocity) simd::store(velocities + first, c, next.velocity);
      simd::store(values + first, c, next.value);
      if (rounded.data != nullptr) simd::store(rounded + first, c, next.value);
    });
  }
};

struct AveragePiece {
  float share;
  const float* device_scale;  // may be null
  const float* values;
  float* averages;

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t first, index_t count) const {
    if (is_left_out(*this)) return;
    const auto find = [&](auto c) {
      return lerp(simd::load(averages + first, c), simd::load(values + first, c), share);
    };
    lanes.map(count, find,
              [&](auto c, auto average) { simd::store(averages + first, c, average); });
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
  for_pieces(device, n, begin, end,
             detail::AdamPiece{step, gradients, values, first_moments, second_moments, rounded});
}

//! SGD over blocks `begin` to `end` - 1 of n parameters; `velocities` are zeros at first, and null
//! without momentum. The new values go to `rounded` too, unless it is null.
//!
//! **Source.** PyTorch's `torch.optim.SGD`: v = momentum v + g; value -= rate v.
template <class D>
void sgd_update(D& device, const SgdStep& step, index_t n, index_t begin, index_t end,
                const float* gradients, float* values, float* velocities,
                AnyFloats<void> rounded = {}) {
  for_pieces(device, n, begin, end, detail::SgdPiece{step, gradients, values, velocities, rounded});
}

//! averages += share (values - averages) over blocks `begin` to `end` - 1 of n parameters, unless
//! `device_scale` is not null and what it points to on the device is 0.
//!
//! **Cost.** Reads 8 bytes a parameter and writes 4.
template <class D>
void average_update(D& device, float share, const float* device_scale, index_t n, index_t begin,
                    index_t end, const float* values, float* averages) {
  for_pieces(device, n, begin, end, detail::AveragePiece{share, device_scale, values, averages});
}

}  // namespace weft::ops
