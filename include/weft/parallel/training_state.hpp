// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Parameters, the optimizer's state, and the end of an update.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/core/any_floats.hpp>
#include <weft/core/chunks.hpp>
#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/trace.hpp>
#include <weft/core/tree_pairs.hpp>
#include <weft/nn/initialize.hpp>
#include <weft/nn/parameter_layout.hpp>
#include <weft/ops/blocks.hpp>
#include <weft/ops/check_finite.hpp>
#include <weft/ops/factor.hpp>
#include <weft/ops/reduce.hpp>
#include <weft/optim/gradient_scale.hpp>
#include <weft/optim/loss_scale.hpp>
#include <weft/optim/optimizer.hpp>
#include <weft/parallel/lanes.hpp>
#include <weft/parallel/recipe.hpp>
#include <weft/parallel/rounded_weights.hpp>
#include <weft/tensor/tensor.hpp>

namespace weft::parallel {

//! What a run is made of between two updates: values, the optimizer's buffers, and counters.
//!
//! The optimizer's buffers cover the parameters that are `owned`, piece behind piece: all of them,
//! or a shard, or a pipeline's stages. Pieces ascend, and begin anywhere.
template <class Optimizer, class D>
class TrainingState {
 public:
  //! How many buffers the optimizer has.
  static constexpr std::size_t buffers = Optimizer::state_names.size();

  //! Of all parameters. The layout must outlive it.
  //!
  //! **Shapes.** values: (layout.values).
  //! **Errors.** As `optim::with_scaled_decay`, where some parameters have another weight decay.
  TrainingState(D& device, const nn::ParameterLayout& layout, std::span<const float> values,
                const Optimizer& optimizer, const optim::LossScale& loss_scale = {})
      : TrainingState(device, layout, values, optimizer, loss_scale,
                      std::vector<Range>{{0, layout.trained}}) {}

  //! Of the parameters in `owned` alone. Only the values in
  //! `present` have memory, unless all are to have it; others can be committed and discarded.
  TrainingState(D& device, const nn::ParameterLayout& layout, std::span<const float> values,
                const Optimizer& optimizer, const optim::LossScale& loss_scale,
                std::vector<Range> owned,
                const std::optional<std::vector<Range>>& present = std::nullopt)
      : loss_scale_(loss_scale),
        layout_(&layout),
        groups_(groups_of(layout, optimizer)),
        owned_(std::move(owned)),
        present_(trained_in(present.value_or(std::vector<Range>{{0, layout.trained}}), layout)),
        values_(present ? part_on_device(device, values, *present)
                        : to_device<float>(device, values, {layout.values})),
        block_sums_(device, {ops::block_count(layout.trained)}),
        scale_(device, {1}) {
    values_.mark(MemoryKind::parameters);
    index_t count = 0;
    for (const Range piece : owned_) count += piece.size();
    for (auto& buffer : state_) {
      buffer = Tensor<float, D>(device, {count});
      buffer.mark(MemoryKind::optimizer);
      device.clear(buffer.data(), count * index_t{sizeof(float)});
    }
    device.synchronize();  // the other devices of a group read it too
  }

