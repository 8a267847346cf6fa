# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Looks into files made here, good and bad: check.py WEFT_INSPECT"""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile


def file_of(tensors, **metadata):
    """The bytes of a safetensors file with float32 tensors: {name: (shape, numbers)}."""
    header, data = {"__metadata__": metadata}, b""
    for name, (shape, numbers) in tensors.items():
        packed = struct.pack(f"<{len(numbers)}f", *numbers)
        header[name] = {"dtype": "F32", "shape": shape,
                        "data_offsets": [len(data), len(data) + len(packed)]}
        data += packed
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def main(program):
    with tempfile.TemporaryDirectory() as folder:
        def write(name, data):
            path = pathlib.Path(folder, name)
            path.write_bytes(data)
            return str(path)

        def inspect(*paths):
            run = subprocess.run([program, *paths], capture_output=True, text=True, check=False)
            return run.returncode, run.stdout.splitlines(), run.stderr

        one = write("one", file_of({"bias": ([2], [1.5, -2.0]), "weight": ([1, 3], [0, 1, 2])},
                                   vocabulary="7"))
        status, lines, _ = inspect(one)
        assert status == 0 and lines[0] == "vocabulary: 7", lines
        assert lines[1].split()[:3] == ["bias", "F32", "(2)"] and "-2 to 1.5" in lines[1], lines
        assert lines[3].startswith("2 tensors, 5 elements, 20 bytes, checksum "), lines

        same = write("same", file_of({"bias": ([2], [1.5, -2.0]), "weight": ([1, 3], [0, 1, 2])}))
        status, lines, _ = inspect(one, same)
        assert (status, lines) == (0, ["the tensors are the same, bit by bit"]), lines

        other = write("other", file_of({"bias": ([2], [1.5, -2.5]), "weight": ([3], [0, 1, 2]),
                                        "gain": ([1], [float("nan")])}))
        status, lines, _ = inspect(one, other)
        assert status == 1 and lines == [
            "bias: 1 of 2 elements differ, by 0.5 at most: -2 and -2.5",
            "weight: F32 (1, 3) here, F32 (3) there", "gain: only in the second"], lines
        assert any("1 NOT FINITE" in line for line in inspect(other)[1])

        nans = [write(name, file_of({"gain": ([2], [0, 0])})[:-4] + struct.pack("<I", bits))
                for name, bits in (("signalling", 0x7F800001), ("quiet", 0x7FC00001))]
        status, lines, _ = inspect(*nans)
        assert status == 1 and lines == [
            "gain: 1 of 2 elements differ, by nan at most: nan and nan"], lines

        empty = write("empty", file_of({"none": ([0], [])}).replace(b"F32", b"F64"))
        status, lines, error = inspect(empty)
        assert status == 0 and lines[0].split()[:5] == ["none", "F64", "(0)", "0", "bytes"], error

        # U+009B is ESC [ in one character.
        hostile = write("hostile", file_of({"\x1b[2Jbias": ([1], [0]), "\x9b2Jb\u00e4r": ([1], [0])},
                                           note="one\ntwo"))
        status, lines, _ = inspect(hostile)
        assert status == 0 and lines[0] == "note: one?two" and lines[1].startswith("?[2Jbias "), lines
        assert lines[2].startswith("?2Jb\u00e4r "), lines

        long = write("long", file_of({"x" * 100_000: ([1], [0]),
                                      **{f"bias{i}": ([1], [0]) for i in range(50)}}))
        status, lines, _ = inspect(long)
        assert status == 0 and lines[1].startswith("bias0 "), lines
        assert sum(map(len, lines)) < 110_000, sum(map(len, lines))

        status, _, error = inspect(write("cut", file_of({"bias": ([2], [1.0, 2.0])})[:-1]))
        assert status == 2 and "bytes after its header" in error, error
        status, _, error = inspect(str(pathlib.Path(folder, "none")))
        assert status == 2 and "cannot open" in error, error
        assert inspect()[0] == 2


if __name__ == "__main__":
    main(*sys.argv[1:])
