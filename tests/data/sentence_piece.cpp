// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/data/sentence_piece.hpp>

#include <weft/data/vocabulary.hpp>
#include <weft/io/lines.hpp>

#include <zlib.h>
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../message_of.hpp"
#include "../temporary_folder.hpp"
#include "protocol_buffer.hpp"

using namespace weft;
using namespace weft::data;
using namespace weft::testing;
using Catch::Contains;

namespace {

//! The text that tests/reference/bpe_codes.py learns from.
std::vector<std::string> lines() {
  auto text = io::read_lines(WEFT_TESTS "/data/data/bpe/input");
  text.resize(10);
  return text;
}

}  // namespace

TEST_CASE("a trained model has as many pieces as asked for, and gives text back") {
  const auto text = lines();
  for (const auto kind : {PieceModel::unigram, PieceModel::bpe}) {
    const auto model = SentencePiece::train({text, text}, {.pieces = 70, .model = kind});
    CHECK(model.size() == 70);
    std::set<std::string> used;
    for (const auto& line : text) {
      const std::string pieces = model.encode(line);
      const auto words = split_words(pieces);
      CHECK(words.size() > split_words(line).size());
      used.insert(words.begin(), words.end());
      CHECK(model.decode(pieces) == line);
    }
    CHECK(used.size() <= 70);
    CHECK(std::ranges::any_of(used, [](const auto& piece) { return piece.size() > 4; }));
    CHECK(model.encode("der  Müller ") == model.encode("der Müller"));
    CHECK(model.encode("").empty());
    CHECK(model.decode("").empty());
    CHECK(model.decode(model.encode("der 層 Müller")) == "der 層 Müller");
  }
}

TEST_CASE("the kinds of models cut text in their own way") {
  const auto text = lines();
  const auto unigram = SentencePiece::train({text}, {.pieces = 70});
  const auto bpe = SentencePiece::train({text}, {.pieces = 70, .model = PieceModel::bpe});
  CHECK(std::ranges::any_of(
      text, [&](const auto& line) { return unigram.encode(line) != bpe.encode(line); }));
}

TEST_CASE("a saved model is loaded, and training is repeatable") {
  const TemporaryFolder folder;
  const auto text = lines();
  const auto model = SentencePiece::train({text}, {.pieces = 70});
  model.save(folder.path("a.model"));
  SentencePiece::train({text}, {.pieces = 70}).save(folder.path("b.model"));
  CHECK((io::read_file(folder.path("a.model")) == io::read_file(folder.path("b.model"))));
  const SentencePiece loaded(folder.path("a.model"));
  CHECK(loaded.size() == model.size());
  for (const auto& line : text) CHECK(loaded.encode(line) == model.encode(line));
}

TEST_CASE("pieces are words of a vocabulary") {
  const auto text = lines();
  const auto model = SentencePiece::train({text}, {.pieces = 70});
  WordCounts counts;
  for (const auto& line : text) counts.add_line(model.encode(line));
  const auto words = build_vocabulary(counts);
  for (const auto& line : text) {
    const auto ids = words.encode(model.encode(line));
    CHECK(std::ranges::count(ids, words.unk()) == 0);
    CHECK(model.decode(words.decode(ids)) == line);
  }
}

TEST_CASE("a number of pieces that cannot be is refused in the library's words") {
  const auto text = lines();
  const auto refused = [&](index_t pieces) {
    return message_of<ArgumentError>([&] { return SentencePiece::train({text}, {pieces}); });
  };
  CHECK_THAT(refused(8000), Contains("cannot find 8000 pieces: Vocabulary size too high"));
  CHECK_THAT(refused(5), Contains("cannot find 5 pieces: Vocabulary size is smaller"));
  CHECK_THAT(refused(0), Contains("cannot find 0 pieces"));
  CHECK_THAT(refused(-1), Contains("cannot find -1 pieces"));
  CHECK(message_of<DataError>([] { return SentencePiece::train({}, {}); }) ==
        "SentencePiece: there is no text to train on");
}

