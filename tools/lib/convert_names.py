# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Tensors by the names that weft has for them, and another library."""
from typing import Dict, Iterator, NamedTuple, Tuple

from convert_files import File, Shape, refuse


class Row(NamedTuple):
    """The other library's name of a tensor, and weft's. Where several of weft's are one of the
    other's, they follow each other in it: rows are stored one after the other, so their bytes do
    too."""
    other: str
    weft: Tuple[str, ...]
    shape: Shape  # of each of weft's; 0 stands for any number

    def other_shape(self) -> Shape:
        return (self.shape[0] * len(self.weft), *self.shape[1:])


PROJECTIONS = ("query", "key", "value")


def plain(other: str, weft: str, *shape: int) -> Iterator[Row]:
    """A weight of this shape, and the bias that it has."""
    yield Row(f"{other}.weight", (f"{weft}.weight",), shape)
    yield Row(f"{other}.bias", (f"{weft}.bias",), shape[:1])


def fits(is_: Shape, should: Shape) -> bool:
    return len(is_) == len(should) and all(s in (0, i) for i, s in zip(is_, should))


def check(file: File, expected: Dict[str, Shape], optional: Dict[str, Shape]) -> None:
    """Refuses what is unknown, missing or of another shape: all of it at once."""
    faults = [f'"{name}" is unknown' for name in file.tensors
              if name not in expected and name not in optional]
    faults += [f'"{name}" is missing' for name in expected if name not in file.tensors]
    for name, shape in {**expected, **optional}.items():
        if name in file.tensors and not fits(file.tensors[name].shape, shape):
            faults.append(f'"{name}" is {file.tensors[name].shape}, should be {shape}')
    refuse(file.path, faults)
