// expect: each rank is given the whole batch, and ranks compare what they were given
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/parallel/distributed_data_parallel.hpp>
#include <weft/weft.hpp>

using namespace weft;

constexpr nn::TransformerShape shape{.d_model = 32, .heads = 4, .d_ff = 64};
using Train = DistributedDataParallel<nn::Transformer<shape>,
                                      Chunked<nn::Generator<shape>, nn::LabelSmoothing>>;

struct Sentences {
  index_t size() const { return 0; }
  parallel::MicroBatch<nn::TranslationInput<>, Cpu> part(Cpu&, Range) const { return {}; }
};

void step(Train& train, const Sentences& batch) { (void)train.step(batch, 0.001); }
