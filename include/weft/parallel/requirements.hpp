// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What a strategy needs of its arguments, said in a sentence before anything else goes
//! wrong.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <weft/comm/communicator.hpp>
#include <weft/core/any_floats.hpp>
#include <weft/core/chunks.hpp>
#include <weft/core/index.hpp>
#include <weft/device/device.hpp>
#include <weft/device/device_group.hpp>
#include <weft/nn/context.hpp>
#include <weft/nn/module.hpp>
#include <weft/optim/optimizer.hpp>
#include <weft/parallel/loss_sum.hpp>
#include <weft/parallel/objective.hpp>
#include <weft/parallel/recipe.hpp>
#include <weft/tensor/sequences.hpp>
#include <weft/tensor/tensor.hpp>

namespace weft::parallel {

//! What a loss reads beside a model's output: a token for each row, unless it says otherwise, by
//! `template <class D> using Labels = Tensor<float, D>`.
template <class Loss, class D>
struct LabelsOf {
  using Type = Tensor<token_t, D>;  //!< of a micro-batch
};
//! The same for a loss that says.
template <class Loss, class D>
requires requires { typename Loss::template Labels<D>; }
struct LabelsOf<Loss, D> {
  using Type = typename Loss::template Labels<D>;  //!< of a micro-batch
};

//! Whether what a model writes says to which sequences it belongs.
template <class Model, class D>
concept HasLayout = requires(const nn::OutputOf<Model, D>& y) {
  { y.layout } -> std::convertible_to<LayoutPointer<D>>;
};

//! Whether a loss reads what a model writes.
//!
//! **Semantics.** Gradients are those of the *sum* of losses. A loss that says `static constexpr
//! bool scales_gradients = true` multiplies them by `ctx.loss_scale()`, and nothing else; only with
//! such a one may a recipe have `loss_scaling`.
template <class Loss, class Model, class D>
concept LossOf = requires(const Loss& loss, nn::Context<D>& ctx, const nn::OutputOf<Model, D>& y,
                          const typename LabelsOf<Loss, D>::Type& labels) {
  loss.forward(ctx, y, labels);
};

//! Whether its forward pass returns what is added up, and what its backward pass needs.
template <class Loss, class Model, class D>
concept SumsLosses = requires(const Loss& loss, nn::Context<D>& ctx,
                              const nn::OutputOf<Model, D>& y,
                              const typename LabelsOf<Loss, D>::Type& labels) {
  { loss.forward(ctx, y, labels).output } -> std::convertible_to<LossSum>;
  { loss.forward(ctx, y, labels).saved } -> std::convertible_to<typename Loss::template Saved<D>>;
};

//! Whether its backward pass returns the gradient of what the model writes.
template <class Loss, class Model, class D>
concept GivesGradient = requires(const Loss& loss, nn::Context<D>& ctx,
                                 typename Loss::template Saved<D>&& saved,
                                 const LayoutPointer<D>& layout) {
  {
    loss.backward(ctx, std::move(saved), layout)
    } -> std::convertible_to<const nn::OutputOf<Model, D>&>;
};

//! Whether an optimizer updates a part of the parameters on a device, or does so and rounds them.
template <class Optimizer, class D, class... Rounded>
concept UpdatesParts = requires(D& device, const typename Optimizer::Step& step,
                                const float* gradients, float* values,
                                const optim::StatePointers<Optimizer>& state, Rounded... rounded) {
  Optimizer::update(device, step, optim::Part{}, gradients, values, state, rounded...);
};

//! Takes a MicroBatch; declared only. (In the concept a lambda takes none, to nvcc.)
template <class Input, class D, class Labels>
void take_micro_batch(const MicroBatch<Input, D, Labels>&);

//! Whether something is a part of a batch on a device.
template <class T>
concept IsMicroBatch = requires(const T& part) { take_micro_batch(part); };

//! Compiles if a strategy can be made of these.
template <class Model, class Loss, class Optimizer, class D>
struct Requirements {
  static_assert(optim::Optimizer<Optimizer>,
                "a strategy's optimizer is a type such as optim::Adam, which has Step, step and "
                "state_names; the device comes behind it: <Model, Loss, optim::Adam, Cuda>");
  static_assert(Device<D>, "a strategy's device is a type such as Cpu or Cuda");
  static_assert(UpdatesParts<Optimizer, D> || UpdatesParts<Optimizer, D, AnyFloats<void>> ||
                    !optim::Optimizer<Optimizer> || !Device<D>,
                "an optimizer has a static update(device, step, part, gradients, values, state): "
                "what depends on its settings is in the Step");
  static_assert(sizeof(nn::CheckModule<Model, D>) > 0);
  static_assert(
      HasLayout<Model, D> || !nn::UnaryModule<Model, D>,
      "what a model writes needs a member layout, as Rows have, which the loss's backward pass is "
      "given; a struct of several Rows has a LayoutPointer<D> layout beside them");
  static_assert(nn::Module<Loss>,
                "a strategy's loss has members, forward and backward; of a criterion it is made by "
                "Chunked<nn::Generator<shape>, nn::LabelSmoothing>");
  static_assert(LossOf<Loss, Model, D> || !nn::Module<Loss>,
                "the loss does not read what the model writes: its generator must have the model's "
                "d_model, nn::Generator<shape> with the shape of the model; a loss of your own "
                "forward(ctx, const Output& y, const Labels<D>& labels) const");
  static_assert(SumsLosses<Loss, Model, D> || !LossOf<Loss, Model, D>,
                "a loss's forward returns an nn::Result of a LossSum and of the Saved<D> that its "
                "backward pass needs");
  static_assert(GivesGradient<Loss, Model, D> || !SumsLosses<Loss, Model, D>,
                "a loss needs a backward pass, which returns the gradient of what the model "
                "writes: backward(ctx, Saved<D>&& saved, const LayoutPointer<D>& layout) const");
};

//! Compiles if a strategy can train its model on a batch.
template <class B, class Model, class Loss, class D>
struct BatchRequirements {
  static_assert(Batch<B, D>,
                "a strategy takes a batch that brings its parts to a device: for a "
                "data::TranslationBatch that is train::DeviceBatch(batch), for data of your own a "
                "struct with size() const and part(device, range) const");
  static_assert(
      !Batch<B, D> ||
          requires(const B& batch, D& device) {
            { batch.part(device, Range{}) } -> IsMicroBatch;
          },
      "a batch's part(device, range) returns a parallel::MicroBatch<Input, D>, or with "
      "other labels than tokens a MicroBatch<Input, D, Labels>");
  static_assert(
      requires(const B& batch, D& device) {
        { batch.part(device, Range{}).input } -> std::convertible_to<const nn::InputOf<Model, D>&>;
      },
      "the batch does not bring what the model reads: a Transformer takes train::DeviceBatch, a "
      "language model train::LanguageModelDeviceBatch");
  static_assert(
      requires(const B& batch, D& device) {
        {
          batch.part(device, Range{}).labels
          } -> std::convertible_to<const typename LabelsOf<Loss, D>::Type&>;
      },
      "the batch's labels are not what the loss reads: a Tensor<token_t, D>, or the loss's "
      "Labels<D>");
};

//! Compiles if ranks can train on it too: they compare the batches that they were given.
template <class B, class Model, class Loss, class D>
struct RankBatchRequirements : BatchRequirements<B, Model, Loss, D> {
  static_assert(
      requires(const B& batch) {
        { batch.fingerprint() } -> std::convertible_to<std::uint64_t>;
      },
      "each rank is given the whole batch, and ranks compare what they were given: a batch needs a "
      "fingerprint() const, a number that differs where batches do, such as that of its "
      "data::TokenRows");
};

// What constructors are given. Each strategy has a further constructor for arguments that do not
// fit the first. Its constraint is `Refused` or `RefusedOnRanks`, which no arguments meet: asking
// says why.

//! Compiles if an objective and an optimizer are those of the strategy.
template <class GivenObjective, class GivenOptimizer, class Objective, class Optimizer>
struct CheckArguments {
  static_assert(std::same_as<GivenObjective, Objective>,
                "a strategy takes an objective of its own type, which places the parameters of "
                "model and loss: Train::Objective(model, criterion) for Train = DataParallel<...>");
  static_assert(std::same_as<GivenOptimizer, Optimizer>,
                "the optimizer is of another type than the strategy's, which is optim::Adam if it "
                "is not named: DataParallel<Model, Loss, optim::AdamW>");
  static constexpr bool passes = false;
};

//! Compiles if `Given` is the strategy's device or group of devices.
template <class Given, class D>
struct CheckPlace {
  static_assert(Device<Given>, "a strategy runs on a device: Cpu device; Train train(device, ...)");
  static_assert(std::same_as<Given, D> || !Device<Given>,
                "the device is of another type than the strategy's, which is Cpu if it is not "
                "named: DataParallel<Model, Loss, optim::Adam, Cuda>");
  static constexpr bool passes = true;
};
//! The same for a strategy that runs on a group of them.
template <class Given, class D>
struct CheckPlace<Given, DeviceGroup<D>> {
  static constexpr bool passes = std::same_as<Given, DeviceGroup<D>>;
  static_assert(passes, "DataParallel runs on a group of devices: DeviceGroup<Cpu> devices(2)");
};
template <class Given, class D>
struct CheckPlace<DeviceGroup<Given>, DeviceGroup<D>> : CheckPlace<Given, D> {};

//! Compiles if a communicator is of the strategy's type.
template <class Given, class C>
struct CheckCommunicator {
  static_assert(comm::Communicator<Given>,
                "a strategy over ranks needs a communicator behind its device: "
                "Train train(device, communicator, objective, optimizer, recipe)");
  static_assert(std::convertible_to<Given&, C&> || !comm::Communicator<Given>,
                "the communicator is of another type than the strategy's, which is "
                "comm::ThreadCommunicator if it is not named: DistributedDataParallel<Model, Loss, "
                "Zero<0>, optim::Adam, Cpu, comm::MpiCommunicator>");
  static constexpr bool passes = comm::Communicator<Given>;
};

//! Whether a constructor takes these.
template <class GivenPlace, class GivenObjective, class GivenOptimizer, class Place,
          class Objective, class Optimizer>
concept Fitting = std::convertible_to<GivenPlace&, const Place&> &&
    std::convertible_to<GivenObjective, Objective> &&
    std::convertible_to<const GivenOptimizer&, const Optimizer&>;

//! Never met. Of arguments that do not fit it says which, and what fits.
template <class GivenPlace, class GivenObjective, class GivenOptimizer, class Place,
          class Objective, class Optimizer>
concept Refused =
    !Fitting<GivenPlace, GivenObjective, GivenOptimizer, Place, Objective, Optimizer> &&
    CheckPlace<std::remove_cv_t<GivenPlace>, Place>::passes &&
    CheckArguments<std::remove_cvref_t<GivenObjective>, GivenOptimizer, Objective,
                   Optimizer>::passes;

//! The same with a communicator.
template <class GivenC, class GivenPlace, class GivenObjective, class GivenOptimizer, class C,
          class Place, class Objective, class Optimizer>
concept RefusedOnRanks =
    !(std::convertible_to<GivenC&, C&> &&
      Fitting<GivenPlace, GivenObjective, GivenOptimizer, Place, Objective,
              Optimizer>)&&CheckPlace<std::remove_cv_t<GivenPlace>, Place>::passes &&
    CheckCommunicator<std::remove_cvref_t<GivenC>, C>::passes &&
    CheckArguments<std::remove_cvref_t<GivenObjective>, GivenOptimizer, Objective,
                   Optimizer>::passes;

//! Never met: says that a communicator is missing.
template <class GivenObjective, class C>
concept RefusedWithoutCommunicator =
    CheckCommunicator<std::remove_cvref_t<GivenObjective>, C>::passes && false;

//! Compiles if `Given` can be the table of a pipeline's schedule.
template <class Given, class Table>
struct CheckTable {
  static constexpr bool passes = std::convertible_to<Given, const Table&>;
  static_assert(passes,
                "behind the recipe PipelineParallel takes the table of a schedule, a TableView, "
                "then a Recompute and BucketSizes: table.view() of a Table, Model::table() for the "
                "Pipe's own; an Exchange is for DistributedDataParallel");
};

//! Never met: says that there is something else in a table's place.
template <class Given, class Table>
concept RefusedAsTable =
    !std::convertible_to<Given, const Table&> && CheckTable<Given, Table>::passes;

}  // namespace weft::parallel