  //! All values, on the device. With Zero<3> and in pipelines they are there, but for those of this
  //! rank, only as long as somebody holds the strategy's `whole_values()`. Whoever writes to them
  //! asks for them before, each time: what products read of them is then rounded anew.
  [[nodiscard]] const Tensor<float, D>& values() const {
    if (!rounded_.empty()) rounded_is_current_ = false;
    return values_;
  }
  //! The same for passes, which only read them.
  [[nodiscard]] const Tensor<float, D>& read_values() const { return values_; }
  //! All values as a GPU's products read them: nothing where the device rounds nothing, or is a
  //! processor. Rounded now, unless the last update did as it wrote them.
  //!
  //! **Memory.** Half that of the values, as long as the device rounds.
  [[nodiscard]] const ops::Factor<D>& rounded_values() const {
    D& device = values_.device();
    const FloatType type = ops::result_type(device);
    if (type == FloatType::float32) {
      rounded_ = {};
    } else if (rounded_.empty() || rounded_.numbers().type != type || !rounded_is_current_) {
      rounded_ = {};  // gives its memory back first
      rounded_ = rounded_weights(device, values_.data(), values_.size());
      rounded_is_current_ = true;
    }
    return rounded_;
  }
  //! Of the owned parameters.
  [[nodiscard]] const Tensor<float, D>& buffer(std::size_t i) const { return state_[i]; }
  //! The parameters that are updated here.
  [[nodiscard]] const std::vector<Range>& owned() const { return owned_; }
  //! The parameters whose values have memory here all the time.
  [[nodiscard]] const std::vector<Range>& present() const { return present_; }
  //! Where an owned parameter's element is in a buffer.
  [[nodiscard]] index_t place_of(index_t parameter) const {
    index_t place = 0;
    for (const Range piece : owned_) {
      if (parameter < piece.end) return place + parameter - piece.begin;
      place += piece.size();
    }
    return place;
  }
  //! Takes a buffer's elements, of the owned parameters.
  void set_buffer(std::size_t i, std::span<const float> elements) {
    state_[i].device().upload(state_[i].data(), elements.data(),
                              static_cast<index_t>(elements.size_bytes()));
  }
  //! Whether the optimizer keeps a moving average of the parameters.
  static constexpr bool keeps_average = optim::KeepsAverage<Optimizer>;
  //! That average, of the owned parameters.
  [[nodiscard]] const Tensor<float, D>& average() const requires(keeps_average) {
    return state_[Optimizer::average_buffer];
  }
  //! Whether `values()` are that average for the time being, and no parameters to go on from.
  [[nodiscard]] bool is_averaged() const { return is_averaged_; }
  //! Says so, or no longer.
  void set_averaged(bool is_averaged) { is_averaged_ = is_averaged; }
  //! **Errors.** Error, for a function that reads or changes the parameters, while they are.
  void expect_not_averaged(const char* function) const {
    if (!is_averaged_) return;
    throw Error(text(function,
                     ": inside with_average, where the parameters' moving average stands in their "
                     "place: call it before or after"));
  }
  //! Its name in saved states.
  [[nodiscard]] static std::string_view buffer_name(std::size_t i) {
    return Optimizer::state_names[i];
  }

  //! Updates made.
  [[nodiscard]] index_t updates() const { return updates_; }
  //! Updates left out because the gradient was not finite or no label counted.
  [[nodiscard]] index_t skipped() const { return skipped_; }
  //! Batches seen: what random numbers are keyed by.
  [[nodiscard]] index_t steps() const { return updates_ + skipped_; }
  //! As a saved state says.
  void set_counters(index_t updates, index_t skipped) {
    updates_ = updates;
    skipped_ = skipped;
  }
  //! Says that other values were loaded, to which gradients that were accumulated do not belong.
  void count_load() { ++loads_; }
  //! How often that was.
  [[nodiscard]] index_t loads() const { return loads_; }
  //! What the gradients of the update under way are multiplied by.
  [[nodiscard]] const optim::LossScale& loss_scale() const { return loss_scale_; }
  //! As a saved state says.
  void set_loss_scale(double value, index_t good_updates) { loss_scale_.set(value, good_updates); }

  //! Reduces the lanes' gradients in canonical order and updates the parameters.
  //!
  //! `on_all(f)` calls `f(device, part, parts)` on every device and returns when all have ended;
  //! each device works on its part of the blocks. `lane(l)` is the sum that lane l holds, or null.
  //!
  //! **Cost.** For R lanes: reads R + 1 buffers and writes 1 for the sum; then what the optimizer
  //! reads and writes.
  //! **Errors.** ArgumentError if the recipe scales losses and this was not made with its scale, or
  //! if the loss counts fewer than no labels; as the optimizer's `step` for the rate;
  //! NotFiniteError where numbers are checked.
  template <class OnAll>
  [[nodiscard]] StepReport update(const OnAll& on_all, const Recipe& recipe,
                                  std::vector<float*> lanes, const LossSum& loss, double rate) {
    expect_step(recipe, loss);
    float* const gradients = lanes[0];
    reduce(on_all, lanes);
    add_tied(on_all, gradients);
    const index_t n = layout_->trained;
    on_all([&](D& device, index_t part, index_t parts) {
      const Range blocks = share(ops::block_count(n), parts, part);
      ops::sum_of_squares(device, n, blocks.begin, blocks.end, gradients, block_sums_.data());
    });
    if constexpr (waits_late) {
      // The host waits once, when all is queued.
      on_all([&](D& device, index_t part, index_t) {
        if (part != 0) return;
        optim::find_gradient_scale(device, block_sums_, loss.tokens.value(), recipe.clip_norm,
                                   scale_, loss_scale_.value());
      });
      auto steps = steps_of_groups(rate, 0.0);
      for (auto& step : steps) step.device_scale = &scale_.data()->rounded;
      update_owned(on_all, steps, gradients);
      return report(to_host(scale_)[0], loss);
    } else {
      return apply(on_all, recipe, gradients, ops::ordered_sum(to_host(block_sums_)), loss, rate);
    }
  }

