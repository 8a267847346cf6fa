// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Small strategies and corpora to be trained, saved and compared.
#pragma once

#include <weft/core/index.hpp>
#include <weft/data/parallel_corpus.hpp>
#include <weft/device/cpu.hpp>
#include <weft/device/device_group.hpp>
#include <weft/io/safetensors.hpp>
#include <weft/optim/adam.hpp>
#include <weft/parallel/data_parallel.hpp>
#include <weft/parallel/gradient_accumulation.hpp>
#include <weft/testing/small_translation.hpp>
#include <weft/train/device_batch.hpp>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace weft::testing {

inline constexpr parallel::Recipe small_recipe{
    .seed = 5, .lanes = 2, .micro_batches = 4, .clip_norm = 1.0};

//! GradientAccumulation and the device that it needs.
template <class Optimizer = optim::Adam>
struct OneDevice {
  Cpu device;
  GradientAccumulation<SmallModel, SmallLoss, Optimizer> strategy;

  explicit OneDevice(const parallel::Recipe& recipe = small_recipe)
      : strategy(device, small_objective(), Optimizer(), recipe) {}
};

//! DataParallel and the devices that it needs.
struct Devices {
  DeviceGroup<Cpu> group;
  DataParallel<SmallModel, SmallLoss> strategy;

  explicit Devices(int devices, const parallel::Recipe& recipe = small_recipe)
      : group(devices), strategy(group, small_objective(), optim::Adam(), recipe) {}
};

//! Everything that the next update depends on, but the data.
struct Contents {
  std::vector<std::vector<float>> buffers;
  index_t updates = 0;
  index_t skipped = 0;
  double loss_scale = 1.0;
  index_t good_updates = 0;

  friend bool operator==(const Contents&, const Contents&) = default;
};

template <class Strategy>
[[nodiscard]] Contents contents_of(const Strategy& strategy) {
  const auto& state = strategy.state();
  Contents contents{{to_host(state.values())},
                    state.updates(),
                    state.skipped(),
                    state.loss_scale().value(),
                    state.loss_scale().good_updates()};
  for (std::size_t i = 0; i < state.buffers; ++i) {
    contents.buffers.push_back(to_host(state.buffer(i)));
  }
  return contents;
}

//! Updates on batches `first` to `last` - 1.
template <class Strategy>
void train_on(Strategy& strategy, std::uint32_t first, std::uint32_t last) {
  for (std::uint32_t number = first; number < last; ++number) {
    const auto batch = random_translations(7, number);
    (void)strategy.step(train::DeviceBatch(batch), 0.003);
  }
}

[[nodiscard]] inline data::ParallelCorpus random_corpus(index_t sentences, std::uint32_t number) {
  const auto batch = random_translations(sentences, number);
  data::ParallelCorpus corpus;
  const auto add = [](data::TokenRows& rows, std::span<const token_t> words) {
    rows.append(words);
    rows.end_row();
  };
  for (index_t row = 0; row < sentences; ++row) {
    add(corpus.source, batch.source[row].first(batch.source[row].size() - 1));
    add(corpus.target, batch.target_input[row].subspan(1));
    corpus.pairs.push_back(row);
  }
  corpus.source_eos = corpus.target_eos = 3;
  corpus.target_bos = 2;
  return corpus;
}

[[nodiscard]] inline std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

using Files = std::map<std::string, std::string>;

//! The bytes of every file that a run saved.
[[nodiscard]] inline Files files_in(const std::string& folder) {
  Files files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files[entry.path().filename().string()] = bytes_of(entry.path().string());
  }
  files.erase("lock");  // of a trainer that still lives
  return files;
}

//! What a safetensors file holds, to be changed and written again.
struct FileContents {
  struct Tensor {
    std::string name;
    io::DType dtype;
    std::vector<index_t> shape;
    std::vector<std::byte> bytes;
  };
  std::vector<Tensor> tensors;
  io::Metadata metadata;

  explicit FileContents(const std::string& path) {
    const io::SafetensorsFile file(path);
    metadata = file.metadata();
    for (const auto& entry : file.tensors()) {
      auto& tensor = tensors.emplace_back(Tensor{entry.name, entry.dtype, entry.shape, {}});
      tensor.bytes.resize(static_cast<std::size_t>(entry.end - entry.begin));
      file.read_bytes(entry.name, tensor.bytes);
    }
  }

  [[nodiscard]] Tensor& operator[](const std::string& name) {
    for (Tensor& tensor : tensors) {
      if (tensor.name == name) return tensor;
    }
    throw std::runtime_error("no tensor " + name);
  }

  void write(const std::string& path) const {
    std::vector<io::StoredTensor> stored;
    for (const Tensor& tensor : tensors) {
      stored.push_back({tensor.name, tensor.dtype, tensor.shape, tensor.bytes});
    }
    io::write_safetensors(path, stored, metadata);
  }
};

}  // namespace weft::testing
