// expect: an optimizer has a static update(device, step, part, gradients, values, state)
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/weft.hpp>

using namespace weft;

constexpr nn::TransformerShape shape{.d_model = 32, .heads = 4, .d_ff = 64};
using Model = nn::Transformer<shape>;
using Loss = Chunked<nn::Generator<shape>, nn::LabelSmoothing>;

struct Signs {
  struct Step {
    float rate;
  };
  static constexpr std::array<std::string_view, 0> state_names{};
  float decay = 0.1f;

  Step step(index_t, double rate, double) const { return {static_cast<float>(rate)}; }
  template <class D>
  void update(D&, const Step&, optim::Part, const float*, float*,
              const std::array<float*, 0>&) const {}
};

void step(GradientAccumulation<Model, Loss, Signs>& train, const data::TranslationBatch& batch) {
  (void)train.step(train::DeviceBatch(batch), 0.001);
}
