// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// A language model of Llama's kind: it learns to count in steps, is saved as Hugging Face's Llama
// can be made of it, and is read again.
//
//     build/examples/guides/guide_llama
//
// Prints:
//   trained: 3 6 9 goes on with 12 15 2 5; 7 8 goes on with 9 10 11 12
//   read again: 3 6 9 goes on with 12 15 2 5; 7 8 goes on with 9 10 11 12
//   trained in stages: 3 6 9 goes on with 12 15 2 5; 7 8 goes on with 9 10 11 12

// [model]
#include <weft/train/language_model_data.hpp>
#include <weft/train/model_config.hpp>
#include <weft/train/trainer.hpp>
#include <weft/weft.hpp>

// [model]

// [include-stages]
#include <weft/comm/launch.hpp>
#include <weft/parallel/pipeline_parallel.hpp>
#include <weft/parallel/schedule/one_forward_one_backward.hpp>
// [include-stages]

#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

// [model]
using namespace weft;

constexpr nn::LanguageModelShape shape{.d_model = 32,
                                       .heads = 4,
                                       .key_heads = 2,  // two heads of queries share one of keys
                                       .d_ff = 88,
                                       .layers = 2,
                                       .rms_norm = true,
                                       .activation = ops::Activation::silu,
                                       .gated = true,
                                       .positions = nn::Positions::rotary,
                                       .scale_embedding = false};
using Model = nn::LanguageModel<shape>;
using Loss = Chunked<nn::LanguageModelGenerator<shape>, nn::CrossEntropy>;
using Train = DataParallel<Model, Loss, optim::AdamW>;
// [model]

