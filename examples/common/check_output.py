# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Runs an example and compares its output with what its source says: check_output.py SOURCE
PROGRAM [ARGUMENTS]

The source's first comment has a line "Prints:" and the lines, indented by two spaces. After
"Prints, to within 5 %:" the lines are numbers that may differ by so much."""
import pathlib
import re
import subprocess
import sys


def promised(source):
    """The lines that a source promises, and by which share of themselves numbers may differ."""
    lines = iter(source.read_text(encoding="utf-8").splitlines())
    for line in lines:
        begin = re.fullmatch(r"// Prints(?:, to within (\d+) %)?:", line)
        if begin:
            break
    else:
        sys.exit(f"{source} does not say what it prints")
    printed = []
    for line in lines:
        if not line.startswith("//   "):
            break
        printed.append(line[len("//   "):])
    return printed, float(begin[1] or 0) / 100


def agree(expected, got, share):
    if share == 0 or len(expected) != len(got):
        return expected == got
    return all(abs(float(a) - float(b)) <= share * abs(float(a)) for a, b in zip(expected, got))


def main():
    expected, share = promised(pathlib.Path(sys.argv[1]))
    run = subprocess.run(sys.argv[2:], capture_output=True, text=True, check=False, timeout=300)
    got = run.stdout.splitlines()
    if run.returncode != 0 or not expected or not agree(expected, got, share):
        sys.exit("\n".join([f"{sys.argv[2]} ended with {run.returncode}: {run.stderr}",
                            "promised:", *expected, "printed:", *got]))


main()
