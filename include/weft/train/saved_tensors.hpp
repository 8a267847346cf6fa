// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The tensors of a safetensors file that are buffers of all parameters: values, moments.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/comm/check_same.hpp>
#include <weft/core/chunks.hpp>
#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/shape.hpp>
#include <weft/io/detail/messages.hpp>
#include <weft/io/dtype.hpp>
#include <weft/io/metadata.hpp>
#include <weft/io/safetensors_file.hpp>
#include <weft/io/safetensors_layout.hpp>
#include <weft/nn/parameter_layout.hpp>
#include <weft/tensor/tensor.hpp>
#include <weft/train/file_of_ranks.hpp>

namespace weft::train {

namespace detail {

//! Throws on all ranks unless all have read a file with the same metadata: that of a rank's own
//! disk may be an older one.
template <class Strategy>
void check_same_file(Strategy& strategy, const io::Metadata& metadata) {
  comm::Facts facts;
  for (const auto& [name, value] : metadata) facts.emplace_back("the saved " + name, value);
  strategy.check_same(facts);
}

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
      const Range slice = intersection(range, {p.value_offset, p.value_offset + p.size()});
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

//! Some of a tensor's elements, which alone have memory, where the host can read them: in place, or
//! copied.
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

//! **Errors.** FormatError, naming the first other one, unless the file, which has these tensors,
//! has no more under names that begin with `prefix`.
inline void expect_tensors(const io::SafetensorsFile& file, const char* owner,
                           const std::vector<io::TensorEntry>& read, std::string_view prefix = "") {
  std::set<std::string_view> names;
  for (const auto& tensor : read) names.insert(tensor.name);
  const auto is_under = [&](const auto& tensor) { return tensor.name.starts_with(prefix); };
  const auto other = std::ranges::find_if(file.tensors(), [&](const auto& tensor) {
    return is_under(tensor) && !names.contains(tensor.name);
  });
  if (other == file.tensors().end()) return;
  throw FormatError(
      text(file.path(), ": has ", std::ranges::count_if(file.tensors(), is_under), " tensors",
           prefix.empty() ? "" : " under " + io::detail::in_quotes(prefix), ", ", owner, " has ",
           read.size(), ", and no ", io::detail::in_quotes(other->name)));
}

//! Whether a file has what `save_state` writes, and not a model alone.
inline bool is_state(const io::SafetensorsFile& file) {
  return std::ranges::any_of(file.tensors(),
                             [](const auto& tensor) { return tensor.name.starts_with("value/"); });
}

}  // namespace detail

}  // namespace weft::train
