# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a program of the course and compares its output with what its source says: check.py SOURCE
PROGRAM.

The source's first comment ends with "Prints:" and the lines, indented by two spaces."""
import difflib
import pathlib
import subprocess
import sys


def promised(source: pathlib.Path) -> list:
    lines = iter(source.read_text(encoding="utf-8").splitlines())
    for line in lines:
        if line == "// Prints:":
            break
    else:
        sys.exit(f"{source} does not say what it prints")
    printed = []
    for line in lines:
        if not line.startswith("//   "):
            break
        printed.append(line[len("//   "):])
    return printed


def main() -> None:
    source, program = pathlib.Path(sys.argv[1]), sys.argv[2]
    run = subprocess.run([program], capture_output=True, text=True, check=False, timeout=300)
    expected, got = promised(source), run.stdout.splitlines()
    if run.returncode != 0 or not expected or expected != got:
        print("\n".join(difflib.unified_diff(expected, got, "promised", "printed", lineterm="")))
        sys.exit(f"{program} ended with {run.returncode}: {run.stderr}")


main()
