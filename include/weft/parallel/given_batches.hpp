// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The batches of an update, told from those that another rank may have been given.
#pragma once

#include <cstdint>

#include <weft/core/fingerprint.hpp>
#include <weft/core/index.hpp>

namespace weft::parallel {

//! How many sequences some batches have, and the fingerprint of all.
class GivenBatches {
 public:
  GivenBatches() = default;
  //! Of one batch.
  template <class B>
  explicit GivenBatches(const B& batch) {
    add(batch);
  }

  //! Another batch of the same update.
  template <class B>
  void add(const B& batch) {
    const auto size = static_cast<index_t>(batch.size());
    size_ += size;
    fingerprint_.add(static_cast<std::uint64_t>(size));
    fingerprint_.add(static_cast<std::uint64_t>(batch.fingerprint()));
  }

  //! How many sequences there are.
  [[nodiscard]] index_t size() const { return size_; }
  //! Of their sizes and fingerprints.
  [[nodiscard]] std::uint64_t fingerprint() const { return fingerprint_.value(); }

 private:
  index_t size_ = 0;
  Fingerprint fingerprint_;
};

}  // namespace weft::parallel
