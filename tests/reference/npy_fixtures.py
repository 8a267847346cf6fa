# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the arrays that tests/io/npy.cpp reads and writes: npy_fixtures.py ../io/data/npy
(numpy 2.4)"""
import pathlib
import sys

import numpy as np

folder = pathlib.Path(sys.argv[1])
matrix = np.array([[1.5, -2.0, 0.0], [float("inf"), 1e-45, -0.0]])
version = {"f4-2.0": (2, 0), "f4-3.0": (3, 0)}
arrays = {
    "f4": matrix.astype("<f4"),
    "f8": matrix,
    "i4": np.array([1, -2, 2**31 - 1], "<i4"),
    "i8": np.array(-9_000_000_000, "<i8"),  # a single number: no dimensions
    "u1": np.array([[[0], [255]]], "u1"),
    "u2": np.arange(65530, 65536).astype("<u2").reshape(2, 1, 3),
    "empty": np.zeros((0, 4), "<f4"),
    # Their headers are padded by the most and the fewest spaces, 64 and 1.
    "ones-36": np.ones((1,) * 36, "u1"),
    "ones-57": np.ones((1,) * 57, "u1"),
    "fortran": np.asfortranarray(matrix.astype("<f4")),
    "big": matrix.astype(">f4"),
    "half": matrix.astype("<f2"),
    "structure": np.zeros(2, [("x", "<f4"), ("n", "<i4", 2)]),
    "f4-2.0": matrix.astype("<f4"),
    "f4-3.0": matrix.astype("<f4"),
}
for name, array in arrays.items():
    with open(folder / f"{name}.npy", "wb") as file:
        np.lib.format.write_array(file, array, version=version.get(name))
