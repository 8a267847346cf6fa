# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that a program does not compile, and why: check.py SOURCE COMPILER [ARGUMENTS]

The compiler is g++, clang++ or, for a .cu, nvcc. Its first error must be a static assertion, whose
sentence contains what the first line of the source says:

    // expect: heads must divide d_model

Several `expect:` lines at the top are alternatives, where compilers word an error differently. What
lines with `names:` say has to be somewhere in what the compiler prints.
"""
import os
import pathlib
import re
import subprocess
import sys
from typing import List

EXPECT = "// expect: "
NAMES = "// names: "
# As g++, clang++ (which puts the condition before the sentence) and nvcc begin.
ASSERTION = re.compile(r"error: (static assertion failed|static_assert failed)")


def opening(source: str, kind: str) -> List[str]:
    """What the lines of a kind say, among those that open `source`."""
    said = []
    for line in source.splitlines():
        if not line.startswith((EXPECT, NAMES)):
            break
        if line.startswith(kind):
            said.append(line[len(kind):].strip())
    return said


def first_error(diagnostics: str) -> str:
    return next((line for line in diagnostics.splitlines() if "error:" in line), "")


def command(source: pathlib.Path, compiler: List[str]) -> List[str]:
    """Ends with the first error, as what follows takes most of the time."""
    if source.suffix == ".cu":
        return [*compiler, "-Xcudafe", "--error_limit=1", "-x", "cu", "-c", str(source), "-o", os.devnull]
    return [*compiler, "-fsyntax-only", "-Wfatal-errors", str(source)]


def fault(source: pathlib.Path, compiler: List[str]) -> str:
    """Why the program is not rejected as it should be; empty where it is."""
    text = source.read_text(encoding="utf-8")
    expected = opening(text, EXPECT)
    if not expected or not all(expected):
        return f"the first line must be '{EXPECT}' and a part of the error message"
    # In the C locale compilers quote with ', whatever the user's language.
    run = subprocess.run(command(source, compiler), text=True, errors="replace",
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         env={**os.environ, "LC_ALL": "C"})
    if run.returncode == 0:
        return "compiles, and must not"
    error = first_error(run.stdout)
    if not ASSERTION.search(error) or not any(part in error for part in expected):
        return f"expected {' or '.join(map(repr, expected))} in a static assertion, as the " \
            f"first error:\n{run.stdout}"
    unsaid = [part for part in opening(text, NAMES) if part not in run.stdout]
    if unsaid:
        return f"expected {' and '.join(map(repr, unsaid))} in what the compiler prints:\n{run.stdout}"
    print(error)
    return ""


def main(arguments: List[str]) -> int:
    if len(arguments) < 2:
        print("usage: check.py SOURCE COMPILER [ARGUMENTS]", file=sys.stderr)
        return 2
    source = pathlib.Path(arguments[0])
    found = fault(source, arguments[1:])
    if found:
        print(f"{source}: {found}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
