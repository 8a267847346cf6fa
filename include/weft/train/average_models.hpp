// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The mean of several saved models.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/io/safetensors.hpp>

namespace weft::train {

//! Writes the mean of several saved models: parameter by parameter, in double. Of their metadata
//! what all have alike is kept: no single epoch's number or loss is the mean's.
//!
//! **Errors.** ArgumentError without models; FormatError unless all have the same tensors.
inline void average_models(std::span<const std::string> paths, const std::string& to) {
  if (paths.empty()) throw ArgumentError("average_models: no models");
  const io::SafetensorsFile first(paths.front());
  io::Metadata shared = first.metadata();
  std::vector<std::vector<double>> sums;
  for (const auto& path : paths) {
    const io::SafetensorsFile file(path);
    if (file.tensors().size() != first.tensors().size()) {
      throw FormatError(text(path, ": has ", file.tensors().size(), " tensors, ", first.path(),
                             " has ", first.tensors().size()));
    }
    std::erase_if(shared, [&](const auto& remark) {
      const auto found = file.metadata().find(remark.first);
      return found == file.metadata().end() || found->second != remark.second;
    });
    sums.resize(first.tensors().size());
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const auto& entry = first.tensors()[i];
      if (file.tensor(entry.name).shape != entry.shape) {
        throw FormatError(text(path, ": tensor \"", entry.name, "\" has the shape ",
                               io::detail::to_text(file.tensor(entry.name).shape), ", that of ",
                               first.path(), " has ", io::detail::to_text(entry.shape)));
      }
      index_t size = 1;
      for (const index_t extent : entry.shape) size *= extent;
      std::vector<float> values(static_cast<std::size_t>(size));
      file.read<float>(entry.name, std::span(values));
      sums[i].resize(values.size());
      for (std::size_t k = 0; k < values.size(); ++k) sums[i][k] += static_cast<double>(values[k]);
    }
  }
  std::vector<std::vector<float>> means;
  std::vector<io::StoredTensor> tensors;
  means.reserve(sums.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    auto& mean = means.emplace_back();
    for (const double sum : sums[i]) {
      mean.push_back(static_cast<float>(sum / static_cast<double>(paths.size())));
    }
    const auto& entry = first.tensors()[i];
    tensors.push_back(io::stored<float>(entry.name, entry.shape, mean));
  }
  io::write_safetensors(to, tensors, shared);
}

}  // namespace weft::train
