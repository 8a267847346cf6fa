// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Models as safetensors files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/core/chunks.hpp>
#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/shape.hpp>
#include <weft/io/safetensors_file.hpp>
#include <weft/io/safetensors_layout.hpp>
#include <weft/nn/initialize.hpp>
#include <weft/nn/parameter_layout.hpp>
#include <weft/train/file_of_ranks.hpp>
#include <weft/train/saved_tensors.hpp>
#include <weft/train/try_together.hpp>

namespace weft::train {

namespace detail {

//! The parameters of a part of a model that are kept in a file.
//!
//! **Errors.** Error if there are none, or the whole does not have them, where they are placed.
template <class Whole, class Part>
[[nodiscard]] std::vector<nn::NamedParameter> parameters_of_part(const Whole& whole,
                                                                 const Part& part) {
  auto parameters = saved_parameters(nn::named_parameters(part));
  if (parameters.empty()) {
    throw Error("a part without parameters: a tied weight is where it is declared");
  }
  std::map<index_t, Shape> places;
  for (const auto& [name, p] : nn::named_parameters(whole)) {
    if (p.size() > 0) places.emplace(p.value_offset, p.shape);
  }
  for (const auto& [name, p] : parameters) {
    nn::detail::expect_placed(p);
    const auto found = places.find(p.value_offset);
    if (p.size() > 0 && (found == places.end() || found->second != p.shape)) {
      throw Error(text("a part's parameter \"", name, "\" of shape ", p.shape,
                       " is none of this strategy's: the part is to be one of its objective()'s"));
    }
  }
  return parameters;
}

//! Reads all that a file keeps, under names that begin with `prefix`, of a part of a model that has
//! these values.
template <class Whole, class Part>
void read_part(const io::SafetensorsFile& file, const Whole& whole, const Part& part,
               std::span<float> values, std::string_view prefix = "") {
  if (is_state(file)) {
    throw FormatError(text(file.path(), ": is the state of a run, for load_state, and no model"));
  }
  const auto parameters = parameters_of_part(whole, part);
  const Range all[] = {{0, std::ssize(values)}};
  read_slices(file, parameters, prefix, all, [&](index_t i) { return values.data() + i; });
  const bool is_whole = static_cast<const void*>(&whole) == static_cast<const void*>(&part);
  std::vector<io::TensorEntry> read;
  append_tensors(read, parameters, prefix);
  expect_tensors(file, is_whole ? "the model" : "the part", read, prefix);
}

}  // namespace detail

//! Writes the parameters of a part of the model, such as `strategy.objective().model().encoder`,
//! under the names that they have in it. All ranks call it, and each writes its share.
//!
//! **Errors.** SystemError if the file cannot be written; an old one then stays as it was. Error if
//! the part has no parameters, or is none of this strategy's objective; ArgumentError for metadata
//! that are not UTF-8.
template <class Strategy, class Module>
void save_part(Strategy& strategy, const Module& part, const std::string& path,
               io::Metadata metadata) {
  metadata["format"] = "pt";
  const auto parameters = detail::parameters_of_part(strategy.objective(), part);
  std::vector<io::TensorEntry> tensors;
  detail::append_tensors(tensors, parameters, "");
  const io::SafetensorsLayout layout(std::move(tensors), metadata);
  FileOfRanks file(strategy, path, layout);
  const auto mine = strategy.saved_here();
  const detail::RangesOnHost values(strategy.state().values(), mine);
  detail::write_slices(file, parameters, "", mine, [&](index_t i) { return values.at(i); });
  file.commit();
}

//! Writes the parameters under their names. All ranks call it, and each writes its share.
//!
//! **Errors.** SystemError if the file cannot be written; an old one then stays as it was.
//! ArgumentError for metadata that are not UTF-8.
template <class Strategy>
void save_model(Strategy& strategy, const std::string& path, io::Metadata metadata) {
  save_part(strategy, strategy.objective(), path, std::move(metadata));
}

//! The values of a saved model, for programs that run it and have no strategy: what the file keeps,
//! and the tables that are computed.
//!
//! **Shapes.** `module` has its places in `layout`. Returns layout.values elements.
//! **Errors.** As `load_model`; Error if a parameter has no place.
template <class Module>
[[nodiscard]] std::vector<float> read_values(const io::SafetensorsFile& file, const Module& module,
                                             const nn::ParameterLayout& layout) {
  std::vector<float> values(static_cast<std::size_t>(layout.values));
  for (const auto& [name, p] : nn::named_parameters(module)) {
    nn::detail::expect_placed(p);
    if (!p.computed) continue;
    constexpr std::uint64_t no_seed = 0;  // nothing in a computed table is random
    nn::initialize(p, no_seed,
                   {values.data() + p.value_offset, static_cast<std::size_t>(p.size())});
  }
  detail::read_part(file, module, module, values);
  return values;
}

//! Reads a part of the model, as `save_part` wrote it; the rest stays as it is. All ranks call it.
//!
//! Of a file that has more, `prefix` is what precedes the names of the part's parameters in it:
//! with "encoder." those of another model's encoder are read. Returns the file's metadata. Where
//! the optimizer keeps a moving average, that of the part becomes what was read.
//!
//! **Errors.** As `load_model`; Error if the part has no parameters, or is none of this strategy's
//! objective.
template <class Strategy, class Module>
io::Metadata load_part(Strategy& strategy, const Module& part, const std::string& path,
                       std::string_view prefix = "") {
  strategy.state().expect_not_averaged("load_part");
  [[maybe_unused]] const auto whole = strategy.whole_values();
  const auto& values = strategy.state().values();
  std::vector<float> read = to_host(values);
  const auto metadata = try_together(strategy, [&] {
    const io::SafetensorsFile file(path);
    detail::read_part(file, strategy.objective(), part, read, prefix);
    return file.metadata();
  });
  detail::check_same_file(strategy, metadata);
  detail::set_elements(values, read);
  auto& state = strategy.state();
  if constexpr (std::remove_cvref_t<decltype(state)>::keeps_average) {
    const auto parameters = detail::parameters_of_part(strategy.objective(), part);
    detail::for_slices(parameters, "", state.owned(), [&](const auto&, index_t, Range slice) {
      values.device().copy(state.average().data() + state.place_of(slice.begin),
                           values.data() + slice.begin, slice.size() * index_t{sizeof(float)});
    });
    values.device().synchronize();
  }
  state.count_load();
  return metadata;
}

//! Reads what `save_model` wrote, and returns its metadata. All ranks call it.
//!
//! **Errors.** SystemError, FormatError; CommunicatorAborted where only other ranks could not read;
//! comm::RanksDiffer if ranks read files with other metadata. Nothing is changed then, on any rank.
//! A file with parameters that the model does not have is refused, since it is another model's.
template <class Strategy>
io::Metadata load_model(Strategy& strategy, const std::string& path) {
  return load_part(strategy, strategy.objective(), path);
}

}  // namespace weft::train
