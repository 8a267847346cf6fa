// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Reads what tests/reference/parity.py had PyTorch compute, and compares.
#pragma once

#include <weft/io/safetensors_file.hpp>
#include <weft/nn/context.hpp>
#include <weft/nn/initialize.hpp>
#include <weft/nn/parameter_layout.hpp>
#include <weft/tensor/sequences.hpp>
#include <weft/tensor/tensor.hpp>

#include "placed.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace weft::testing {

//! The file of one test, below the folder of the tests.
class Fixture {
 public:
  explicit Fixture(const std::string& path) : file_(WEFT_TESTS "/" + path) {}

  template <class T = float>
  [[nodiscard]] std::vector<T> read(const std::string& name) const {
    index_t size = 1;
    for (const index_t extent : file_.tensor(name).shape) size *= extent;
    std::vector<T> values(static_cast<std::size_t>(size));
    file_.read(name, std::span<T>(values));
    return values;
  }

  [[nodiscard]] Tensor<float> tensor(Cpu& device, const std::string& name) const {
    const auto values = read(name);
    const auto& extents = file_.tensor(name).shape;
    return to_device<float>(device, values, {extents.at(0), extents.at(1)});
  }

  [[nodiscard]] LayoutPointer<Cpu> layout(Cpu& device, const std::string& name) const {
    const auto lengths = read<index_t>(name);
    return make_layout(device, std::span<const index_t>(lengths));
  }

  template <index_t C>
  [[nodiscard]] Rows<C> rows(Cpu& device, const std::string& name,
                             const LayoutPointer<Cpu>& layout) const {
    return {tensor(device, name), layout};
  }

  [[nodiscard]] TokenSequences<Cpu> tokens(Cpu& device, const std::string& name) const {
    const auto ids = read<token_t>(name);
    return {to_device<token_t>(device, ids, {std::ssize(ids)}), layout(device, name + "_lengths")};
  }

  [[nodiscard]] index_t count(const std::string& prefix) const {
    return std::ranges::count_if(file_.tensors(), [&](const io::TensorEntry& entry) {
      return entry.name.starts_with(prefix);
    });
  }

 private:
  io::SafetensorsFile file_;
};

//! The relative error that float may have against PyTorch in double: some hundred roundings of
//! 6e-8 in a row, where each of them adds up at random.
inline constexpr double parity = 1e-5;

[[nodiscard]] inline double norm(std::span<const float> x) {
  double squares = 0.0;
  for (const float value : x) squares += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(squares);
}

//! |is - should| / |should|; `floor` takes the place of a smaller |should|. NaN if a number is.
[[nodiscard]] inline double relative_error(std::span<const float> is, std::span<const float> should,
                                           double floor = 0.0) {
  REQUIRE(is.size() == should.size());
  double squares = 0.0;
  for (std::size_t i = 0; i < is.size(); ++i) {
    const double distance = static_cast<double>(is[i]) - static_cast<double>(should[i]);
    squares += distance * distance;
  }
  return std::sqrt(squares) / std::max(norm(should), floor);
}

[[nodiscard]] inline double relative_error(const Tensor<float>& is,
                                           const std::vector<float>& should) {
  return relative_error(to_host(is), should);
}

//! Values and gradients of placed modules, by PyTorch's measure.
template <class Module>
class Parity {
 public:
  Parity(Cpu& device, const Fixture& fixture, std::string prefix, const Module& module,
         const nn::ParameterLayout& layout)
      : fixture_(&fixture),
        prefix_(std::move(prefix)),
        named_(nn::named_parameters(module)),
        layout_(&layout),
        gradients_(device, layout) {}

  //! Replaces the trained parameters among `values` by PyTorch's.
  void load(std::span<float> values) const {
    for_each_trained("value/", [&](const std::string&, const auto& p, const auto& should) {
      std::ranges::copy(should, values.data() + p.value_offset);
    });
  }

  //! Checks each trained parameter among `values`.
  void check_values(std::span<const float> values) const {
    for_each_trained("value/", [&](const std::string& name, const auto& p, const auto& should) {
      INFO(prefix_ << ": " << name);
      CHECK(relative_error({values.data() + p.value_offset, should.size()}, should) < parity);
    });
  }

  [[nodiscard]] nn::Gradients<Cpu>& begin() {
    gradients_.begin();
    return gradients_;
  }

  //! Ends an update, adds up what belongs to tied weights, and checks each gradient.
  void check_gradients() {
    gradients_.end(*layout_);
    for (const auto& tied : layout_->tied) {
      for (index_t i = 0; i < tied.size; ++i) {
        gradients_.data()[tied.to + i] += gradients_.data()[tied.from + i];
      }
    }
    for_each_trained("gradient/", [&](const std::string& name, const auto& p, const auto& should) {
      INFO(prefix_ << ": the gradient of " << name);
      CHECK(relative_error({gradients_.data() + p.gradient_offset, should.size()}, should,
                           floor_of(name)) < parity);
    });
  }

 private:
  //! A key's bias adds the same to all scores of a query, which the softmax takes away again: its
  //! gradient is 0, and what rounding leaves of it is measured by that of the value's bias.
  [[nodiscard]] double floor_of(const std::string& name) const {
    const std::string key_bias = "key.bias";
    if (!name.ends_with(key_bias)) return 0.0;
    const auto stem = name.substr(0, name.size() - key_bias.size());
    return norm(fixture_->read(prefix_ + "gradient/" + stem + "value.bias"));
  }

  //! Calls `f(name, parameter, PyTorch's)`; both sides must have the same parameters.
  template <class F>
  void for_each_trained(const std::string& kind, F f) const {
    index_t count = 0;
    for (const auto& [name, parameter] : named_) {
      if (!parameter.trained) continue;
      f(name, parameter, fixture_->read(prefix_ + kind + name));
      ++count;
    }
    CHECK(count == fixture_->count(prefix_ + kind));
  }

  const Fixture* fixture_;
  std::string prefix_;
  std::vector<nn::NamedParameter> named_;
  const nn::ParameterLayout* layout_;
  nn::Gradients<Cpu> gradients_;
};

//! Checks a module's output and gradients for one case of a file: three sequences of rows.
template <index_t C, class Module>
void check_rows(const Fixture& fixture, const std::string& batch, const std::string& name,
                Module module) {
  INFO(batch << ", " << name);
  const std::string prefix = batch + "/" + name + "/";
  Cpu device(2);
  const auto places = place(module);
  Parity parity_of(device, fixture, prefix, module, places);
  std::vector<float> values = nn::initial_values(places, 1, module);
  parity_of.load(values);

  const auto layout = fixture.layout(device, batch + "/lengths");
  nn::Context<Cpu> ctx(device, values.data(), parity_of.begin(), RandomKey());
  auto [y, saved] = module.forward(ctx, fixture.rows<C>(device, batch + "/x", layout));
  const auto dx =
      module.backward(ctx, std::move(saved), fixture.rows<C>(device, batch + "/dy", layout));

  CHECK(relative_error(y.values, fixture.read(prefix + "y")) < parity);
  CHECK(relative_error(dx.values, fixture.read(prefix + "dx")) < parity);
  parity_of.check_gradients();
}

}  // namespace weft::testing
