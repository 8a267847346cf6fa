// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file States of runs as safetensors files: what a run goes on from with the same bits.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/core/chunks.hpp>
#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/io/detail/messages.hpp>
#include <weft/io/metadata.hpp>
#include <weft/io/safetensors_file.hpp>
#include <weft/io/safetensors_layout.hpp>
#include <weft/nn/parameter_layout.hpp>
#include <weft/optim/loss_scale.hpp>
#include <weft/parallel/recipe.hpp>
#include <weft/tensor/tensor.hpp>
#include <weft/train/file_of_ranks.hpp>
#include <weft/train/run_place.hpp>
#include <weft/train/saved_tensors.hpp>
#include <weft/train/try_together.hpp>

namespace weft::train {

namespace detail {

//! What stands before the names of the tensors of an optimizer's buffer.
template <class State>
std::string buffer_prefix(const State& state, std::size_t i) {
  return std::string(state.buffer_name(i)) + "/";
}

//! A tensor's elements where the host can read them: in place, or a copy.
template <class D>
const float* on_host(const Tensor<float, D>& tensor, std::vector<float>& copy) {
  if constexpr (D::on_host) return tensor.data();
  copy = to_host(tensor);
  return copy.data();
}

//! **Errors.** FormatError unless a file has the buffers that this state's optimizer has.
template <class State>
void expect_buffers(const io::SafetensorsFile& file, const State& state) {
  std::set<std::string_view> has, needed;
  for (const auto& tensor : file.tensors()) {
    has.insert(std::string_view(tensor.name).substr(0, tensor.name.find('/')));
  }
  has.erase("value");
  for (std::size_t i = 0; i != state.buffers; ++i) needed.insert(state.buffer_name(i));
  if (has == needed) return;
  const auto list = [](const std::set<std::string_view>& names) {
    std::string listed;
    for (const auto name : names) listed += (listed.empty() ? "" : ", ") + std::string(name);
    return listed.empty() ? std::string("nothing") : listed;
  };
  throw FormatError(text(file.path(), ": was saved by an optimizer that keeps ",
                         io::detail::readable(list(has)), ", this run's keeps ", list(needed)));
}

//! What a file has of parameters, and of what the optimizer keeps for those that are trained.
template <class State>
std::vector<io::TensorEntry> tensors_of_state(const State& state,
                                              const std::vector<nn::NamedParameter>& parameters,
                                              const std::vector<nn::NamedParameter>& trained) {
  std::vector<io::TensorEntry> tensors;
  append_tensors(tensors, parameters, "value/");
  for (std::size_t i = 0; i != state.buffers; ++i) {
    append_tensors(tensors, trained, buffer_prefix(state, i));
  }
  return tensors;
}

//! What `load_state` finds in a file.
struct ReadState {
  io::Metadata metadata{};
  index_t updates = 0, skipped = 0;
  bool has_scale = false;  // runs without one, and those of older versions, leave it as it is
  double loss_scale = 1.0;
  index_t good_updates = 0;
  std::vector<float> values{};
  std::vector<std::vector<float>> buffers{};  // this rank's shares
};

//! Reads a state of a strategy that has all values here, and changes nothing.
template <class Strategy>
ReadState read_state(const Strategy& strategy, const std::string& path) {
  const io::SafetensorsFile file(path);
  if (!is_state(file)) {
    throw FormatError(text(path, ": is no state of a run, as save_state writes it"));
  }
  const auto& metadata = file.metadata();
  const auto& recipe = strategy.recipe();
  const auto expect = [&](const std::string& name, auto is) {
    expect_as_saved(path, name, io::detail::metadata_number<decltype(is)>(metadata, path, name),
                    is);
  };
  expect("seed", recipe.seed);
  expect("lanes", recipe.lanes);
  expect("micro_batches", recipe.micro_batches);
  expect("clip_norm", recipe.clip_norm);
  const auto scaling = metadata.find("loss_scaling");  // that of older versions says nothing of it
  if (scaling != metadata.end()) {
    expect_as_saved(path, "loss_scaling", scaling->second, parallel::loss_scaling_text(recipe));
  }
  ReadState read{.metadata = metadata,
                 .updates = io::number_in(metadata, path, "updates"),
                 .skipped = io::number_in(metadata, path, "skipped"),
                 .has_scale = metadata.contains("loss_scale")};
  if (read.has_scale) {
    read.loss_scale = io::real_in(metadata, path, "loss_scale");
    read.good_updates = io::number_in(metadata, path, "good_updates");
  }
  if (!optim::LossScaling::allows(read.loss_scale)) {
    throw FormatError(text(path, ": its metadata has \"loss_scale\" ", read.loss_scale));
  }

  const auto& state = strategy.state();
  const auto parameters = saved_parameters(nn::named_parameters(strategy.objective()));
  const auto trained = trained_parameters(parameters);
  if (!trained.empty()) expect_buffers(file, state);
  for (std::size_t i = 0; i != state.buffers; ++i) {
    auto& buffer = read.buffers.emplace_back(static_cast<std::size_t>(state.buffer(i).size()));
    read_slices(file, trained, buffer_prefix(state, i), state.owned(),
                [&](index_t p) { return buffer.data() + state.place_of(p); });
  }
  const Range all[] = {{0, state.values().size()}};
  read.values = to_host(state.values());
  read_slices(file, parameters, "value/", all, [&](index_t i) { return read.values.data() + i; });
  expect_tensors(file, "a state of this run", tensors_of_state(state, parameters, trained));
  return read;
}

}  // namespace detail

//! Writes parameters, the optimizer's buffers and the counters: everything that the next update
//! depends on, but the data and batches that were accumulated for it. The file does not depend on
//! the strategy, the number of devices or of ranks. All ranks call it, and each writes its share.
//!
//! **Errors.** As save_model.
template <class Strategy>
void save_state(Strategy& strategy, const std::string& path, io::Metadata metadata) {
  const auto& state = strategy.state();
  state.expect_not_averaged("save_state");
  const auto parameters = detail::saved_parameters(nn::named_parameters(strategy.objective()));
  const auto trained = detail::trained_parameters(parameters);
  auto tensors = detail::tensors_of_state(state, parameters, trained);
  const auto& recipe = strategy.recipe();
  metadata["updates"] = std::to_string(state.updates());
  metadata["skipped"] = std::to_string(state.skipped());
  metadata["seed"] = std::to_string(recipe.seed);
  metadata["lanes"] = std::to_string(recipe.lanes);
  metadata["micro_batches"] = std::to_string(recipe.micro_batches);
  metadata["clip_norm"] = text(recipe.clip_norm);
  metadata["loss_scaling"] = parallel::loss_scaling_text(recipe);
  const auto& loss_scale = state.loss_scale();
  if (loss_scale.is_dynamic()) {
    metadata["loss_scale"] = text(loss_scale.value());
    metadata["good_updates"] = std::to_string(loss_scale.good_updates());
  }
  const io::SafetensorsLayout layout(std::move(tensors), metadata);
  FileOfRanks file(strategy, path, layout);
  const auto mine = strategy.saved_here();
  const detail::RangesOnHost values(state.values(), mine);
  detail::write_slices(file, parameters, "value/", mine, [&](index_t i) { return values.at(i); });
  std::vector<float> copy;
  for (std::size_t i = 0; i != state.buffers; ++i) {
    const float* const buffer = detail::on_host(state.buffer(i), copy);
    detail::write_slices(file, trained, detail::buffer_prefix(state, i), mine,
                         [&](index_t p) { return buffer + state.place_of(p); });
  }
  file.commit();
}

//! Reads what `save_state` wrote, and returns its metadata. The run goes on with the same bits;
//! batches that were accumulated are forgotten. All ranks call it.
//!
//! **Errors.** SystemError, FormatError; FormatError also if the state belongs to another recipe or
//! to an optimizer with other buffers; CommunicatorAborted where only other ranks could not read;
//! comm::RanksDiffer if ranks read files with other metadata. Nothing is changed then, on any rank.
template <class Strategy>
io::Metadata load_state(Strategy& strategy, const std::string& path) {
  strategy.state().expect_not_averaged("load_state");
  [[maybe_unused]] const auto whole = strategy.whole_values();
  const auto read = try_together(strategy, [&] { return detail::read_state(strategy, path); });
  detail::check_same_file(strategy, read.metadata);
  auto& state = strategy.state();
  detail::set_elements(state.values(), read.values);
  state.count_load();
  for (std::size_t i = 0; i != state.buffers; ++i) state.set_buffer(i, read.buffers[i]);
  state.set_counters(read.updates, read.skipped);
  if (read.has_scale) state.set_loss_scale(read.loss_scale, read.good_updates);
  return read.metadata;
}

}  // namespace weft::train