TEST_CASE("a text may have more letters than 32 bits count") {
  const std::string line(4000, 'x');  // and the library's marks around it
  const auto many = [&](std::size_t count) {
    const std::vector<std::span<const std::string>> texts(count, std::span(&line, 1));
    return data::detail::LinesForTraining(texts).letters();
  };
  CHECK(many(1) == 4002);
  const auto text = lines();
  const std::vector<std::span<const std::string>> texts{text};
  const auto trained_as = [&](index_t letters) {
    data::detail::LinesForTraining training(texts);
    std::string bytes;
    REQUIRE(sentencepiece::SentencePieceTrainer::Train(
                data::detail::training_options({.pieces = 70}, letters), &training, &bytes)
                .ok());
    const TemporaryFolder folder;
    const SentencePiece model(folder.write("some.model", bytes));
    std::vector<std::string> pieces;
    for (const auto& each : text) pieces.push_back(model.encode(each));
    return std::pair(bytes, pieces);
  };
  const auto [few_bytes, few] = trained_as(many(536'602));
  const auto [many_bytes, as_many] = trained_as(many(536'603));
  CHECK(few == as_many);
  CHECK(few_bytes != many_bytes);  // the model says how it was trained
}

TEST_CASE("a text of blank lines, and of lines that are too long, is refused") {
  const auto refused = [](const std::vector<std::string>& text) {
    return message_of<DataError>([&] { return SentencePiece::train({text}, {.pieces = 5}); });
  };
  const std::string long_line(5000, 'x'), letter = "x";
  for (const std::string blank : {"", " \t", "\u3000\u00a0"}) {
    CAPTURE(blank);
    CHECK(refused({blank, long_line}) == "SentencePiece: there is no text to train on");
    CHECK(refused({blank, letter}) == "(no error)");
  }
}

TEST_CASE("a file that is no model is refused with its path") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& contents) {
    const auto path = folder.write("x.model", contents);
    const auto message = message_of<FormatError>([&] { return SentencePiece(path); });
    return message.starts_with(path + ": is not a SentencePiece model: ");
  };
  CHECK(refused(""));
  CHECK(refused("#version: 0.2\na b\n"));
  CHECK(refused(std::string(1000, '\xFF')));
  const auto text = lines();
  SentencePiece::train({text}, {.pieces = 70}).save(folder.path("whole"));
  const std::string whole = io::read_file(folder.path("whole"));
  for (const std::size_t bytes : {whole.size() - 1, whole.size() / 2, std::size_t{100}}) {
    CHECK(refused(whole.substr(0, bytes)));
  }
  CHECK(refused(model_with(piece("a"))));  // twice: the library's own check
  CHECK_THAT(message_of<SystemError>([] { return SentencePiece("/nowhere/x.model"); }),
             Contains("/nowhere/x.model"));
}

TEST_CASE("a small gzip file does not fill the memory") {
  const TemporaryFolder folder;
  const auto path = folder.path("x.model");
  gzFile file = gzopen(path.c_str(), "wb1");
  const std::string zeros(std::size_t{1} << 20, '\0');
  for (int i = 0; i < 65; ++i) gzwrite(file, zeros.data(), static_cast<unsigned>(zeros.size()));
  gzclose(file);
  CHECK(message_of<FormatError>([&] { return SentencePiece(path); }) ==
        path + ": holds more than 67108864 bytes");
}

TEST_CASE("models that crash the library do not reach it") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& contents) {
    const auto path = folder.write("x.model", contents);
    return message_of<FormatError>([&] { return SentencePiece(path); }) != "(no error)";
  };
  CHECK_FALSE(refused(model_with()));
  CHECK(refused(model_with(piece(std::string(std::size_t{1} << 20, 'x')))));
  CHECK(refused(model_with(piece(std::string(1, '\0')))));
  CHECK(refused(model_with("", std::string(1024, '\xFF'))));
}

TEST_CASE("white space that a model keeps is not lost") {
  const std::vector<std::string> text(20, "monde\u00a0! der\u3000Müller");
  const std::vector<std::span<const std::string>> texts{text};
  data::detail::LinesForTraining training(texts);
  std::string bytes;
  REQUIRE(sentencepiece::SentencePieceTrainer::Train({{"vocab_size", "20"},
                                                      {"normalization_rule_name", "identity"},
                                                      {"model_type", "char"},
                                                      {"hard_vocab_limit", "false"},
                                                      {"minloglevel", "2"}},
                                                     &training, &bytes)
              .ok());
  const TemporaryFolder folder;
  const SentencePiece model(folder.write("identity.model", bytes));
  const std::string pieces = model.encode(text[0]);
  std::vector<std::string_view> parts;
  for_each_piece(pieces, [&](std::string_view piece) { parts.push_back(piece); });
  CHECK(parts == split_words(pieces));
  CHECK(model.decode(pieces) == "monde ! der Müller");
}
