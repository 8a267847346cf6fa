// expect: a strategy asks its ranks as parallel::OverRanks<Communicator> does
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/train/trainer.hpp>
#include <weft/train/translation_data.hpp>
#include <weft/weft.hpp>

using namespace weft;

constexpr nn::TransformerShape shape{
    .d_model = 8, .heads = 2, .d_ff = 8, .encoder_layers = 1, .decoder_layers = 1};
using Model = nn::Transformer<shape>;
using Loss = Chunked<nn::Generator<shape>, nn::LabelSmoothing>;
using Inner = GradientAccumulation<Model, Loss>;

//! Derived of nothing.
struct Train {
  parallel::StepReport step(const train::DeviceBatch& batch, double rate) {
    return inner.step(batch, rate);
  }
  parallel::LossSum evaluate(const train::DeviceBatch& batch) { return inner.evaluate(batch); }
  template <class F>
  void on_devices(const F& f) {
    inner.on_devices(f);
  }
  int devices() const { return 1; }
  Cpu& device(int index) const { return inner.device(index); }
  const parallel::Recipe& recipe() const { return inner.recipe(); }
  const Inner::Objective& objective() const { return inner.objective(); }
  auto& state() { return inner.state(); }
  auto whole_values() { return inner.whole_values(); }
  std::vector<Range> saved_here() const { return inner.saved_here(); }
  void share_values() {}

  Inner inner;
};

using Trainer = train::Trainer<Train, optim::Noam, train::TranslationData>;

void run(Trainer& trainer) { static_cast<void>(trainer.run()); }