// [large]
constexpr nn::LanguageModelShape llama_3_8b{.d_model = 4096,
                                            .heads = 32,
                                            .key_heads = 8,
                                            .d_ff = 14'336,
                                            .layers = 32,
                                            .rms_norm = true,
                                            .activation = ops::Activation::silu,
                                            .gated = true,
                                            .positions = nn::Positions::rotary,
                                            .rotary = {.base = 500'000},
                                            .scale_embedding = false};
static_assert(nn::parameter_count(nn::LanguageModel<llama_3_8b>(128'256),
                                  nn::LanguageModelGenerator<llama_3_8b>(128'256)) ==
              8'030'261'248);
// [large]

namespace {

constexpr index_t words = 16;

//! Rows of sixteen words, in steps of 1, 2 or 3: each word follows from the two before it.
std::vector<token_t> counting(index_t rows) {
  std::vector<token_t> text;
  for (index_t row = 0; row < rows; ++row) {
    for (index_t i = 0; i < 16; ++i) {
      text.push_back(static_cast<token_t>((5 * row + i * (1 + row % 3)) % words));
    }
  }
  return text;
}

Train strategy_on(const DeviceGroup<Cpu>& devices) {
  return Train(devices, Train::Objective(Model(words), nn::CrossEntropy()), optim::AdamW(),
               {.seed = 1, .lanes = 2, .micro_batches = 2});
}

// [train]
void train_model(Train& train, const std::string& path) {
  const data::Columns training(counting(300), /*columns=*/20, /*chunk=*/16, "counting");
  const data::Columns validation(counting(30), 2, 16, "more counting");
  const train::LanguageModelData data(training, validation);
  const train::RunFolder folder(path);
  train::Trainer trainer(train, data,
                         optim::CosineDecay{.peak = 0.01, .updates = 450, .warmup = 20}, folder,
                         {.max_epochs = 30});
  trainer.run();
  train::save_model(train, path + "/model.safetensors", {});
  train::save_config(folder, train::config_of(shape));
}
// [train]

// [read]
void read_model(Train& train, const std::string& path) {
  const auto folder = train::RunFolder::existing(path);
  train::expect_config(folder, train::config_of(shape));  // or it is another type's
  (void)train::load_model(train, path + "/model.safetensors");
}
// [read]

// [write]
//! The words that the model puts behind each text, one likeliest word after the other.
std::vector<std::vector<token_t>> behind(Train& train,
                                         const std::vector<std::vector<token_t>>& texts) {
  nn::Context ctx(train.device(0), train.state().values().data());
  return generate::continue_texts(ctx, train.objective().model(),
                                  train.objective().loss().generator, texts, {.most = 4});
}
// [write]

// [stages]
using Layer = Model::Layer;
using First = nn::Sequential<Model::EmbeddingType, Layer>;
using Last = nn::Sequential<Layer, Model::Normalisation>;
using Stages = Pipe<OneForwardOneBackward<2>, First, Last>;
using Objective = parallel::Objective<Stages, Loss>;

Objective in_stages() {
  Model::EmbeddingType embedding(words, /*longest=*/16, /*dropout=*/0.0f);
  embedding.scaled = shape.scale_embedding;
  const Layer layer(nn::Dropouts::everywhere(0.0f), /*causal=*/true);
  return Objective(Stages(First(embedding, layer), Last(layer, {})), nn::CrossEntropy());
}

//! Shows each part with what its names begin with in a LanguageModel's file.
template <class Visit>
void for_each_part(const Objective& objective, const Visit& visit) {
  const auto& [first, last] = objective.model().modules;
  visit(std::get<0>(first.modules), "embedding.");
  visit(std::get<1>(first.modules), "encoder.layers.0.");
  visit(std::get<0>(last.modules), "encoder.layers.1.");
  visit(std::get<1>(last.modules), "encoder.norm.");
  visit(objective.loss().generator, "generator.");
}

void train_in_stages(const data::LanguageModelBatch& batch, const std::string& path) {
  comm::launch_threads(2, comm::default_timeout, [&](comm::ThreadCommunicator& rank) {
    Cpu device;
    PipelineParallel<Stages, Loss, Zero<0>, optim::AdamW> train(
        device, rank, in_stages(), optim::AdamW(), {.lanes = 1, .micro_batches = 2});
    for_each_part(train.objective(), [&](const auto& part, const std::string& names) {
      train::load_part(train, part, path + "/model.safetensors", names);
    });
    train.step(train::LanguageModelDeviceBatch(batch), /*rate=*/0.001);
    for_each_part(train.objective(), [&](const auto& part, const std::string& names) {
      train::save_part(train, part, path + "/" + names + "safetensors", {});
    });
  });
}

//! A LanguageModel, whose file is a folder's again, has them as its own parts.
void read_parts(Train& train, const std::string& path) {
  const auto read = [&](const auto& part, const std::string& names) {
    train::load_part(train, part, path + "/" + names + "safetensors");
  };
  const Model& model = train.objective().model();
  read(model.embedding, "embedding.");
  for (std::size_t i = 0; i < model.encoder.layers.size(); ++i) {
    read(model.encoder.layers[i], text("encoder.layers.", i, "."));
  }
  read(model.encoder.norm, "encoder.norm.");
  read(train.objective().loss().generator, "generator.");
}
// [stages]

void say(const char* when, Train& train) {
  const std::vector<std::vector<token_t>> texts{{3, 6, 9}, {7, 8}};
  const auto words_behind = behind(train, texts);
  std::string line;
  for (std::size_t b = 0; b < texts.size(); ++b) {
    line += b == 0 ? ": " : "; ";
    for (const token_t word : texts[b]) line += text(word, " ");
    line += "goes on with";
    for (const token_t word : words_behind[b]) line += text(" ", word);
  }
  std::printf("%s%s\n", when, line.c_str());
}

}  // namespace

int main() {
  const auto path = std::filesystem::temp_directory_path() / text("weft-llama-", getpid());
  const DeviceGroup<Cpu> devices(2);
  Train train = strategy_on(devices);
  train_model(train, path);
  say("trained", train);
  Train another = strategy_on(devices);
  read_model(another, path);
  say("read again", another);
  data::LanguageModelBatch batch;
  data::Columns(counting(8), /*columns=*/8, /*chunk=*/15, "a batch").fill(0, batch);
  train_in_stages(batch, path);
  read_parts(another, path);
  say("trained in stages", another);
  std::filesystem::remove_all(path);
}
