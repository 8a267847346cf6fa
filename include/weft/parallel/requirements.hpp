// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What a strategy needs of its arguments, said in a sentence before anything else goes
//! wrong.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include <weft/comm/communicator.hpp>
#include <weft/core/chunks.hpp>
#include <weft/core/index.hpp>
#include <weft/device/device.hpp>
#include <weft/device/device_group.hpp>
#include <weft/nn/context.hpp>
#include <weft/nn/module.hpp>
#include <weft/optim/optimizer.hpp>
#include <weft/parallel/recipe.hpp>
#include <weft/tensor/tensor.hpp>

namespace weft::parallel {

//! Whether a loss reads what a model writes.
//!
//! **Semantics.** Gradients are those of the *sum* of losses. A loss that says `static constexpr
//! bool scales_gradients = true` multiplies them by `ctx.loss_scale()`, and nothing else; only with
//! such a one may a recipe have `loss_scaling`.
template <class Loss, class Model, class D>
concept LossOf = requires(const Loss& loss, nn::Context<D>& ctx, const nn::OutputOf<Model, D>& y,
                          const Tensor<token_t, D>& labels) {
  loss.forward(ctx, y, labels);
};

//! Compiles if a strategy can be made of these.
template <class Model, class Loss, class Optimizer, class D>
struct Requirements {
  static_assert(optim::Optimizer<Optimizer>,
                "a strategy's optimizer is a type such as optim::Adam, which has Step, step and "
                "state_names; the device comes behind it: <Model, Loss, optim::Adam, Cuda>");
  static_assert(Device<D>, "a strategy's device is a type such as Cpu or Cuda");
  static_assert(sizeof(nn::CheckModule<Model, D>) > 0);
  static_assert(nn::Module<Loss>,
                "a strategy's loss has members, forward and backward; of a criterion it is made by "
                "Chunked<nn::Generator<shape>, nn::LabelSmoothing>");
  static_assert(LossOf<Loss, Model, D>,
                "the loss does not read what the model writes: its generator must have the model's "
                "d_model, nn::Generator<shape> with the shape of the model");
};

//! Compiles if a strategy can train its model on a batch.
template <class B, class Model, class D>
struct BatchRequirements {
  static_assert(Batch<B, D>,
                "a strategy takes a batch that brings its parts to a device: for a "
                "data::TranslationBatch that is train::DeviceBatch(batch)");
  static_assert(
      requires(const B& batch, D& device) {
        { batch.part(device, Range{}).input } -> std::convertible_to<const nn::InputOf<Model, D>&>;
      },
      "the batch does not bring what the model reads: a Transformer takes train::DeviceBatch, a "
      "language model train::LanguageModelDeviceBatch");
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

}  // namespace weft::parallel
