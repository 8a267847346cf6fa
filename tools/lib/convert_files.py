# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Files of tensors as tools/convert reads and writes them: safetensors, in float32."""
import contextlib
import io
import itertools
import json
import math
import os
import pathlib
import stat
import struct
import sys
from typing import BinaryIO, Dict, Iterable, Iterator, List, NamedTuple, Tuple

Shape = Tuple[int, ...]


class Refused(Exception):
    """What cannot be converted, and why."""


class Tensor(NamedTuple):
    shape: Shape
    data: bytes  # float32, the lowest byte first


def note(text: str) -> None:
    print(f"convert: {text}", file=sys.stderr)


def from_bfloat16(data: bytes) -> bytes:
    """A bfloat16 is the upper half of a float32."""
    wide = bytearray(2 * len(data))
    wide[2::4], wide[3::4] = data[0::2], data[1::2]
    return bytes(wide)


def from_float16(data: bytes) -> bytes:
    parts = []
    for first in range(0, len(data), 1 << 16):  # a number of Python's takes 24 bytes
        part = data[first:first + (1 << 16)]
        count = len(part) // 2
        parts.append(struct.pack(f"<{count}f", *struct.unpack(f"<{count}e", part)))
    return b"".join(parts)


TO_FLOAT32 = {"F32": (4, lambda data: data), "F16": (2, from_float16), "BF16": (2, from_bfloat16)}


class File(NamedTuple):
    path: str
    tensors: Dict[str, Tensor]
    metadata: Dict[str, str]


def once_each(pairs: List[Tuple[str, object]]) -> Dict[str, object]:
    """A JSON object of which no name stands twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice")
    return found


@contextlib.contextmanager
def named(path: str) -> Iterator[None]:
    """An open file does not tell an error of reading or writing its name."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = path
        raise


def header_of(path: str, head: bytes) -> Tuple[Dict[str, tuple], Dict[str, str]]:
    """Of each tensor its type, shape, and where its bytes begin and end; and the metadata."""
    try:
        header = json.loads(head.decode("utf-8"), object_pairs_hook=once_each)
        metadata = header.pop("__metadata__", {})
        if not all(isinstance(text, str) for text in metadata.values()):
            raise ValueError("metadata are texts")
        entries = {}
        for name, entry in header.items():
            begin, end = entry["data_offsets"]
            if not all(type(number) is int for number in (begin, end, *entry["shape"])):
                raise ValueError("shapes and offsets are whole numbers")
            if not isinstance(entry["dtype"], str):
                raise ValueError("a type is a text")
            entries[name] = entry["dtype"], tuple(entry["shape"]), begin, end
        json.dumps(header, ensure_ascii=False).encode()  # halves of surrogate pairs are no text
        json.dumps(metadata, ensure_ascii=False).encode()
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError,
            RecursionError) as error:
        raise Refused(f"{path}: is not a safetensors file") from error
    return entries, metadata


def read(path: str, drop: Iterable[str] = ()) -> File:
    """All tensors but those to drop, which may be of any type. One after the other, so that the
    file is never in memory beside them."""
    with named(path), open(path, "rb") as opened:
        file = opened if opened.seekable() else io.BytesIO(opened.read())
        length = file.read(8)
        size = struct.unpack("<Q", length)[0] if len(length) == 8 else 0
        entries, metadata = header_of(path, file.read(size) if 0 < size <= 100_000_000 else b"")
        first = 8 + size
        body = file.seek(0, os.SEEK_END) - first
        for name in drop:
            if entries.pop(name, None) is None:
                raise Refused(f'{path}: has no tensor "{name}" to drop')
        tensors, faults = {}, []
        for name, (dtype, shape, begin, end) in entries.items():
            width, convert = TO_FLOAT32.get(dtype, (0, None))
            if convert is None:
                faults.append(f'"{name}" is {dtype}, which float32 does not hold exactly')
            elif not 0 <= begin <= end <= body or end - begin != math.prod(shape) * width \
                    or min(shape, default=0) < 0:
                faults.append(f'"{name}" is damaged: {dtype} {shape} at bytes {begin} to {end} of '
                              f"{body}")
            else:
                file.seek(first + begin)
                tensors[name] = Tensor(shape, convert(file.read(end - begin)))
    refuse(path, faults)
    return File(path, tensors, metadata)


def read_json(path: pathlib.Path) -> dict:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        json.dumps(value, ensure_ascii=False).encode()  # halves of surrogate pairs are no text
    except (ValueError, RecursionError) as error:
        raise Refused(f"{path}: is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise Refused(f"{path}: should be a JSON object")
    return value


def is_number(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value < 2 ** 63


def write(path: str, tensors: Dict[str, Tensor], metadata: Dict[str, str]) -> None:
    """The bytes that weft writes for these tensors, which are those of the Python package."""
    header: Dict[str, object] = {"__metadata__": dict(sorted(metadata.items()))} if metadata else {}
    end = 0
    for name in sorted(tensors, key=lambda name: name.encode()):
        begin, end = end, end + len(tensors[name].data)
        header[name] = {"dtype": "F32", "shape": tensors[name].shape, "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    replace(path, [struct.pack("<Q", len(text)) + text,
                   *(tensors[name].data for name in header if name != "__metadata__")])


def replace(path: str, parts: Iterable[bytes]) -> None:
    """Writes a file: whole, or the old one stays."""
    path = os.path.realpath(path)
    if os.path.lexists(path) and not os.path.isfile(path):
        raise Refused(f"{path}: is no regular file")
    with named(path), begin(path) as file:
        try:
            for data in parts:
                file.write(data)
            file.flush()
            os.fsync(file.fileno())
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise


def begin(path: str) -> BinaryIO:
    """A new file beside `path`, for those who may read and write that."""
    for number in itertools.count():
        with contextlib.suppress(FileExistsError):  # left by a process of the same number
            file = open(f"{path}.tmp-{os.getpid()}-{number}", "xb")
            break
    with contextlib.suppress(OSError):  # there is no old one, or the file system has no modes
        os.fchmod(file.fileno(), stat.S_IMODE(os.stat(path).st_mode))
    return file


def refuse(path: str, faults: List[str]) -> None:
    if faults:
        raise Refused("\n  ".join([f"{path}: cannot be converted", *faults]))
