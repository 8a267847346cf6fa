// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/train/device_batch.hpp>

#include <weft/testing/small_translation.hpp>

#include <catch2/catch.hpp>

#include <cstdint>
#include <utility>
#include <vector>

#include "../message_of.hpp"

namespace device_batch_tests {

using namespace weft;
using train::DeviceBatch;
using weft::testing::message_of;
using weft::testing::random_translations;

namespace {

using Keys = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

Keys keys_of(const TokenSequences<Cpu>& sequences) {
  Keys keys;
  for (const RowKey& key : to_host(sequences.layout->keys)) {
    keys.emplace_back(key.sequence, key.position);
  }
  return keys;
}

data::TokenRows rows_of(const std::vector<std::vector<token_t>>& rows) {
  data::TokenRows packed;
  for (const auto& row : rows) {
    packed.append(row);
    packed.end_row();
  }
  return packed;
}

}  // namespace

TEST_CASE("rows of a range come to the device with their lengths and their own numbers") {
  Cpu device;
  const auto rows = rows_of({{7, 8, 9}, {4}, {5, 6}, {}, {10, 11}});
  const auto part = train::to_sequences(device, rows, {1, 5});
  CHECK(to_host(part.ids) == std::vector<token_t>{4, 5, 6, 10, 11});
  CHECK(part.layout->offsets == std::vector<index_t>{0, 1, 3, 3, 5});
  CHECK(part.layout->longest == 2);
  CHECK(keys_of(part) == Keys{{1, 0}, {2, 0}, {2, 1}, {4, 0}, {4, 1}});
}

TEST_CASE("a range of no rows is a batch of no sequences") {
  Cpu device;
  const auto rows = rows_of({{7, 8, 9}, {4}});
  for (const Range range : {Range{0, 0}, Range{1, 1}, Range{2, 2}}) {
    const auto part = train::to_sequences(device, rows, range);
    CHECK(part.ids.size() == 0);
    CHECK(part.layout->sequences() == 0);
  }
}

TEST_CASE("rows that are not there, or were not ended, are refused") {
  Cpu device;
  auto rows = rows_of({{7, 8, 9}, {4}});
  const auto refusal = [&](Range range) {
    return message_of<DataError>(
        [&] { return train::to_sequences(device, rows, range).ids.size(); });
  };
  CHECK(refusal({0, 2}) == "(no error)");
  CHECK(refusal({1, 3}) == "rows 1 to 2 of token rows: there are 2, which end at token 4 of 4");
  CHECK(refusal({-1, 1}) == "rows -1 to 0 of token rows: there are 2, which end at token 4 of 4");
  rows.tokens.push_back(5);
  CHECK(refusal({0, 1}) == "rows 0 to 0 of token rows: there are 2, which end at token 4 of 5");
  rows.offsets = {-1, 3, 5};
  CHECK(refusal({0, 1}) ==
        "rows 0 to 0 of token rows: they begin at token -1 and end at token 3 of 5");
  rows.offsets = {0, 9, 5};
  CHECK(refusal({0, 1}) ==
        "rows 0 to 0 of token rows: they begin at token 0 and end at token 9 of 5");
  CHECK(refusal({1, 2}) ==
        "rows 1 to 1 of token rows: they begin at token 9 and end at token 5 of 5");
  rows.offsets.clear();
  CHECK(refusal({0, 0}) == "rows 0 to -1 of token rows: there are 0, which end at token 0 of 5");
}

TEST_CASE("a part of a batch holds what the model reads and should say") {
  Cpu device;
  data::TranslationBatch batch;
  batch.source = rows_of({{4, 5, 3}, {6, 3}, {7, 8, 9, 3}});
  batch.target_input = rows_of({{2, 14}, {2, 16, 17}, {2, 18}});
  batch.target_output = rows_of({{14, 3}, {16, 17, 3}, {18, 3}});
  batch.sentences = {20, 5, 11};
  const DeviceBatch on_devices(batch);
  CHECK(on_devices.size() == 3);
  const auto part = on_devices.part(device, {1, 3});
  CHECK(to_host(part.input.source.ids) == std::vector<token_t>{6, 3, 7, 8, 9, 3});
  CHECK(to_host(part.input.target.ids) == std::vector<token_t>{2, 16, 17, 2, 18});
  CHECK(to_host(part.labels) == std::vector<token_t>{16, 17, 3, 18, 3});
  // Keyed by the sentence's number in the batch: 1 and 2, not 0 and 1.
  CHECK(keys_of(part.input.target) == Keys{{1, 0}, {1, 1}, {1, 2}, {2, 0}, {2, 1}});
  CHECK(keys_of(part.input.source) == Keys{{1, 0}, {1, 1}, {2, 0}, {2, 1}, {2, 2}, {2, 3}});
}

TEST_CASE("however a batch is cut, its parts hold the same rows under the same keys") {
  Cpu device;
  const auto batch = random_translations(13, 4);
  const DeviceBatch on_devices(batch);
  const auto whole = on_devices.part(device, {0, 13});
  for (const index_t parts : {2, 3, 13, 20}) {
    std::vector<token_t> source, labels;
    Keys source_keys, target_keys;
    for (index_t p = 0; p < parts; ++p) {
      const auto part = on_devices.part(device, share(13, parts, p));
      const auto append = [](auto& all, const auto& more) {
        all.insert(all.end(), more.begin(), more.end());
      };
      append(source, to_host(part.input.source.ids));
      append(labels, to_host(part.labels));
      append(source_keys, keys_of(part.input.source));
      append(target_keys, keys_of(part.input.target));
    }
    CAPTURE(parts);
    CHECK(source == to_host(whole.input.source.ids));
    CHECK(labels == to_host(whole.labels));
    CHECK(source_keys == keys_of(whole.input.source));
    CHECK(target_keys == keys_of(whole.input.target));
  }
}

TEST_CASE("batches with other words on any side have other fingerprints") {
  auto batch = random_translations(3, 1);
  const auto before = DeviceBatch(batch).fingerprint();
  for (data::TokenRows* rows : {&batch.source, &batch.target_input, &batch.target_output}) {
    ++rows->tokens.back();
    CHECK(DeviceBatch(batch).fingerprint() != before);
    --rows->tokens.back();
  }
  CHECK(DeviceBatch(batch).fingerprint() == before);
}

TEST_CASE("a batch whose rows do not belong together is refused") {
  const auto refusal = [](auto spoil) {
    auto batch = random_translations(3, 1);
    spoil(batch);
    return message_of<DataError>([&] { return DeviceBatch(batch), 0; });
  };
  CHECK(refusal([](auto&) {}) == "(no error)");
  CHECK(refusal([](auto& batch) {
          batch.target_output.offsets.pop_back();
        }).starts_with("a batch of 3 sentences: target_output has 2 rows that end at word "));
  CHECK(refusal([](auto& batch) {
          batch.sentences.pop_back();
        }).starts_with("a batch of 2 sentences: source has 3 rows"));
  CHECK(refusal([](auto& batch) {
          batch.source.tokens.pop_back();
        }).starts_with("a batch of 3 sentences: source has 3 rows"));
  CHECK(refusal([](auto& batch) { --batch.target_input.offsets[1]; }) ==
        "a batch: rows of target_input are not as long as those of target_output");
}

}  // namespace device_batch_tests
