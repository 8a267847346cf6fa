// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The pieces of words that a MarianMT model reads and writes.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/data/words.hpp>
#include <weft/io/input_file.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace marian {

//! The numbers of a model's pieces, as its vocab.json has them.
class Pieces {
 public:
  //! **Errors.** SystemError, FormatError, unless the file gives pieces numbers of 0 to
  //! `vocabulary` - 1, and "<unk>" one.
  Pieces(const std::string& path, weft::index_t vocabulary)
      : names_(static_cast<std::size_t>(vocabulary), unknown_name) {
    const auto json = nlohmann::json::parse(weft::io::read_file(path), nullptr, false);
    if (!json.is_object()) throw weft::FormatError(weft::text(path, ": is not a JSON object"));
    for (const auto& [name, number] : json.items()) {
      if (!number.is_number_integer() || number < 0 || number >= vocabulary) {
        throw weft::FormatError(
            weft::text(path, ": \"", name, "\" should have a number below ", vocabulary));
      }
      numbers_[name] = number.get<weft::token_t>();
      names_[number.get<std::size_t>()] = name;
    }
    if (!numbers_.contains(unknown_name)) {
      throw weft::FormatError(weft::text(path, ": has no piece \"", unknown_name, "\""));
    }
    unknown_ = numbers_.at(unknown_name);
  }

  //! The pieces of a line that spaces separate; what the model does not know is "<unk>".
  [[nodiscard]] std::vector<weft::token_t> encode(std::string_view line) const {
    std::vector<weft::token_t> tokens;
    weft::data::for_each_piece(line, [&](std::string_view piece) {
      const auto found = numbers_.find(piece);
      tokens.push_back(found == numbers_.end() ? unknown_ : found->second);
    });
    return tokens;
  }

  [[nodiscard]] std::string decode(std::span<const weft::token_t> tokens) const {
    std::string line;
    for (const auto token : tokens) {
      line += (line.empty() ? "" : " ") + names_[static_cast<std::size_t>(token)];
    }
    return line;
  }

 private:
  static constexpr const char* unknown_name = "<unk>";

  std::vector<std::string> names_;
  std::map<std::string, weft::token_t, std::less<>> numbers_;
  weft::token_t unknown_ = 0;
};

}  // namespace marian
