// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Attention alone, by weft's kernels and by a library's.
#pragma once

#include <weft/cuda.cuh>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <weft/device/attention_library.cuh>
#include <weft/ops/attention.hpp>
#include <weft/ops/factor.hpp>

#include "harness.cuh"

namespace benchmark {

//! The library of attention that the program is linked with, counting what it computes: a device
//! asks it for some attention only, and does not say for which.
class CountedLibrary : public weft::detail::AttentionLibrary {
 public:
  using Library = weft::detail::AttentionLibrary;
  static inline index_t launches = 0;

  //! From now on devices have it.
  static void count() {
    if (weft::detail::make_attention_library != nullptr) {
      make_library_ = std::exchange(weft::detail::make_attention_library, make);
    }
  }

  explicit CountedLibrary(std::unique_ptr<Library> library) : library_(std::move(library)) {}

  std::optional<index_t> workspace_bytes(const weft::detail::AttentionKind& kind) override {
    return library_->workspace_bytes(kind);
  }
  void launch(const weft::detail::AttentionKind& kind,
              const weft::detail::AttentionAddresses& addresses, cudaStream_t stream) override {
    ++launches;
    library_->launch(kind, addresses, stream);
  }

 private:
  static std::unique_ptr<Library> make() {
    std::unique_ptr<Library> library = make_library_();
    if (!library) return nullptr;
    return std::make_unique<CountedLibrary>(std::move(library));
  }

  static inline std::unique_ptr<Library> (*make_library_)() = nullptr;
  std::unique_ptr<Library> library_;
};

//! Reports one pass of attention of sequences of a length, weft's own, by warps too where it is by
//! warpgroups, and tile by tile where sequences are short, and the library's where it computes
//! this.
inline void report_attention(Cuda& device, const std::string& suite, ProductPrecision precision,
                             index_t length, double work, const std::function<void()>& pass) {
  const auto measure = [&](const std::string& subject) {
    report(suite, subject + to_text(precision), "teraflops_per_second", work,
           seconds(device, pass));
  };
  device.set_library_attention(false);
  measure("weft_");
  if (precision != ProductPrecision::float32) {
    const bool has_warpgroups = device.uses_wgmma() && length >= ops::detail::short_rows;
    device.set_wgmma(false);
    if (has_warpgroups) measure("weft_warps_");
    device.set_short_attention(false);
    if (length <= ops::detail::short_rows) measure("weft_tiles_");
    device.set_short_attention(true);
    device.set_wgmma(true);
  }
  device.set_library_attention(true);
  const index_t before = CountedLibrary::launches;
  pass();
  if (CountedLibrary::launches == before) return;
  measure("weft_cudnn_");
  if (!suite.starts_with("attention.backward")) return;
  device.set_deterministic(false);  // as PyTorch's is
  measure("weft_cudnn_any_order_");
  device.set_deterministic(true);
}

inline constexpr index_t attention_channels = 2048;

//! What attention reads, whatever the lengths and the heads.
struct AttentionInputs {
  Tensor<float, Cuda> q, k, v, dy;  // (tokens, attention_channels)
};

//! Attention alone, of sequences of a length. Causal attention is counted as half.
template <index_t Size>
void attention(Cuda& device, ProductPrecision precision, const AttentionInputs& inputs,
               index_t length, bool causal, const ops::DropoutMask& dropout = {}) {
  constexpr index_t C = attention_channels, H = C / Size;
  const index_t tokens = inputs.q.shape().rows();
  const std::vector<index_t> lengths(static_cast<std::size_t>(tokens / length), length);
  const auto layout = make_layout(device, lengths);
  const Tensor<float, Cuda> log_sums(device, {tokens, H});
  const ops::AttentionProblem<Cuda> problem{H,      Size, causal, 0.1f, layout.get(), layout.get(),
                                            dropout};
  const double work =
      4e-12 * static_cast<double>(tokens) * static_cast<double>(length * C) / (causal ? 2.0 : 1.0);
  const std::string name = text("head_", Size, ".length_", length, causal ? ".causal" : "",
                                dropout.active() ? ".dropout" : "");
  device.set_product_precision(precision);
  // Rows are what modules make them: rounded where products are.
  using Factor = ops::Factor<Cuda>;
  const Factor q(inputs.q), k(inputs.k), v(inputs.v), dy(inputs.dy);
  const auto result = [&] { return Factor(device, {tokens, C}); };
  const Factor y = result(), dq = result(), dk = result(), dv = result();
  const auto in = [&](const auto& x) { return ops::AnyHeadRows(x.numbers(), C); };
  const auto out = [&](const auto& x) { return ops::AnyHeadRows(x.target().numbers, C); };
  report_attention(device, "attention.forward." + name, precision, length, work, [&] {
    ops::attention(device, problem, in(q), in(k), in(v), out(y), log_sums.data(),
                   ops::HeadSize<Size>());
  });
  report_attention(device, "attention.backward." + name, precision, length, 2.5 * work, [&] {
    ops::attention_backward(device, problem, in(q), in(k), in(v), in(y), log_sums.data(), in(dy),
                            out(dq), out(dk), out(dv), ops::HeadSize<Size>());
  });
}

inline void attention_of_lengths(Cuda& device, index_t tokens,
                                 const std::vector<index_t>& lengths) {
  const auto array = [&] { return numbers(device, {tokens, attention_channels}); };
  const AttentionInputs inputs{array(), array(), array(), array()};
  for (const auto precision : {ProductPrecision::bfloat16, ProductPrecision::float32}) {
    for (const index_t length : lengths) {
      for (const bool causal : {false, true}) {
        attention<64>(device, precision, inputs, length, causal);
        attention<128>(device, precision, inputs, length, causal);
      }
    }
  }
}

inline const ops::DropoutMask attention_dropout(0.1f, RandomKey(7, 8), 30);

//! Heads of 64 channels in sequences as short as sentences, with dropout and without.
inline void attention_of_sentences(Cuda& device, index_t tokens) {
  const auto array = [&] { return numbers(device, {tokens, attention_channels}); };
  const AttentionInputs inputs{array(), array(), array(), array()};
  for (const index_t length : {32, 64}) {
    for (const ops::DropoutMask& dropout : {ops::DropoutMask(), attention_dropout}) {
      attention<64>(device, ProductPrecision::bfloat16, inputs, length, false, dropout);
    }
  }
}

inline void attention_with_dropout(Cuda& device, index_t tokens, index_t length) {
  const auto array = [&] { return numbers(device, {tokens, attention_channels}); };
  const AttentionInputs inputs{array(), array(), array(), array()};
  const auto precision = ProductPrecision::bfloat16;
  attention<64>(device, precision, inputs, length, true, attention_dropout);
  attention<128>(device, precision, inputs, length, true, attention_dropout);
  attention<256>(device, precision, inputs, length, true, attention_dropout);
}

}  // namespace benchmark
