// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file All that a program on CPUs needs to compose a Transformer and a strategy, and to train.
//!
//! Ranks (weft/comm/launch_ranks.hpp, weft/parallel/distributed_data_parallel.hpp), pipelines
//! (weft/parallel/pipeline_parallel.hpp), weft/nn/checkpoint.hpp and weft/nn/frozen.hpp are
//! included by name. So is what needs a further library: corpora as JSON
//! (weft/data/json_pairs.hpp) and saved models (weft/io/safetensors.hpp,
//! weft/train/saved_model.hpp, saved_state.hpp, weft/train/trainer.hpp) need nlohmann-json,
//! subwords of SentencePiece (weft/data/sentence_piece.hpp) libsentencepiece.
#pragma once

#include <weft/core/chunks.hpp>
#include <weft/core/error.hpp>
#include <weft/core/fixed.hpp>
#include <weft/core/index.hpp>
#include <weft/core/philox.hpp>
#include <weft/core/shape.hpp>
#include <weft/core/sum_count.hpp>
#include <weft/core/text.hpp>
#include <weft/core/version.hpp>
#include <weft/data/loader.hpp>
#include <weft/data/parallel_corpus.hpp>
#include <weft/data/translation_batch.hpp>
#include <weft/data/vocabulary.hpp>
#include <weft/device/cpu.hpp>
#include <weft/device/device_group.hpp>
#include <weft/generate/beam_search.hpp>
#include <weft/generate/continue_texts.hpp>
#include <weft/generate/greedy_search.hpp>
#include <weft/nn/activations.hpp>
#include <weft/nn/criteria.hpp>
#include <weft/nn/decoder.hpp>
#include <weft/nn/dropout.hpp>
#include <weft/nn/encoder.hpp>
#include <weft/nn/generator.hpp>
#include <weft/nn/language_model.hpp>
#include <weft/nn/parameter_groups.hpp>
#include <weft/nn/residual.hpp>
#include <weft/nn/sequential.hpp>
#include <weft/nn/transformer.hpp>
#include <weft/optim/adam.hpp>
#include <weft/optim/moving_average.hpp>
#include <weft/optim/schedules.hpp>
#include <weft/optim/sgd.hpp>
#include <weft/parallel/chunked.hpp>
#include <weft/parallel/data_parallel.hpp>
#include <weft/parallel/gradient_accumulation.hpp>
#include <weft/parallel/primitives.hpp>
#include <weft/parallel/with_average.hpp>
#include <weft/tensor/tensor.hpp>
#include <weft/train/device_batch.hpp>
#include <weft/train/predict.hpp>
#include <weft/train/translate.hpp>
