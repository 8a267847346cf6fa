// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Every TraceSpan is a range of NVTX too, which NVIDIA's tools show; weft/cuda.cuh brings
//! it.
//!
//! One source of a program includes it, and the spans of all are ranges. Any C++ compiler takes it,
//! with CUDA's headers on the path.
#pragma once

#include <nvtx3/nvToolsExt.h>

#include <cstdint>

#include <weft/core/index.hpp>
#include <weft/core/trace.hpp>

namespace weft::detail {

inline std::uint64_t begin_nvtx_range(const char* name, index_t number) {
  nvtxEventAttributes_t range{};
  range.version = NVTX_VERSION;
  range.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  range.messageType = NVTX_MESSAGE_TYPE_ASCII;
  range.message.ascii = name;
  range.payloadType = NVTX_PAYLOAD_TYPE_INT64;
  range.payload.llValue = number;
  return nvtxRangeStartEx(&range);
}

inline void end_nvtx_range(std::uint64_t range) { nvtxRangeEnd(range); }

inline constexpr RangeMaker nvtx_ranges{begin_nvtx_range, end_nvtx_range};

inline const bool spans_are_nvtx_ranges = [] {
  range_maker = &nvtx_ranges;
  return true;
}();

}  // namespace weft::detail
