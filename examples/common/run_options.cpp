// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include "run_options.hpp"

#include "number_checks.hpp"

#include <weft/core/version.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

namespace examples {

void add_product_precision(CLI::App& app, std::string& precision, const std::string& help,
                           const std::string& group) {
  app.add_option("--product-precision", precision, help)
      ->check(CLI::IsMember({"float32", "tf32", "bfloat16", "float16", "fastest"}))
      ->capture_default_str()
      ->group(group);
}

void add_seed(CLI::App& app, std::uint64_t& seed, const std::string& help,
              const std::string& group) {
  app.add_option("--seed", seed, help)->check(examples::seed())->group(group);
}

void prepare_commands(CLI::App& app) {
  app.require_subcommand(1);
  app.fallthrough();
  app.option_defaults()->ignore_underscore()->always_capture_default();
  app.set_version_flag("--version", std::string("weft ") + weft::version);
  app.set_config("--config", "", "Read options from this TOML or INI file");
  app.allow_config_extras(CLI::config_extras_mode::error);
}

void add_run_options(CLI::App& app, RunOptions& o) {
  app.add_flag("--resume", o.resume, "Go on from the state in the folder")->group(run_group);
  app.add_flag("--check-finite", o.check_finite,
               "Stop at the first number that is not finite: name its operation and module")
      ->group(run_group);
  add_product_precision(app, o.product_precision,
                        "Round the factors of matrix products; float16 scales losses too; fastest "
                        "measures, and takes bfloat16 where it is faster",
                        run_group);
  app.add_option("--log", o.log, "Write a JSON object for each epoch to this file")
      ->group(run_group);
  app.add_option("--tensorboard", o.tensorboard, "Write the same for TensorBoard to this folder")
      ->group(run_group);
  app.add_option("--report", o.report, "Write a page about the run to this file, as HTML")
      ->group(run_group);
  app.add_option("--trace", o.trace,
                 "Write what devices did in a few batches to this file, for ui.perfetto.dev")
      ->group(run_group);
}

std::optional<weft::optim::LossScaling> loss_scaling_of(const RunOptions& o) {
  if (o.product_precision != "float16") return std::nullopt;
  return weft::optim::LossScaling{};
}

namespace {

//! A word as a shell takes it.
std::string quoted(const std::string& word) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("_@%+=:,./-").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

std::string command_line(int argc, char** argv) {
  std::string line;
  for (int i = 0; i < argc; ++i) line += (i > 0 ? " " : "") + quoted(argv[i]);
  return line;
}

}  // namespace examples
