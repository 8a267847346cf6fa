// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The check of numbers that say which row of a table is meant.
#pragma once

#include <algorithm>
#include <concepts>
#include <optional>
#include <string>

#include <weft/core/error.hpp>
#include <weft/core/host_device.hpp>
#include <weft/core/index.hpp>
#include <weft/device/cpu.hpp>
#include <weft/tensor/view.hpp>

namespace weft::ops::detail {

//! On a Cpu, that each id lies in 0 to `rows` - 1, or is `ignored`. A GPU's kernels see to it
//! themselves, by `expect_id`; on other devices nobody does.
//!
//! **Errors.** ArgumentError with the first that does not, and where it stands.
template <class D>
void expect_ids(const D&, const char* operation, const char* what, View<const token_t> ids,
                index_t rows, std::optional<token_t> ignored = {}, Place where = Place::here()) {
  if constexpr (std::same_as<D, Cpu>) {
    const auto is_outside = [&](token_t id) { return (id < 0 || id >= rows) && id != ignored; };
    const token_t* const end = ids.data + ids.size();
    const token_t* const first = std::find_if(ids.data, end, is_outside);
    if (first == end) return;
    const std::string id = text(operation, ": ", what, " ", *first, ", of row ", first - ids.data);
    throw ArgumentError(
        rows > 0 ? text(id, ", is none of 0 to ", rows - 1)
                 : text(id, ", but there are none to choose from: a module was made for 0"),
        where);
  }
}

//! In a GPU's kernel: that the id lies in 0 to `rows` - 1; else the kernel faults, as PyTorch's do.
WEFT_HOST_DEVICE inline void expect_id([[maybe_unused]] token_t id, [[maybe_unused]] index_t rows) {
#if defined(__CUDA_ARCH__)
  if (id < 0 || id >= rows) __trap();
#endif
}

}  // namespace weft::ops::detail