  //! Updates the owned parameters from the whole batch's gradient, the sum of whose squares is
  //! `squares`; leaves all as it is if that is not finite or no label counted.
  //!
  //! **Errors.** As `update`'s.
  template <class OnAll>
  [[nodiscard]] StepReport apply(const OnAll& on_all, const Recipe& recipe, const float* gradients,
                                 double squares, const LossSum& loss, double rate) {
    expect_step(recipe, loss);
    const optim::GradientScale scale(squares, loss.tokens.value(), recipe.clip_norm,
                                     loss_scale_.value());
    if (scale.factor > 0.0) {
      update_owned(on_all, steps_of_groups(rate, scale.factor), gradients);
    }
    return report(scale, loss);
  }

 private:
  [[nodiscard]] static std::vector<Range> trained_in(std::vector<Range> values,
                                                     const nn::ParameterLayout& layout) {
    for (Range& range : values) range = intersection(range, {0, layout.trained});
    std::erase_if(values, [](Range range) { return range.size() <= 0; });
    return values;
  }

  //! An array with room for all values, of which some are there.
  [[nodiscard]] static Tensor<float, D> part_on_device(D& device, std::span<const float> values,
                                                       std::span<const Range> present) {
    auto tensor = Tensor<float, D>::reserved(device, {std::ssize(values)});
    for (const Range range : present) {
      const index_t bytes = range.size() * index_t{sizeof(float)};
      device.commit(tensor.data() + range.begin, bytes);
      device.upload(tensor.data() + range.begin, values.data() + range.begin, bytes);
    }
    return tensor;
  }

  //! Whether the device itself finds what gradients are multiplied by, so that nobody waits for it.
  static constexpr bool waits_late = !D::on_host && requires(typename Optimizer::Step step) {
    step.device_scale;
  };

  //! A strategy that ignores the recipe's loss scaling would lose what vanishes in Float16.
  void expect_step(const Recipe& recipe, const LossSum& loss) const {
    expect_not_averaged("step");
    if (const index_t labels = loss.tokens.value(); labels < 0) {
      throw ArgumentError(text("step: the loss says that ", labels, " labels count"));
    }
    if (!recipe.loss_scaling || loss_scale_.is_dynamic()) return;
    throw ArgumentError(text("recipe: loss_scaling (", to_text(*recipe.loss_scaling),
                             ") is not kept by this strategy: it must make its TrainingState with "
                             "loss_scale_of<Loss>(recipe) and run lanes with the state's "
                             "loss_scale()"));
  }

  //! What an update did, or why it did nothing.
  StepReport report(const optim::GradientScale& scale, const LossSum& loss) {
    StepReport made{loss};
    const index_t tokens = loss.tokens.value();
    if (tokens > 0) made.gradient_norm = std::sqrt(scale.squares) / static_cast<double>(tokens);
    made.skipped = scale.factor == 0.0;
    ++(made.skipped ? skipped_ : updates_);
    if (tokens > 0) loss_scale_.after_gradient(scale.is_finite());
    return made;
  }

  //! Parameters that follow each other, and the rule that updates them.
  struct Group {
    Range range;
    Optimizer optimizer;
    double rate_scale;
  };
  using Step = typename Optimizer::Step;

  //! All trained parameters: those of the layout's groups, and what is between them.
  [[nodiscard]] static std::vector<Group> groups_of(const nn::ParameterLayout& layout,
                                                    const Optimizer& optimizer) {
    std::vector<Group> groups;
    index_t end = 0;
    const auto add_until = [&](index_t begin) {
      if (begin > end) groups.push_back({{end, begin}, optimizer, 1.0});
    };
    for (const nn::ParameterGroup& group : layout.groups) {
      add_until(group.range.begin);
      groups.push_back(
          {group.range, optim::with_scaled_decay(optimizer, group.decay_scale), group.rate_scale});
      end = group.range.end;
    }
    add_until(layout.trained);
    return groups;
  }

  [[nodiscard]] std::vector<Step> steps_of_groups(double rate, double gradient_scale) const {
    std::vector<Step> steps;
    for (const Group& group : groups_) {
      steps.push_back(group.optimizer.step(updates_ + 1, rate * group.rate_scale, gradient_scale));
    }
    return steps;
  }

