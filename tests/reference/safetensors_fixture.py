# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the file that tests/io/safetensors.cpp reads, and with --check opens one that weft wrote.

    python3 safetensors_fixture.py ../io/data/python.safetensors     (safetensors 0.8.0, torch)
    python3 safetensors_fixture.py --check FILE
"""

import sys

import torch
from safetensors.torch import load_file, save_file

TENSORS = {
    "weight": torch.tensor([[1.5, -2.0, 0.0], [float("inf"), 1e-45, -0.0]], dtype=torch.float32),
    "bias": torch.tensor([3.25], dtype=torch.float32),
    "wide": torch.tensor([0.1, -1e300], dtype=torch.float64),
    "step": torch.tensor(-9_000_000_000, dtype=torch.int64),
    "ids": torch.tensor([1, -2, 2**31 - 1], dtype=torch.int32),
    "bytes": torch.tensor([0, 255], dtype=torch.uint8),
    "half": torch.tensor([1.0], dtype=torch.float16),
    "brain": torch.tensor([1.0, -2.0], dtype=torch.bfloat16),
    "flag": torch.tensor([True]),
    "nothing": torch.zeros((0, 4), dtype=torch.float32),
    "große \"Namen\"\\\t\u0001 层": torch.tensor([7.0], dtype=torch.float32),
}


def main():
    if sys.argv[1] != "--check":
        save_file(TENSORS, sys.argv[1], metadata={"format": "pt"})
        return
    loaded = load_file(sys.argv[2])
    assert loaded.keys() == TENSORS.keys(), loaded.keys()
    for name, tensor in TENSORS.items():
        assert loaded[name].dtype == tensor.dtype and torch.equal(loaded[name], tensor), name
    print("all", len(TENSORS), "tensors are equal")


main()
