// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Named tensors in a file that other tools open and that cannot execute anything.
//!
//!     write_safetensors("model.safetensors", std::vector{stored<float>("bias", {512}, bias)});
//!     const SafetensorsFile file("model.safetensors");
//!     file.read<float>("bias", bias);
//!
//! A file is eight bytes with the header's length N, N bytes of JSON that say what each tensor is
//! and where it lies, and the bytes of the tensors without a gap. All numbers are little-endian.
//!
//! **Source.** huggingface/safetensors 0.8, README and tensor.rs.
#pragma once

#include <weft/io/safetensors_file.hpp>   // IWYU pragma: export
#include <weft/io/write_safetensors.hpp>  // IWYU pragma: export
