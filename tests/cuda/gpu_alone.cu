// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// Compiles every kernel for a GPU and none for a processor, with the warning that
// core/host_device.hpp silences: a kernel that calls the host would compile, and do anything.
#define WEFT_CHECK_HOST_CALLS
#include <weft/cuda.cuh>

#include <weft/ops/append.hpp>
#include <weft/ops/convert.hpp>
#include <weft/ops/softmax.hpp>
#include <weft/testing/small_translation.hpp>

using namespace weft;

using Adam = DataParallel<testing::SmallModel, testing::SmallLoss, optim::Adam, Cuda>;
using Sgd = GradientAccumulation<testing::SmallModel, testing::SmallLoss, optim::Sgd, Cuda>;

void every_kernel(Cuda& device, Adam& adam, Sgd& sgd, const data::TranslationBatch& batch,
                  const SequenceLayout<Cuda>& layout) {
  (void)adam.step(train::DeviceBatch(batch), 0.001);
  (void)sgd.step(train::DeviceBatch(batch), 0.001);

  const Tensor<float, Cuda> x;
  const View<const float> in = x;
  const View<float> out = x;
  const ops::DropoutMask mask;
  ops::softmax(device, in, out);
  ops::log_softmax(device, in, out);
  ops::softmax_backward(device, in, in, out);
  ops::append_rows(device, in, 1, {}, {}, out);
  ops::append_rows(device, 1, {}, out);
  ops::append_rows(device, ops::HeadRows<const float>(), {}, out);
  ops::copy(device, in, out);
  ops::convert(device, 1, static_cast<const float*>(nullptr), static_cast<Bfloat16*>(nullptr));
  ops::convert(device, 1, static_cast<const Bfloat16*>(nullptr), static_cast<float*>(nullptr));
  ops::convert(device, 1, static_cast<const float*>(nullptr), static_cast<Float16*>(nullptr));
  ops::convert(device, 1, static_cast<const Float16*>(nullptr), static_cast<float*>(nullptr));
  ops::bias_activation_dropout<ops::Activation::gelu>(device, mask, {}, in, in, out);
  ops::activation_dropout_backward<ops::Activation::gelu>(device, mask, {}, in, in, in, out);
  ops::bias_activation_dropout<ops::Activation::silu>(device, mask, {}, in, in, out);
  ops::activation_dropout_backward<ops::Activation::silu>(device, mask, {}, in, in, in, out);
  ops::bias_activation_dropout<ops::Activation::identity>(device, mask, {}, in, in, out);
  ops::residual(device, mask, {}, in, in, in, out);
  ops::position_backward(device, layout, in, out, ops::Write::replace);
}
