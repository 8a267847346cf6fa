// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What a program that tools/bench times has in common with the others: it is started with a
//! JSON object of settings, and answers each line of its input with a line of JSON.
#pragma once

#include <weft/core/clock.hpp>
#include <weft/device/product_precision.hpp>
#include <weft/nn/parameter_layout.hpp>
#include <weft/train/memory_use.hpp>

#include <nlohmann/json.hpp>

#include <cstdio>
#include <exception>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace benchmark {

using Json = nlohmann::json;
using weft::index_t;
using weft::token_t;

//! How long a call takes.
template <class F>
double milliseconds(const F& f) {
  const double begin = weft::monotonic_seconds();
  f();
  return 1e3 * (weft::monotonic_seconds() - begin);
}

//! The precision that settings ask for: "float32" unless they say "bfloat16".
inline weft::ProductPrecision precision(const Json& settings) {
  return settings.value("precision", "float32") == "bfloat16" ? weft::ProductPrecision::bfloat16
                                                              : weft::ProductPrecision::float32;
}

//! The most memory of the process so far, in bytes. getrusage's count goes on from that of the
//! process which started this one.
inline long peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return 1024L * std::stol(line.substr(6));
  }
  throw std::runtime_error("/proc/self/status says no VmHWM");
}

//! The same before a model was made: the program and what it has touched of its libraries.
inline long program_bytes = 0;

//! The most memory of the process so far, and what weft's pools account for it.
inline Json memory(const std::vector<weft::train::MemoryUse>& devices) {
  Json answer{{"peak_bytes", peak_bytes()}, {"account", {{"program", program_bytes}}}};
  for (const auto& use : devices) {
    for (const auto& [name, bytes] :
         {std::pair{"parameters", use.parameters}, std::pair{"gradients", use.gradients},
          std::pair{"optimizer", use.optimizer}, std::pair{"activations", use.activations},
          std::pair{"held", use.held}}) {
      Json& account = answer["account"];
      account[name] = account.value(name, index_t{0}) + bytes;
    }
  }
  return answer;
}

//! Names of commands, and what answers them; each may have an argument.
//!
//! - `save FILE`: writes the parameters, for the peers to start from
//! - `check`: numbers that all subjects must agree on
//! - `repeat`: does the work once and gives milliseconds by name
//! - `memory`: see above
using Commands = std::map<std::string, std::function<Json(const std::string& argument)>>;

//! Answers until the input ends. What is thrown ends it, with its message.
inline int serve(const Commands& commands) {
  for (std::string line; std::getline(std::cin, line);) {
    const auto space = line.find(' ');
    const auto found = commands.find(line.substr(0, space));
    if (found == commands.end()) {
      std::fprintf(stderr, "no such command: %s\n", line.c_str());
      return 2;
    }
    const std::string argument = space == std::string::npos ? "" : line.substr(space + 1);
    std::printf("%s\n", found->second(argument).dump().c_str());
    std::fflush(stdout);
  }
  return 0;
}

//! A program's main function: `run(settings)` with the JSON object of its only argument.
template <class Run>
int run_with_settings(int argc, char** argv, const char* example, const Run& run) try {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s '%s'\n", argv[0], example);
    return 2;
  }
  program_bytes = peak_bytes();
  return run(Json::parse(argv[1]));
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
  return 1;
}

}  // namespace benchmark
