// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Models and training states as safetensors files.
#pragma once

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/core/chunks.hpp>
#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/io/dtype.hpp>
#include <weft/io/safetensors_file.hpp>
#include <weft/io/safetensors_layout.hpp>
#include <weft/nn/initialize.hpp>
#include <weft/nn/parameter_layout.hpp>
#include <weft/optim/loss_scale.hpp>
#include <weft/parallel/recipe.hpp>
#include <weft/tensor/tensor.hpp>
#include <weft/train/file_of_ranks.hpp>

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

//! Appends the tensors that a buffer has for each parameter, named `prefix` and its path.
inline void append_tensors(std::vector<io::TensorEntry>& tensors,
                           const std::vector<nn::NamedParameter>& parameters,
                           std::string_view prefix) {
  for (const auto& [name, p] : parameters) {
    tensors.push_back({std::string(prefix) + name, io::dtype_of<float>, extents(p.shape)});
  }
}

//! Calls `f(tensor, first, elements)` for what a buffer of all parameters has, in some ranges, of
//! each of their tensors: its elements from `first` on, which lie at `elements` in the buffer.
template <class F>
void for_slices(const std::vector<nn::NamedParameter>& parameters, std::string_view prefix,
                std::span<const Range> ranges, const F& f) {
  for (const Range range : ranges) {
    for (const auto& [name, p] : parameters) {
      const Range slice{std::max(range.begin, p.value_offset),
                        std::min(range.end, p.value_offset + p.size())};
      if (slice.size() > 0) f(std::string(prefix) + name, slice.begin - p.value_offset, slice);
    }
  }
}

//! **Errors.** FormatError, naming the tensor, unless each is there with its type and shape.
inline void check_tensors(const io::SafetensorsFile& file,
                          const std::vector<nn::NamedParameter>& parameters,
                          std::string_view prefix) {
  for (const auto& [name, p] : parameters) {
    const auto& tensor = file.tensor(std::string(prefix) + name);
    if (tensor.shape != extents(p.shape)) {
      throw FormatError(text(file.path(), ": tensor \"", tensor.name, "\" has the shape ",
                             io::detail::to_text(tensor.shape), ", the model's has ", p.shape));
    }
  }
}

//! Reads what a buffer of all parameters has in some ranges; `at(i)` is where its element i goes.
//!
//! **Errors.** As check_tensors, and FormatError if one is of another type.
template <class At>
void read_slices(const io::SafetensorsFile& file, const std::vector<nn::NamedParameter>& parameters,
                 std::string_view prefix, std::span<const Range> ranges, const At& at) {
  check_tensors(file, parameters, prefix);
  for_slices(parameters, prefix, ranges,
             [&](const std::string& tensor, index_t first, Range slice) {
               file.read_part<float>(tensor, first,
                                     {at(slice.begin), static_cast<std::size_t>(slice.size())});
             });
}

//! The other way.
template <class Strategy, class At>
void write_slices(FileOfRanks<Strategy>& file, const std::vector<nn::NamedParameter>& parameters,
                  std::string_view prefix, std::span<const Range> ranges, const At& at) {
  for_slices(parameters, prefix, ranges,
             [&](const std::string& tensor, index_t first, Range slice) {
               file.template write<float>(
                   tensor, first, {at(slice.begin), static_cast<std::size_t>(slice.size())});
             });
}

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

//! The same of some of a tensor's elements, which alone have memory.
template <class D>
class RangesOnHost {
 public:
  //! Each range lies in the tensor.
  RangesOnHost(const Tensor<float, D>& tensor, const std::vector<Range>& ranges)
      : tensor_(&tensor) {
    if constexpr (!D::on_host) {
      for (const Range range : ranges) {
        const View<const float> part(tensor.data() + range.begin, {range.size()});
        copies_.emplace_back(range.begin, to_host(tensor.device(), part));
      }
    }
  }

  //! An element of one of the ranges, before the others of it.
  [[nodiscard]] const float* at(index_t i) const {
    if constexpr (D::on_host) {
      return tensor_->data() + i;
    } else {
      for (const auto& [begin, copy] : copies_) {
        if (begin <= i && i < begin + std::ssize(copy)) return copy.data() + (i - begin);
      }
      return nullptr;
    }
  }

