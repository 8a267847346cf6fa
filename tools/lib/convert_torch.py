# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's nn.Transformer, for tools/convert."""
import argparse
import math
import re
from typing import Dict, Iterator, List, Tuple

from convert_files import File, Refused, Tensor, note, read, refuse, write
from convert_names import PROJECTIONS, Row, check, plain


def layers_in(file: File, stack: str) -> int:
    """How many layers the names speak of."""
    found = [int(match[1]) for match in (re.match(rf"{re.escape(stack)}\.layers\.(\d+)\.", name)
                                         for name in file.tensors) if match]
    return max(found, default=-1) + 1


def sizes_of(file: File, square: str, inner: str, rows: int) -> Tuple[int, int]:
    """d_model and d_ff, by the shapes of two matrices: (rows C, C) and (F, C)."""
    for name in (square, inner):
        if len(file.tensors.get(name, Tensor((), b"")).shape) != 2:
            raise Refused(f'{file.path}: has no matrix "{name}"')
    C = file.tensors[square].shape[1]
    F = file.tensors[inner].shape[0]
    if file.tensors[square].shape[0] != rows * C:
        raise Refused(f'{file.path}: "{square}" is {file.tensors[square].shape}, '
                      f"should be {(rows * C, C)}")
    return C, F


def torch_attention(torch: str, weft: str, C: int, biases: bool) -> Iterator[Row]:
    for part, shape in (("weight", (C, C)), ("bias", (C,))):
        if part == "weight" or biases:
            yield Row(f"{torch}.in_proj_{part}", tuple(f"{weft}.{p}.{part}" for p in PROJECTIONS),
                      shape)
            yield Row(f"{torch}.out_proj.{part}", (f"{weft}.output.{part}",), shape)


def torch_rows(C: int, F: int, layers: Dict[str, int], norms: Dict[str, bool],
               biases: bool) -> Iterator[Row]:
    """All tensors of an nn.Transformer."""
    for stack, count in layers.items():
        for i in range(count):
            layer = f"{stack}.layers.{i}"
            parts = [("self_attn", "self_attention")]
            if stack == "decoder":
                parts.append(("multihead_attn", "cross_attention"))
            for number, (torch, weft) in enumerate(parts, start=1):
                yield from torch_attention(f"{layer}.{torch}", f"{layer}.{weft}", C, biases)
                yield from plain(f"{layer}.norm{number}", f"{layer}.{weft}.norm", C)
            yield from plain(f"{layer}.linear1", f"{layer}.feed_forward.inner", F, C)
            yield from plain(f"{layer}.linear2", f"{layer}.feed_forward.outer", C, F)
            yield from plain(f"{layer}.norm{len(parts) + 1}", f"{layer}.feed_forward.norm", C)
        if norms[stack]:
            yield from plain(f"{stack}.norm", f"{stack}.norm", C)


def rows_around(C: int) -> List[Row]:
    """What weft's model has beside the stacks: in PyTorch, modules of the user's own."""
    return [Row(name, (name,), shape) for name, shape in (
        ("source_embedding.weight", (0, C)), ("source_embedding.positions", (0, C)),
        ("target_embedding.weight", (0, C)), ("target_embedding.positions", (0, C)),
        ("generator.weight", (0, C)), ("generator.bias", (0,)))]


def renames(options: argparse.Namespace) -> Dict[str, str]:
    """PyTorch's names of the tensors around the stacks, by weft's."""
    known = {row.other for row in rows_around(0)}
    pairs = {}
    for text in options.rename:
        weft, equals, torch = text.partition("=")
        if weft not in known or not equals:
            raise Refused(f"--rename {text}: should be NAME=PYTORCH'S NAME, where NAME is one of "
                          + ", ".join(sorted(known)))
        if torch in pairs.values():
            raise Refused(f"--rename {text}: another tensor has that name already")
        pairs[weft] = torch
    return pairs


def torch_names(rows: List[Row], around: List[Row], options: argparse.Namespace) -> List[Row]:
    pairs = renames(options)
    return ([row._replace(other=options.prefix + row.other) for row in rows]
            + [row._replace(other=pairs.get(row.other, row.other)) for row in around])


def torch_to_weft(options: argparse.Namespace) -> None:
    file = read(options.input, options.drop)
    p = options.prefix
    C, F = sizes_of(file, f"{p}encoder.layers.0.self_attn.in_proj_weight",
                    f"{p}encoder.layers.0.linear1.weight", rows=3)
    stacks = ("encoder", "decoder")
    rows = list(torch_rows(C, F, {s: layers_in(file, p + s) for s in stacks},
                           {s: f"{p}{s}.norm.weight" in file.tensors for s in stacks}, True))
    named = torch_names(rows, rows_around(C), options)
    check(file, {row.other: row.other_shape() for row in named[:len(rows)]},
          {row.other: row.other_shape() for row in named[len(rows):]})
    tensors, faults = {}, []
    for row in named:
        if row.other not in file.tensors:
            continue
        data = file.tensors[row.other].data
        if options.without_attention_biases and re.search(r"attn\.(in_proj_|out_proj\.)bias$",
                                                          row.other):
            if any(data):
                faults.append(f'"{row.other}" is not all 0')
            continue
        size = len(data) // len(row.weft)
        shape = file.tensors[row.other].shape
        for i, name in enumerate(row.weft):
            tensors[name] = Tensor((shape[0] // len(row.weft), *shape[1:]),
                                   data[i * size:(i + 1) * size])
    refuse(file.path, faults)
    write(options.output, tensors, {**file.metadata, "format": "pt"})


def weft_to_torch(options: argparse.Namespace) -> None:
    file = read(options.input)
    C, F = sizes_of(file, "encoder.layers.0.self_attention.query.weight",
                    "encoder.layers.0.feed_forward.inner.weight", rows=1)
    stacks = ("encoder", "decoder")
    biases = "encoder.layers.0.self_attention.query.bias" in file.tensors
    norms = {s: f"{s}.norm.weight" in file.tensors for s in stacks}
    layers = {s: layers_in(file, s) for s in stacks}
    rows = list(torch_rows(C, F, layers, norms, biases))
    around = rows_around(C)
    check(file, {name: row.shape for row in rows for name in row.weft},
          {name: row.shape for row in around for name in row.weft})
    tensors, faults = {}, []
    for row in torch_names(rows, around, options):
        if row.weft[0] in file.tensors:
            if row.other in tensors:
                faults.append(f'"{row.weft[0]}" cannot be called "{row.other}": another tensor is')
            parts = [file.tensors[name] for name in row.weft]
            shape = (parts[0].shape[0] * len(parts), *parts[0].shape[1:])
            tensors[row.other] = Tensor(shape, b"".join(part.data for part in parts))
    refuse(file.path, faults)
    if not biases:
        note("this model's attention has no biases: PyTorch's are 0")
        for row in torch_names(list(torch_rows(C, F, layers, norms, True)), [], options):
            shape = row.other_shape()
            tensors.setdefault(row.other, Tensor(shape, bytes(4 * math.prod(shape))))
    if not all(norms.values()):
        note("this model has no norms behind its stacks, as nn.Transformer always has: give "
             "it a custom_encoder and a custom_decoder made with norm=None")
    write(options.output, tensors, {**file.metadata, "format": "pt"})
