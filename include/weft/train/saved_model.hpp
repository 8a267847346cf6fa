// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Models and training states as safetensors files.
#pragma once

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstring>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/io/safetensors.hpp>
#include <weft/nn/parameter_layout.hpp>
#include <weft/tensor/tensor.hpp>

namespace weft::train {

namespace detail {

inline std::vector<index_t> extents(const Shape& shape) {
  std::vector<index_t> list;
  for (int axis = 0; axis < shape.rank(); ++axis) list.push_back(shape[axis]);
  return list;
}

//! The parameters that are kept in a file.
inline std::vector<nn::NamedParameter> saved_parameters(std::vector<nn::NamedParameter> all) {
  std::erase_if(all, [](const auto& named) { return named.parameter.computed; });
  return all;
}

//! Those of them that an optimizer has state for.
inline std::vector<nn::NamedParameter> trained_parameters(std::vector<nn::NamedParameter> all) {
  std::erase_if(all, [](const auto& named) { return !named.parameter.trained; });
  return all;
}

//! Appends the parameters' slices of one buffer, named `prefix` and the parameter's path.
inline void append_slices(std::vector<io::StoredTensor>& tensors,
                          const std::vector<nn::NamedParameter>& parameters,
                          std::string_view prefix, std::span<const float> buffer) {
  for (const auto& [name, p] : parameters) {
    tensors.push_back(io::stored<float>(std::string(prefix) + name, extents(p.shape),
                                        buffer.subspan(static_cast<std::size_t>(p.value_offset),
                                                       static_cast<std::size_t>(p.size()))));
  }
}

//! The other way.
//!
//! **Errors.** FormatError, naming the tensor, unless each is there with its type and shape.
inline void read_slices(const io::SafetensorsFile& file,
                        const std::vector<nn::NamedParameter>& parameters, std::string_view prefix,
                        std::span<float> buffer) {
  for (const auto& [name, p] : parameters) {
    const std::string full = std::string(prefix) + name;
    if (file.tensor(full).shape != extents(p.shape)) {
      throw FormatError(text(file.path(), ": tensor \"", full, "\" has the shape ",
                             io::detail::to_text(file.tensor(full).shape), ", the model's has ",
                             p.shape));
    }
    file.read<float>(full, buffer.subspan(static_cast<std::size_t>(p.value_offset),
                                          static_cast<std::size_t>(p.size())));
  }
}

inline std::span<float> elements(const Tensor<float>& tensor) {
  return {tensor.data(), static_cast<std::size_t>(tensor.size())};
}

//! **Errors.** FormatError unless the file, which has all that was read, has no more than that.
inline void expect_tensors(const io::SafetensorsFile& file, const char* owner, index_t count) {
  const index_t has = std::ssize(file.tensors());
  if (has != count) {
    throw FormatError(text(file.path(), ": has ", has, " tensors, ", owner, " has ", count));
  }
}

template <class Number>
[[nodiscard]] Number metadata_number(const io::Metadata& metadata, const std::string& path,
                                     const std::string& name) {
  const auto found = metadata.find(name);
  if (found != metadata.end()) {
    Number value{};
    const char* const end = found->second.data() + found->second.size();
    const auto [stopped, error] = std::from_chars(found->second.data(), end, value);
    if (error == std::errc{} && stopped == end && !found->second.empty()) return value;
  }
  throw FormatError(text(path, ": its metadata has no ",
                         std::integral<Number> ? "whole number" : "number", " \"", name, "\""));
}

}  // namespace detail

//! Writes the parameters under their names. All ranks call it, and the first one writes.
//!
//! **Errors.** SystemError if the file cannot be written; an old one then stays as it was.
template <class Strategy>
void save_model(Strategy& strategy, const std::string& path, io::Metadata metadata) {
  [[maybe_unused]] const auto whole = strategy.whole_values();
  if (!strategy.is_root()) return;
  metadata["format"] = "pt";
  std::vector<io::StoredTensor> tensors;
  const auto parameters = detail::saved_parameters(nn::named_parameters(strategy.objective()));
  detail::append_slices(tensors, parameters, "", detail::elements(strategy.state().values()));
  io::write_safetensors(path, tensors, metadata);
}

//! Reads what `save_model` wrote, and returns its metadata. All ranks call it.
//!
//! **Errors.** SystemError, FormatError: nothing is changed then. A file with parameters that the
//! model does not have is refused, since it is another model's.
template <class Strategy>
io::Metadata load_model(Strategy& strategy, const std::string& path) {
  const io::SafetensorsFile file(path);
  const auto parameters = detail::saved_parameters(nn::named_parameters(strategy.objective()));
  [[maybe_unused]] const auto whole = strategy.whole_values();
  const auto values = detail::elements(strategy.state().values());
  std::vector<float> read(values.begin(), values.end());
  detail::read_slices(file, parameters, "", read);
  detail::expect_tensors(file, "the model", std::ssize(parameters));
  std::memcpy(values.data(), read.data(), values.size_bytes());
  return file.metadata();
}

//! Writes parameters, the optimizer's buffers and the counters: everything that the next update
//! depends on, but the data. The file does not depend on the strategy, the number of devices or of
//! ranks. All ranks call it, and the first one writes.
template <class Strategy>
void save_state(Strategy& strategy, const std::string& path, io::Metadata metadata) {
  const auto& state = strategy.state();
  const auto parameters = detail::saved_parameters(nn::named_parameters(strategy.objective()));
  const auto trained = detail::trained_parameters(parameters);
  std::vector<std::vector<float>> buffers;
  for (std::size_t i = 0; i < state.buffers; ++i) buffers.push_back(strategy.whole_buffer(i));
  [[maybe_unused]] const auto whole = strategy.whole_values();
  if (!strategy.is_root()) return;
  std::vector<io::StoredTensor> tensors;
  detail::append_slices(tensors, parameters, "value/", detail::elements(state.values()));
  for (std::size_t i = 0; i < state.buffers; ++i) {
    detail::append_slices(tensors, trained, std::string(state.buffer_name(i)) + "/", buffers[i]);
  }
  const auto& recipe = strategy.recipe();
  metadata["updates"] = std::to_string(state.updates());
  metadata["skipped"] = std::to_string(state.skipped());
  metadata["seed"] = std::to_string(recipe.seed);
  metadata["lanes"] = std::to_string(recipe.lanes);
  metadata["micro_batches"] = std::to_string(recipe.micro_batches);
  metadata["clip_norm"] = text(recipe.clip_norm);
  io::write_safetensors(path, tensors, metadata);
}

//! The whole number, 0 or more, that a file's metadata has under a name. **Errors.** FormatError if
//! there is none.
[[nodiscard]] inline index_t number_in(const io::Metadata& metadata, const std::string& path,
                                       const std::string& name) {
  const auto number = detail::metadata_number<index_t>(metadata, path, name);
  if (number < 0) throw FormatError(text(path, ": its metadata has \"", name, "\" ", number));
  return number;
}

//! The number that a file's metadata has under a name. **Errors.** FormatError if there is none.
[[nodiscard]] inline double real_in(const io::Metadata& metadata, const std::string& path,
                                    const std::string& name) {
  return detail::metadata_number<double>(metadata, path, name);
}

//! Reads what `save_state` wrote, and returns its metadata. The run goes on with the same bits. All
//! ranks call it.
//!
//! **Errors.** SystemError, FormatError; FormatError also if the state belongs to another recipe or
//! to an optimizer with other buffers. Nothing is changed then.
template <class Strategy>
io::Metadata load_state(Strategy& strategy, const std::string& path) {
  const io::SafetensorsFile file(path);
  const auto& metadata = file.metadata();
  const auto& recipe = strategy.recipe();
  const auto expect = [&](const std::string& name, auto is) {
    const auto was = detail::metadata_number<decltype(is)>(metadata, path, name);
    if (was != is) {
      throw FormatError(text(path, ": was saved by a run with ", name, " ", was, ", this one has ",
                             is, ": the numbers would differ"));
    }
  };
  expect("seed", recipe.seed);
  expect("lanes", recipe.lanes);
  expect("micro_batches", recipe.micro_batches);
  expect("clip_norm", recipe.clip_norm);
  const index_t updates = number_in(metadata, path, "updates");
  const index_t skipped = number_in(metadata, path, "skipped");

  auto& state = strategy.state();
  const auto parameters = detail::saved_parameters(nn::named_parameters(strategy.objective()));
  const auto trained = detail::trained_parameters(parameters);
  std::vector<std::vector<float>> buffers;
  for (std::size_t i = 0; i < state.buffers; ++i) {
    auto& buffer =
        buffers.emplace_back(static_cast<std::size_t>(strategy.objective().layout().trained));
    detail::read_slices(file, trained, std::string(state.buffer_name(i)) + "/", buffer);
  }
  [[maybe_unused]] const auto whole = strategy.whole_values();
  const auto now = detail::elements(state.values());
  std::vector<float> values(now.begin(), now.end());
  detail::read_slices(file, parameters, "value/", values);
  detail::expect_tensors(
      file, "a state of this run",
      std::ssize(parameters) + static_cast<index_t>(state.buffers) * std::ssize(trained));

  std::memcpy(state.values().data(), values.data(), values.size() * sizeof(float));
  for (std::size_t i = 0; i < state.buffers; ++i) state.set_buffer(i, buffers[i]);
  state.set_counters(updates, skipped);
  return metadata;
}

//! Writes the mean of several saved models: parameter by parameter, in double.
//!
//! **Errors.** ArgumentError without models; FormatError unless all have the same tensors.
inline void average_models(std::span<const std::string> paths, const std::string& to) {
  if (paths.empty()) throw ArgumentError("average_models: no models");
  const io::SafetensorsFile first(paths.front());
  std::vector<std::vector<double>> sums;
  for (const auto& path : paths) {
    const io::SafetensorsFile file(path);
    if (file.tensors().size() != first.tensors().size()) {
      throw FormatError(text(path, ": has ", file.tensors().size(), " tensors, ", first.path(),
                             " has ", first.tensors().size()));
    }
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
  io::write_safetensors(to, tensors, first.metadata());
}

}  // namespace weft::train
