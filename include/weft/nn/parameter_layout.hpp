// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Gives every parameter its place in the contiguous buffers.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <weft/core/chunks.hpp>
#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/shape.hpp>
#include <weft/nn/parameter.hpp>
#include <weft/ops/dropout.hpp>

namespace weft::nn {

//! The first unit of a stack whose layers are none.
inline constexpr int no_unit = -1;

//! A use of a shared weight whose gradient is added to that of the weight itself.
struct TiedGradient {
  index_t from;  //!< place of the use in the gradient buffer
  index_t to;    //!< place of the weight
  index_t size;  //!< how many gradients
};

//! Trained parameters that follow each other and are updated alike, but not as the optimizer's
//! settings and the rate say (see parameter_groups.hpp).
struct ParameterGroup {
  Range range;        //!< where they are
  float rate_scale;   //!< the rate is multiplied by it
  float decay_scale;  //!< so is the weight decay
};

//! The sizes of the buffers.
//!
//!     values     [ trained parameters, as declared | frozen ones and computed tables ]
//!     gradients  [ the same trained parameters     | further uses of tied ones ]
//!
//! There are no gaps: slices of the first part are what optimizers, buckets and shards work on.
struct ParameterLayout {
  index_t trained = 0;                             //!< parameters that an optimizer updates
  index_t values = 0;                              //!< length of the value buffer
  index_t gradients = 0;                           //!< length of the gradient buffer
  std::uint32_t operations = 0;                    //!< numbers given to dropout
  std::vector<TiedGradient> tied;                  //!< further uses of shared weights
  std::vector<std::pair<index_t, index_t>> slots;  //!< offset and size of each place for gradients
  std::vector<Range> units;  //!< the trained parameters of each layer of a stack, in order
  std::vector<ParameterGroup> groups;  //!< in order; what is in none is updated as all are
};

namespace detail {

// How many parameters are trained is known when all modules have been visited. Until then the place
// of another, which lies behind them, is kept as -2 - its distance to them (-1 is no place).

constexpr index_t provisional_place(index_t distance) { return -2 - distance; }

//! Of a provisional place; any other one stays.
constexpr index_t final_place(index_t place, index_t trained) {
  return place < -1 ? trained - 2 - place : place;
}

// The visitors' functions are called once for every member of a module: inlined there, they make
// programs slower to compile and nothing quicker.

//! Places the trained parameters, finds how far the others are behind them, and numbers the
//! operations.
struct PlaceTrained : Visitor {
  ParameterLayout& layout;

  explicit PlaceTrained(ParameterLayout& to) : layout(to) {}

  [[gnu::noinline]] void parameter(const char*, Parameter& p) {
    const index_t behind = layout.values - layout.trained;
    layout.values += p.size();
    if (!p.trained) {
      p.value_offset = provisional_place(behind);
      p.gradient_offset = p.slot = -1;  // of another layout, in which it was trained
      return;
    }
    p.value_offset = p.gradient_offset = layout.trained;
    p.slot = static_cast<int>(layout.slots.size());
    layout.slots.emplace_back(p.gradient_offset, p.size());
    layout.trained += p.size();
  }

  //! **Errors.** ArgumentError unless 0 <= probability < 1.
  [[gnu::noinline]] void dropout(DropoutSite& site) {
    static_cast<void>(ops::DropoutMask(site.probability, {}, 0));
    site.operation = layout.operations;
    layout.operations += site.operations;
  }

  //! A stack inside a layer of another has no units of its own.
  void begin_units(int& first) {
    first = depth_ == 0 ? static_cast<int>(layout.units.size()) : no_unit;
  }
  void begin_unit() {
    if (depth_++ == 0) begin_ = layout.trained;
  }
  void end_unit() {
    if (--depth_ == 0) layout.units.push_back({begin_, layout.trained});
  }
  //! Nor has one whose passes are made in another order.
  void begin_whole() { ++depth_; }
  void end_whole() { --depth_; }

 private:
  int depth_ = 0;
  index_t begin_ = 0;
};

//! Places what lies behind the trained parameters, and the uses of shared weights.
struct PlaceOthers : Visitor {
  ParameterLayout& layout;

  explicit PlaceOthers(ParameterLayout& to) : layout(to) {}

  [[gnu::noinline]] void parameter(const char*, Parameter& p) {
    p.value_offset = final_place(p.value_offset, layout.trained);
  }

  [[gnu::noinline]] void tie(Parameter& use, const Parameter& source) {
    if (!use.trained && source.trained) {
      throw ArgumentError(text("freeze: a use of a weight of ", source.shape,
                               " is frozen, which is trained elsewhere: freeze it where it is "
                               "declared, and with it all uses"));
    }
    use.shape = source.shape;
    use.trained = source.trained;
    use.value_offset = final_place(source.value_offset, layout.trained);
    use.gradient_offset = use.slot = -1;
    if (!use.trained) return;
    use.gradient_offset = layout.gradients;
    use.slot = static_cast<int>(layout.slots.size());
    layout.slots.emplace_back(use.gradient_offset, use.size());
    index_t declared = source.gradient_offset;  // of a use: where its weight is
    for (const TiedGradient& other : layout.tied) {
      if (other.from == declared) declared = other.to;
    }
    layout.tied.push_back({use.gradient_offset, declared, use.size()});
    layout.gradients += use.size();
  }
};

}  // namespace detail

//! Places the trained parameters of a module behind those placed before. The others have no place
//! until `place_others`.
//!
//! **Errors.** ArgumentError for a probability of dropout that is not from 0 to below 1.
template <class Module>
void place_trained(Module& module, ParameterLayout& layout) {
  detail::PlaceTrained visitor(layout);
  visit_members(module, visitor);
  layout.gradients = layout.trained;
}

//! Places the rest, once all trained parameters have their places.
//!
//! **Errors.** ArgumentError if a use of a shared weight is frozen, and the weight is not.
template <class Module>
void place_others(Module& module, ParameterLayout& layout) {
  detail::PlaceOthers visitor(layout);
  visit_members(module, visitor);
}

namespace detail {

struct PlaceGroups : Visitor {
  std::vector<ParameterGroup>& groups;

