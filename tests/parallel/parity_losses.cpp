// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/parallel/chunked.hpp>

#include <weft/nn/criteria.hpp>
#include <weft/nn/generator.hpp>

#include "../parity.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <utility>
#include <vector>

namespace parity_losses_tests {

using namespace weft;
using namespace weft::testing;

namespace {

constexpr index_t C = 24, vocabulary = 29;

//! One case of the file: nn.Linear and cross_entropy over all rows of two batches at once.
template <bool Bias>
void check(const std::string& name, const nn::LabelSmoothing& criterion, index_t counted,
           index_t chunk) {
  INFO(name << " in chunks of " << chunk);
  using Generator = nn::BasicGenerator<C, Bias>;
  Cpu device(2);
  const Fixture fixture("parallel/data/losses.safetensors");
  Chunked<Generator, nn::LabelSmoothing> loss(Generator(vocabulary), criterion, chunk);
  const auto places = place(loss);
  Parity parity_of(device, fixture, name + "/", loss, places);
  std::vector<float> values = fixture.read("generator.weight");
  if (Bias) {
    const auto bias = fixture.read("generator.bias");
    values.insert(values.end(), bias.begin(), bias.end());
  }

  auto& gradients = parity_of.begin();
  Count<of::Tokens> tokens;
  for (const std::string batch : {"first", "last"}) {
    INFO(batch);
    const auto layout = fixture.layout(device, batch + "/lengths");
    const auto ids = fixture.read<token_t>(batch + "/labels");
    const auto labels = to_device<token_t>(device, ids, {std::ssize(ids)});
    nn::Context<Cpu> ctx(device, values.data(), gradients, RandomKey());
    auto [sum, saved] = loss.forward(ctx, fixture.rows<C>(device, batch + "/x", layout), labels);
    const auto dx = loss.backward(ctx, std::move(saved), layout);

    const std::string expected = name + "/" + batch;
    CHECK(sum.loss.value() ==
          Approx(fixture.read<double>(expected + "/loss").at(0)).epsilon(parity));
    CHECK(relative_error(dx.values, fixture.read(expected + "/dx")) < parity);
    tokens += sum.tokens;
  }
  CHECK(tokens == Count<of::Tokens>(counted));
  parity_of.check_gradients();
}

}  // namespace

TEST_CASE("the chunked loss and its gradients equal PyTorch's unchunked ones") {
  for (const index_t chunk : {1, 3, 5, 100}) {
    check<true>("smoothed", nn::LabelSmoothing(0.1f, 0), 14, chunk);
    check<false>("plain", nn::CrossEntropy(), 17, chunk);
  }
}

}  // namespace parity_losses_tests
