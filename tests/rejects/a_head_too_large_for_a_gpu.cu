// expect: attention on a GPU takes heads of up to 256 channels: choose more heads
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/cuda.cuh>

using namespace weft;

constexpr nn::TransformerShape shape{.d_model = 1024, .heads = 2};  // of 512 channels
using Loss = Chunked<nn::Generator<shape>, nn::CrossEntropy>;
using Train = DataParallel<nn::Transformer<shape>, Loss, optim::Adam, Cuda>;

parallel::StepReport step(Train& train, const data::TranslationBatch& batch) {
  return train.step(train::DeviceBatch(batch), 0.001);
}