  //! Calls `f(range, place, group)` for what is owned of each group, from `place` on in the
  //! optimizer's buffers.
  template <class F>
  void for_owned(const F& f) const {
    for (const Range piece : owned_) {
      for (std::size_t group = 0; group != groups_.size(); ++group) {
        const Range range = intersection(piece, groups_[group].range);
        if (range.size() > 0) f(range, place_of(range.begin), group);
      }
    }
  }

  template <class OnAll>
  void update_owned(const OnAll& on_all, const std::vector<Step>& steps, const float* gradients) {
    // With a shard somebody else writes the rest.
    constexpr bool rounds = requires(D & device, optim::StatePointers<Optimizer> state) {
      Optimizer::update(device, steps[0], optim::Part{}, gradients, values_.data(), state,
                        AnyFloats<void>());
    };
    const bool has_all = owned_.size() == 1 && owned_[0].size() == layout_->trained;
    rounded_is_current_ = rounded_is_current_ && rounds && has_all && !rounded_.empty();
    on_all([&](D& device, index_t part, index_t parts) {
      const TraceSpan span(device, "optimizer");
      for_owned([&](Range range, index_t place, std::size_t group) {
        optim::StatePointers<Optimizer> state{};
        for (std::size_t i = 0; i != buffers; ++i) state[i] = state_[i].data() + place;
        const Range blocks = share(ops::block_count(range.size()), parts, part);
        const optim::Part mine{range.size(), blocks.begin, blocks.end};
        const float* const gradient = gradients + range.begin;
        float* const values = values_.data() + range.begin;
        if constexpr (rounds) {
          Optimizer::update(
              device, steps[group], mine, gradient, values, state,
              rounded_is_current_ ? rounded_.target().numbers + range.begin : AnyFloats<void>());
        } else {
          Optimizer::update(device, steps[group], mine, gradient, values, state);
        }
      });
    });
    ops::CheckFinite::at(-1);  // no module's work
    for (const Range piece : owned_) {
      ops::detail::expect_finite(values_.device(), "update", "values",
                                 View<const float>(values_.data() + piece.begin, {piece.size()}));
    }
  }

  template <class OnAll>
  void reduce(const OnAll& on_all, std::vector<float*>& lanes) {
    const auto count = static_cast<index_t>(lanes.size());
    const auto at = [&](index_t lane) { return lanes[static_cast<std::size_t>(lane)]; };
    const index_t n = layout_->gradients;
    index_t pairs = 0;
    for_tree_pairs(count, at, [&](index_t, index_t) { ++pairs; });
    if (pairs == 0) return;
    on_all([&](D& device, index_t part, index_t parts) {
      const TraceSpan span(device, "add lanes");
      const Range blocks = share(ops::block_count(n), parts, part);
      const index_t pass = D::small_passes ? 1 : blocks.size();
      for (index_t first = blocks.begin; first < blocks.end; first += pass) {
        for_tree_pairs(count, at, [&](index_t left, index_t right) {
          ops::add_blocks(device, n, first, first + pass, at(right), at(left));
        });
      }
    });
  }

  //! Adds the gradients of further uses of a shared weight to that of its first, in order of
  //! declaration.
  template <class OnAll>
  void add_tied(const OnAll& on_all, float* gradients) {
    for (const nn::TiedGradient& tied : layout_->tied) {
      on_all([&](D& device, index_t part, index_t parts) {
        const Range blocks = share(ops::block_count(tied.size), parts, part);
        ops::add_blocks(device, tied.size, blocks.begin, blocks.end, gradients + tied.from,
                        gradients + tied.to);
      });
    }
  }

  optim::LossScale loss_scale_;
  const nn::ParameterLayout* layout_;
  std::vector<Group> groups_;
  std::vector<Range> owned_;
  std::vector<Range> present_;
  Tensor<float, D> values_;
  mutable ops::Factor<D> rounded_;  // of values_, where it was asked for
  mutable bool rounded_is_current_ = false;
  std::array<Tensor<float, D>, buffers> state_;
  Tensor<double, D> block_sums_;
  Tensor<optim::GradientScale, D> scale_;  // where `waits_late`
  index_t updates_ = 0;
  index_t skipped_ = 0;
  index_t loads_ = 0;
  bool is_averaged_ = false;
};

}  // namespace weft::parallel
