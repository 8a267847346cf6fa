# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Prints the keys that tests/core/philox.cpp expects: SplitMix64 of Steele, Lea and Flood (2014)."""


def split_mix(z: int) -> int:
    mask = 2 ** 64 - 1
    z = (z + 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return z ^ (z >> 31)


assert split_mix(0) == 0xE220A8397B1DCDAF  # the first number after the seed 0, as published

for seed, step in ((0, 0), (0, 1), (1, 0), (2026, 8000), (2 ** 64 - 1, 2 ** 63)):
    key = split_mix((split_mix(seed) + step) % 2 ** 64)
    print(f"RandomKey({seed:#x}, {step:#x}) == key_of({key % 2**32:#010x}, {key >> 32:#010x})")
