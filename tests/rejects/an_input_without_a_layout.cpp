// expect: stages hand on a row for each of what the model reads, whose type needs a member layout
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/parallel/pipeline_parallel.hpp>
#include <weft/parallel/schedule/gpipe.hpp>
#include <weft/weft.hpp>

using namespace weft;

template <class D>
struct Weighed {
  TokenSequences<D> words;
  Tensor<float, D> weights;
};

struct Read {
  nn::Embedding<8> embedding;

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("embedding", self.embedding);
  }
  template <class D>
  using Saved = typename nn::Embedding<8>::template Saved<D>;

  template <class D>
  nn::Result<Rows<8, D>, Saved<D>> forward(nn::Context<D>& ctx, const Weighed<D>& x) const {
    return embedding.forward(ctx, x.words);
  }
  template <class D>
  void backward(nn::Context<D>& ctx, Saved<D>&& saved, const Rows<8, D>& dy) const {
    embedding.backward(ctx, std::move(saved), dy);
  }
};

struct Batch {
  index_t size() const { return 1; }
  std::uint64_t fingerprint() const { return 1; }
  template <class D>
  parallel::MicroBatch<Weighed<D>, D> part(D&, Range) const {
    return {};
  }
};

using Model = Pipe<GPipe<2>, Read, nn::LayerNorm<8>>;
using Loss = Chunked<nn::BasicGenerator<8>, nn::CrossEntropy>;

void step(PipelineParallel<Model, Loss>& train) { (void)train.step(Batch(), 0.001); }
