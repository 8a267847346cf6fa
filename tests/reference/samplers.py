# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/data/samplers.json: what PyTorch's DistributedSampler gives. Needs torch.
Run: python3 samplers.py"""
import json
import pathlib

from torch.utils.data import DistributedSampler


def fnv1a(numbers):
    """The 64-bit FNV-1a hash of numbers of eight bytes, the lowest first."""
    value = 0xCBF29CE484222325
    for number in numbers:
        for byte in number.to_bytes(8, "little"):
            value = ((value ^ byte) * 0x100000001B3) & (2**64 - 1)
    return value


def indices(case, rank):
    sampler = DistributedSampler(range(case["samples"]), case["ranks"], rank,
                                 shuffle=case["shuffle"], seed=case["seed"],
                                 drop_last=case["drop_last"])
    sampler.set_epoch(case["epoch"])
    return list(sampler)


cases = []
for samples, ranks, seed, epoch in ((1, 1, 0, 0), (10, 3, 0, 0), (10, 3, 0, 1), (11, 4, 5, 2),
                                    (12, 4, 5, 2), (3, 8, 1, 1), (1, 5, 2**33 + 7, 3),
                                    (100_003, 7, 42, 9)):
    for shuffle in (False, True):
        for drop_last in (False, True):
            case = {"samples": samples, "ranks": ranks, "seed": seed, "epoch": epoch,
                    "shuffle": shuffle, "drop_last": drop_last}
            rows = [indices(case, rank) for rank in range(ranks)]
            case["sizes"] = [len(row) for row in rows]
            case["hashes"] = [str(fnv1a(row)) for row in rows]
            if samples < 20:
                case["indices"] = rows
            cases.append(case)
path = pathlib.Path(__file__).parent.parent / "data/data/samplers.json"
path.write_text("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")
