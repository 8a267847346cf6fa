// expect: what is asked about brings what the model reads
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/weft.hpp>

using namespace weft;

constexpr nn::TransformerShape shape{.d_model = 32, .heads = 4, .d_ff = 64};
using Model = nn::Transformer<shape>;
using Loss = Chunked<nn::Generator<shape>, nn::LabelSmoothing>;

struct Uncounted {
  nn::TranslationInput<> part(Cpu&, Range) const { return {}; }
};

auto ask(DataParallel<Model, Loss>& train, const Uncounted& batch) {
  return train::outputs(train, batch);
}
