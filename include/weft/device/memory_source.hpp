// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Where an arena's memory comes from.
#pragma once

#include <cstddef>

#include <weft/core/index.hpp>

namespace weft {

//! Neighbouring bytes of a source.
struct Segment {
  std::byte* data = nullptr;  //!< the first; null: there is no more memory
  index_t size = 0;           //!< how many may be used
  index_t room = 0;           //!< up to how many it can grow
};

//! The system's memory, or a GPU's.
struct MemorySource {
  index_t alignment;                  //!< of segments and blocks, in bytes
  Segment (*request)(index_t bytes);  //!< at least so many, or none
  //! Takes a segment back.
  void (*give_back)(const Segment& segment);
  //! Makes a segment with room larger by at least so many bytes, in its place; false if there is no
  //! more memory. Not needed of a source whose segments have no room.
  bool (*grow)(Segment& segment, index_t bytes) = nullptr;
  //! Hears of bytes that nobody holds any more and that will be handed out again, on any thread;
  //! may not throw. Not needed.
  void (*unused)(void* context, const std::byte* data, index_t size) = nullptr;
  //! Waits for all that uses what is free, before segments of it are given back. Not needed.
  void (*wait)(void* context) = nullptr;
  void* context = nullptr;  //!< what `unused` and `wait` are called with
};

//! What segments that will not grow have at least, in bytes, where the system has so many.
inline constexpr index_t least_segment = index_t{16} << 20;

}  // namespace weft