  explicit PlaceGroups(std::vector<ParameterGroup>& list) : groups(list) {}

  [[gnu::noinline]] void parameter(const char*, const Parameter& p) {
    if (!p.trained || p.size() == 0 || (p.rate_scale == 1.0f && p.decay_scale == 1.0f)) return;
    const bool goes_on = !groups.empty() && groups.back().range.end == p.value_offset &&
                         groups.back().rate_scale == p.rate_scale &&
                         groups.back().decay_scale == p.decay_scale;
    if (!goes_on) groups.push_back({{p.value_offset, 0}, p.rate_scale, p.decay_scale});
    groups.back().range.end = p.value_offset + p.size();
  }
};

}  // namespace detail

//! Lists the groups of a module's parameters, which have their places, in place of those before.
template <class Module>
void place_groups(const Module& module, ParameterLayout& layout) {
  layout.groups.clear();
  detail::PlaceGroups visitor(layout.groups);
  visit_members(module, visitor);
}

namespace detail {

[[noreturn, gnu::cold]] inline void throw_unplaced(Shape shape) {
  throw Error(text("a parameter of shape ", shape,
                   " has no place in the buffers: its module's members() must show it, and the "
                   "model must be placed, as Objective does, or nn::place_trained and then "
                   "nn::place_others"));
}

[[noreturn, gnu::cold]] inline void throw_unnumbered(float probability) {
  throw Error(text("a place that drops with a probability of ", probability,
                   " has no number, by which it would have masks of its own: its module's "
                   "members() must show it, and the model must be placed, as Objective and "
                   "nn::place_trained do"));
}

//! **Errors.** Error if a parameter has no place in the buffers.
inline void expect_placed(const Parameter& p) {
  if (p.value_offset < 0) throw_unplaced(p.shape);
}
//! **Errors.** Error if a place drops and has no number.
inline void expect_placed(const DropoutSite& site) {
  if (site.operation == DropoutSite::unnumbered && site.probability > 0.0f) {
    throw_unnumbered(site.probability);
  }
}

}  // namespace detail

//! A parameter with its name: the path from the outermost module, parts joined by dots.
struct NamedParameter {
  std::string name;     //!< such as "encoder.layers.0.feed_forward.inner.weight"
  Parameter parameter;  //!< its place and shape
};

namespace detail {

struct NameParameters : Visitor {
  std::vector<NamedParameter> named;
  std::vector<std::string> path;

  void enter(const char* name) { path.emplace_back(name); }
  void enter(int index) { path.push_back(std::to_string(index)); }
  void leave() { path.pop_back(); }

  [[gnu::noinline]] void parameter(const char* name, const Parameter& p) {
    std::string full;
    for (const std::string& part : path) {
      if (!part.empty()) full += part + ".";
    }
    named.push_back({full + name, p});
  }
};

}  // namespace detail

//! All parameters of a module in order of declaration, computed tables included.
template <class Module>
[[nodiscard]] std::vector<NamedParameter> named_parameters(const Module& module) {
  detail::NameParameters visitor;
  visit_members(module, visitor);
  return std::move(visitor.named);
}

namespace detail {

struct FindDropout : Visitor {
  std::vector<float> found;

  void dropout(const DropoutSite& site) { found.push_back(site.probability); }
};

}  // namespace detail

//! The probabilities of a module's places of dropout, in order of declaration.
template <class Module>
[[nodiscard]] std::vector<float> dropout_probabilities(const Module& module) {
  detail::FindDropout visitor;
  visit_members(module, visitor);
  return std::move(visitor.found);
}

//! Checks what the `members` of a placed module show.
//!
//! **Errors.** ArgumentError if two parameters have one name, or one is shown twice.
template <class Module>
void check_members(const Module& module) {
  std::set<std::string> seen;
  std::map<index_t, std::string> names;
  for (const auto& [name, p] : named_parameters(module)) {
    if (!seen.insert(name).second) {
      throw ArgumentError(text("members: two parameters are shown as \"", name, "\""));
    }
    if (p.size() == 0) continue;  // of which several may have one place
    const auto [first, is_new] = names.emplace(p.value_offset, name);
    if (!is_new) {
      throw ArgumentError(text("members: one parameter is shown twice, as \"", first->second,
                               "\" and as \"", name, "\""));
    }
  }
}

//! The path of the first module that has the parameter whose values begin at an offset; empty if
//! none has.
template <class Module>
[[nodiscard]] std::string module_at(const Module& module, index_t value_offset) {
  for (const auto& [name, p] : named_parameters(module)) {
    if (p.value_offset != value_offset) continue;
    const auto dot = name.rfind('.');
    return dot == std::string::npos ? name : name.substr(0, dot);
  }
  return "";
}

}  // namespace weft::nn
