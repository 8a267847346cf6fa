// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// The file of weft's own programs that brings attention by cuDNN.
#include <weft/cudnn.cuh>
