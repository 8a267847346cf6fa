// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Small language models in stages, to be trained and compared.
#pragma once

#include <weft/nn/criteria.hpp>
#include <weft/nn/embedding.hpp>
#include <weft/nn/encoder.hpp>
#include <weft/nn/generator.hpp>
#include <weft/nn/layer_norm.hpp>
#include <weft/nn/parameter_groups.hpp>
#include <weft/nn/sequential.hpp>
#include <weft/parallel/chunked.hpp>
#include <weft/parallel/objective.hpp>
#include <weft/parallel/pipe.hpp>
#include <weft/testing/small_translation.hpp>

#include "words_batch.hpp"

#include <cstddef>
#include <tuple>
#include <utility>

namespace weft::testing {

inline constexpr index_t pipe_channels = 24;
inline constexpr nn::Dropouts pipe_dropouts{
    .residual = 0.2f, .attention = 0.1f, .activation = 0.15f};

using PipeEmbedding = nn::Embedding<pipe_channels>;
using PipeLayer = nn::EncoderLayer<pipe_channels, 3, 40, nn::Norm::pre, true>;
using PipeNorm = nn::LayerNorm<pipe_channels>;
using FirstStage = nn::Sequential<PipeEmbedding, PipeLayer>;
using LastStage = nn::Sequential<PipeLayer, PipeNorm>;

//! Stages with `layers` layers in all: the first has the embedding, the last the norm.
template <class Schedule, int stages>
struct SmallPipe;

template <class Schedule>
struct SmallPipe<Schedule, 1> {
  using Type = Pipe<Schedule, nn::Sequential<PipeEmbedding, PipeLayer, PipeNorm>>;
  static Type make() {
    return Type(nn::Sequential(PipeEmbedding(small_vocabulary, 24, 0.2f),
                               PipeLayer(pipe_dropouts, true), PipeNorm()));
  }
};

template <class Schedule, int stages>
requires(stages > 1) struct SmallPipe<Schedule, stages> {
  template <int>
  struct Middle {
    using Type = PipeLayer;
  };
  template <class Between>
  struct TypeOf;
  template <int... between>
  struct TypeOf<std::integer_sequence<int, between...>> {
    using Type = Pipe<Schedule, FirstStage, typename Middle<between>::Type..., LastStage>;
    static Type make() {
      const PipeLayer layer(pipe_dropouts, true);
      return Type(FirstStage(PipeEmbedding(small_vocabulary, 24, 0.2f), layer),
                  ((void)between, layer)..., LastStage(layer, PipeNorm()));
    }
  };
  using Made = TypeOf<std::make_integer_sequence<int, stages - 2>>;
  using Type = typename Made::Type;
  static Type make() { return Made::make(); }
};

//! With a generator of its own, or the embedding's weight.
template <bool tied>
using PipeLoss = Chunked<nn::BasicGenerator<pipe_channels, true, tied>, nn::LabelSmoothing>;

//! Weights decay, vectors do not, where an optimizer asks for it.
template <class Schedule, int stages, bool tied = false, bool frozen_embedding = false>
auto small_pipe_objective() {
  using Small = SmallPipe<Schedule, stages>;
  auto model = Small::make();
  if (frozen_embedding) nn::freeze(std::get<0>(std::get<0>(model.modules).modules));
  nn::decay_matrices_only(model);
  return parallel::Objective<typename Small::Type, PipeLoss<tied>>(std::move(model),
                                                                   nn::LabelSmoothing(0.1f), 5);
}

}  // namespace weft::testing
