// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Sentences and their translations, read from JSON. Needs nlohmann-json.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/data/parallel_text.hpp>
#include <weft/io/detail/messages.hpp>
#include <weft/io/input_file.hpp>

#include <nlohmann/json.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace weft::data {

namespace detail {

//! Receives the events of a JSON parser and lets nothing pass but a list of pairs.
class JsonPairs {
 public:
  using Json = nlohmann::json;

  explicit JsonPairs(ParallelText& pairs) : pairs_(pairs) {}

  bool start_array(std::size_t) { return begin(Place::in_array); }
  bool start_object(std::size_t) {
    if (place_ == Place::outside) refuse("expected a list of pairs, found an object");
    return begin(Place::in_object);
  }

  bool end_array() {
    if (place_ != Place::in_list) return end();
    place_ = Place::outside;
    return true;
  }
  bool end_object() { return end(); }

  bool key(std::string& name) {
    side_ = name == "source" ? 0 : name == "target" ? 1 : 2;
    if (side_ == 2)
      refuse(
          text("the key ", io::detail::in_quotes(name), " is neither \"source\" nor \"target\""));
    if (pair_[side_]) refuse(text("two sentences for \"", name, "\""));
    return true;
  }

  bool string(std::string& sentence) {
    if (place_ != Place::in_array && place_ != Place::in_object) refuse_value("a string");
    if (place_ == Place::in_array) side_ = !pair_[0] ? 0 : !pair_[1] ? 1 : 2;
    if (side_ == 2) refuse("more than two sentences");
    if (sentence.find('\0') != sentence.npos) refuse("a sentence holds a NUL character");
    pair_[side_] = std::move(sentence);
    return true;
  }

  bool null() { return refuse_value("null"); }
  bool boolean(bool) { return refuse_value("a boolean"); }
  bool number_integer(Json::number_integer_t) { return refuse_value("a number"); }
  bool number_unsigned(Json::number_unsigned_t) { return refuse_value("a number"); }
  bool number_float(Json::number_float_t, const std::string&) { return refuse_value("a number"); }
  bool binary(Json::binary_t&) { return refuse_value("bytes"); }

  bool parse_error(std::size_t, const std::string&, const Json::exception& error) {
    const std::string_view what = error.what();  // [json.exception...] line and column, reason
    constexpr std::size_t longest_bytes = 300;   // it quotes what was read
    throw FormatError(text(pairs_.name, ": not JSON: ",
                           io::detail::readable(what.substr(what.find("] ") + 2), longest_bytes)));
  }

 private:
  enum class Place { outside, in_list, in_array, in_object };

  bool begin(Place pair) {
    if (place_ == Place::in_array || place_ == Place::in_object)
      refuse_value("a list or an object");
    if (place_ == Place::outside) {
      place_ = Place::in_list;
      return true;
    }
    ++number_;
    pair_ = {};
    place_ = pair;
    return true;
  }

  bool end() {
    if (!pair_[0] || !pair_[1]) refuse(text("no ", !pair_[0] ? "source" : "target", " sentence"));
    pairs_.add(number_, std::move(*pair_[0]), std::move(*pair_[1]));
    place_ = Place::in_list;
    return true;
  }

  [[noreturn]] bool refuse_value(const std::string& found) const {
    if (place_ == Place::outside) refuse(text("expected a list of pairs, found ", found));
    if (place_ == Place::in_list) refuse(text("expected a pair after this one, found ", found));
    refuse(text("expected a sentence, found ", found));
  }

  [[noreturn]] void refuse(const std::string& reason) const {
    throw FormatError(text(pairs_.name, ", pair ", number_, ": ", reason));
  }

  ParallelText& pairs_;
  Place place_ = Place::outside;
  index_t number_ = 0;                              // of the pair that is read, from 1
  std::size_t side_ = 0;                            // of the sentence that comes next
  std::array<std::optional<std::string>, 2> pair_;  // source, target
};

}  // namespace detail

//! Reads a JSON file, plain or gzip: a list of pairs, each `["source", "target"]` or
//! `{"source": "...", "target": "..."}`. A pair's "line" is its place in the list, from 1.
//!
//! **Errors.** Those of io::read_file; FormatError, naming the pair or the place, for anything
//! else.
//! **Cost.** Holds the file in memory beside the pairs; the nesting of hostile files costs nothing,
//! since it ends the reading.
[[nodiscard]] inline ParallelText read_json_pairs(const std::string& path) {
  ParallelText pairs;
  pairs.name = path;
  detail::JsonPairs receiver(pairs);
  const std::string json = io::read_file(path);
  if (json.find('\0') != std::string::npos) {  // which the parser would take for the end
    throw FormatError(text(path, ": has a byte of 0, which is no JSON"));
  }
  nlohmann::json::sax_parse(json, &receiver);
  return pairs;
}

}  // namespace weft::data
