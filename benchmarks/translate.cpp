// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// Translates sentences with the base Transformer, greedily (a beam of 1; the check has scores of
// beam search) or by beam search. See serve.hpp.
//
// A random model hardly prefers one word to another, and ends where chance says. So the generator's
// weights are 24 times as large as they begin, which gives the best word some tenth of the
// probability, and those of the four marks are 0: their logits lie 15 below the best one's, no
// sentence ends by itself, and every subject generates the greatest length.

#include "parameters.hpp"
#include "serve.hpp"
#include "translation_models.hpp"

#include <weft/generate/beam_search.hpp>
#include <weft/generate/greedy_search.hpp>
#include <weft/generate/largest_logit.hpp>
#include <weft/nn/criteria.hpp>
#include <weft/nn/generator.hpp>
#include <weft/nn/initialize.hpp>
#include <weft/parallel/chunked.hpp>
#include <weft/parallel/objective.hpp>
#include <weft/train/device_batch.hpp>

#include <algorithm>
#include <vector>

using namespace weft;
using namespace benchmark;

namespace {

constexpr index_t vocabulary = 32000;
constexpr index_t marks = 4;

using Model = nn::Transformer<base>;
using Generator = nn::Generator<base>;
using Objective = parallel::Objective<Model, Chunked<Generator, nn::LabelSmoothing>>;

std::vector<float> make_values(const Objective& objective) {
  auto values = nn::initial_values(objective.layout(), /*seed=*/1, objective);
  const auto& weight = objective.loss().generator.weight;
  float* const first = values.data() + weight.value_offset;
  std::for_each(first, first + weight.size(), [](float& value) { value *= 24.0f; });
  std::fill_n(first, marks * Model::C, 0.0f);
  return values;
}

int run(const Json& settings) {
  Cpu device(settings.at("threads"));
  const Objective objective(Model({vocabulary, vocabulary, 512}), nn::LabelSmoothing());
  auto values = to_device<float>(device, make_values(objective), {objective.layout().values});
  values.mark(MemoryKind::parameters);

  const index_t sentences = settings.at("sentences");
  const auto batch = make_batch({sentences, settings.at("source_length"), 1, vocabulary});
  const auto source = train::to_sequences(device, batch.source, {0, sentences});
  device.set_product_precision(precision(settings));
  const generate::SearchSettings search{.beam = settings.at("beam"),
                                        .length_penalty = 0.0,
                                        .max_length_b = settings.at("most_words"),
                                        .rules = generate::Rules::transformers};
  nn::Context<Cpu> ctx(device, values.data());
  ctx.round_weights(objective.layout());
  const auto& generator = objective.loss().generator;
  generate::LargestLogit<Generator, Cpu> next_word(generator);
  const auto search_beam = [&] {
    return generate::beam_search(ctx, objective.model(), generator, source, search);
  };
  const auto search_greedily = [&] {
    return generate::greedy_search(ctx, objective.model(), next_word, source, search);
  };

  return serve(
      {{"save",
        [&](const std::string& path) {
          write_parameters(path, objective, values.data());
          return Json(true);
        }},
       {"check",
        [&](const std::string&) {
          Json answer{{"translations", Json::array()}, {"scores", Json::array()}};
          for (const auto& found : search_beam()) {
            answer["translations"].push_back(found.at(0).tokens);
            answer["scores"].push_back(found.at(0).score);
          }
          if (search.beam == 1) answer["translations"] = search_greedily();
          return answer;
        }},
       {"repeat",
        [&](const std::string&) {
          return Json{{"translate", milliseconds([&] {
                         search.beam == 1 ? void(search_greedily()) : void(search_beam());
                       })}};
        }},
       {"memory", [&](const std::string&) { return memory({train::memory_of(device)}); }}});
}

}  // namespace

int main(int argc, char** argv) {
  return run_with_settings(argc, argv,
                           R"({"beam": 5, "sentences": 64, "source_length": 24, )"
                           R"("most_words": 32, "threads": 1})",
                           run);
}