 private:
  const Tensor<float, D>* tensor_;
  std::vector<std::pair<index_t, std::vector<float>>> copies_;
};

template <class D>
void set_elements(const Tensor<float, D>& tensor, const std::vector<float>& elements) {
  tensor.device().upload(tensor.data(), elements.data(),
                         std::ssize(elements) * index_t{sizeof(float)});
  tensor.device().synchronize();  // other devices may read it
}

//! **Errors.** FormatError unless the file, which has all that was read, has no more than that.
inline void expect_tensors(const io::SafetensorsFile& file, const char* owner, index_t count) {
  const index_t has = std::ssize(file.tensors());
  if (has != count) {
    throw FormatError(text(file.path(), ": has ", has, " tensors, ", owner, " has ", count));
  }
}

//! Whether a file has what `save_state` writes, and not a model alone.
inline bool is_state(const io::SafetensorsFile& file) {
  return std::ranges::any_of(file.tensors(),
                             [](const auto& tensor) { return tensor.name.starts_with("value/"); });
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
  throw FormatError(text(file.path(), ": was saved by an optimizer that keeps ", list(has),
                         ", this run's keeps ", list(needed)));
}

//! Reads all that a file keeps of a model whose values these are.
template <class Module>
void read_model(const io::SafetensorsFile& file, const Module& module, std::span<float> values) {
  if (is_state(file)) {
    throw FormatError(text(file.path(), ": is the state of a run, for load_state, and no model"));
  }
  const auto parameters = saved_parameters(nn::named_parameters(module));
  const Range all[] = {{0, std::ssize(values)}};
  read_slices(file, parameters, "", all, [&](index_t i) { return values.data() + i; });
  expect_tensors(file, "the model", std::ssize(parameters));
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

//! Writes the parameters under their names. All ranks call it, and each writes its share.
//!
//! **Errors.** SystemError if the file cannot be written; an old one then stays as it was.
template <class Strategy>
void save_model(Strategy& strategy, const std::string& path, io::Metadata metadata) {
  metadata["format"] = "pt";
  const auto parameters = detail::saved_parameters(nn::named_parameters(strategy.objective()));
  std::vector<io::TensorEntry> tensors;
  detail::append_tensors(tensors, parameters, "");
  const io::SafetensorsLayout layout(std::move(tensors), metadata);
  FileOfRanks file(strategy, path, layout);
  const auto mine = strategy.saved_here();
  const detail::RangesOnHost values(strategy.state().values(), mine);
  detail::write_slices(file, parameters, "", mine, [&](index_t i) { return values.at(i); });
  file.commit();
}

//! The values of a saved model, for programs that run it and have no strategy: what the file keeps,
//! and the tables that are computed.
//!
//! **Shapes.** `module` has its places in `layout`. Returns layout.values elements.
//! **Errors.** As `load_model`.
template <class Module>
[[nodiscard]] std::vector<float> read_values(const io::SafetensorsFile& file, const Module& module,
                                             const nn::ParameterLayout& layout) {
  std::vector<float> values(static_cast<std::size_t>(layout.values));
  for (const auto& [name, p] : nn::named_parameters(module)) {
    if (!p.computed) continue;
    constexpr std::uint64_t no_seed = 0;  // nothing in a computed table is random
    nn::initialize(p, no_seed,
                   {values.data() + p.value_offset, static_cast<std::size_t>(p.size())});
  }
  detail::read_model(file, module, values);
  return values;
}

//! Reads what `save_model` wrote, and returns its metadata. All ranks call it.
//!
//! **Errors.** SystemError, FormatError: nothing is changed then. A file with parameters that the
//! model does not have is refused, since it is another model's.
template <class Strategy>
io::Metadata load_model(Strategy& strategy, const std::string& path) {
  const io::SafetensorsFile file(path);
  [[maybe_unused]] const auto whole = strategy.whole_values();
  const auto& values = strategy.state().values();
  std::vector<float> read = to_host(values);
  detail::read_model(file, strategy.objective(), read);
  detail::set_elements(values, read);
  strategy.state().count_load();
  return file.metadata();
}

//! Writes parameters, the optimizer's buffers and the counters: everything that the next update
//! depends on, but the data and batches that were accumulated for it. The file does not depend on
//! the strategy, the number of devices or of ranks. All ranks call it, and each writes its share.
//!
//! **Errors.** As save_model.
template <class Strategy>
void save_state(Strategy& strategy, const std::string& path, io::Metadata metadata) {
  const auto& state = strategy.state();
  const auto parameters = detail::saved_parameters(nn::named_parameters(strategy.objective()));
  const auto trained = detail::trained_parameters(parameters);
  std::vector<io::TensorEntry> tensors;
  detail::append_tensors(tensors, parameters, "value/");
  for (std::size_t i = 0; i != state.buffers; ++i) {
    detail::append_tensors(tensors, trained, detail::buffer_prefix(state, i));
  }
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

//! The whole number, from 0 to `most`, that a file's metadata has under a name. **Errors.**
//! FormatError if there is none.
[[nodiscard]] inline index_t number_in(const io::Metadata& metadata, const std::string& path,
                                       const std::string& name, index_t most = index_t{1} << 53) {
  const auto number = detail::metadata_number<index_t>(metadata, path, name);
  if (number < 0 || number > most)
    throw FormatError(text(path, ": its metadata has \"", name, "\" ", number));
  return number;
}

//! The number that a file's metadata has under a name. **Errors.** FormatError if there is none.
[[nodiscard]] inline double real_in(const io::Metadata& metadata, const std::string& path,
                                    const std::string& name) {
  return detail::metadata_number<double>(metadata, path, name);
}

//! Reads what `save_state` wrote, and returns its metadata. The run goes on with the same bits;
//! batches that were accumulated are forgotten. All ranks call it.
//!
//! **Errors.** SystemError, FormatError; FormatError also if the state belongs to another recipe or
//! to an optimizer with other buffers. Nothing is changed then.
template <class Strategy>
io::Metadata load_state(Strategy& strategy, const std::string& path) {
  const io::SafetensorsFile file(path);
  if (!detail::is_state(file)) {
    throw FormatError(text(path, ": is no state of a run, as save_state writes it"));
  }
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
  const auto scaling = metadata.find("loss_scaling");  // that of older versions says nothing of it
  const std::string is_scaled = parallel::loss_scaling_text(recipe);
  if (scaling != metadata.end() && scaling->second != is_scaled) {
    throw FormatError(text(path, ": was saved by a run with loss_scaling ", scaling->second,
                           ", this one has ", is_scaled, ": the numbers would differ"));
  }
  const index_t updates = number_in(metadata, path, "updates");
  const index_t skipped = number_in(metadata, path, "skipped");
  // Runs that did not scale their losses, and those of older versions, leave the scale as it is.
  const bool has_scale = metadata.contains("loss_scale");
  const double loss_scale = has_scale ? real_in(metadata, path, "loss_scale") : 1.0;
  const index_t good_updates = has_scale ? number_in(metadata, path, "good_updates") : 0;
  if (!optim::LossScaling::allows(loss_scale)) {
    throw FormatError(text(path, ": its metadata has \"loss_scale\" ", loss_scale));
  }

  auto& state = strategy.state();
  const auto parameters = detail::saved_parameters(nn::named_parameters(strategy.objective()));
  const auto trained = detail::trained_parameters(parameters);
  if (!trained.empty()) detail::expect_buffers(file, state);
  std::vector<std::vector<float>> buffers;
  for (std::size_t i = 0; i != state.buffers; ++i) {
    auto& buffer = buffers.emplace_back(static_cast<std::size_t>(state.buffer(i).size()));
    detail::read_slices(file, trained, detail::buffer_prefix(state, i), state.owned(),
                        [&](index_t p) { return buffer.data() + state.place_of(p); });
  }
  [[maybe_unused]] const auto whole = strategy.whole_values();
  const Range all[] = {{0, state.values().size()}};
  std::vector<float> values = to_host(state.values());
  detail::read_slices(file, parameters, "value/", all,
                      [&](index_t i) { return values.data() + i; });
  detail::expect_tensors(
      file, "a state of this run",
      std::ssize(parameters) + static_cast<index_t>(state.buffers) * std::ssize(trained));

  detail::set_elements(state.values(), values);
  state.count_load();
  for (std::size_t i = 0; i != state.buffers; ++i) state.set_buffer(i, buffers[i]);
  state.set_counters(updates, skipped);
  if (has_scale) state.set_loss_scale(loss_scale, good_updates);
  return metadata;
}

}  // namespace weft::train
