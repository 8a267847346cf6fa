# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that every header compiles alone, and twice: check.py INCLUDE COMPILER [ARGUMENTS]

Each .hpp below INCLUDE/weft is the first thing that a program includes, and includes again.
Warnings are errors. Without code generation a header costs what its parsing costs, so as many
compilers run at a time as there are processors.
"""
import concurrent.futures
import os
import pathlib
import subprocess
import sys
from typing import List


def compile_twice(name: str, include: pathlib.Path, compiler: List[str]) -> str:
    """The compiler's complaints about <name>; empty where there is none."""
    command = [*compiler, "-Werror", "-fsyntax-only", "-I", str(include), "-x", "c++", "-"]
    run = subprocess.run(command, input=f"#include <{name}>\n" * 2, text=True, errors="replace",
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if run.returncode == 0:
        return ""
    return f"--- <{name}> does not compile alone and twice:\n{run.stdout}"


def main(arguments: List[str]) -> int:
    if len(arguments) < 2:
        print("usage: check.py INCLUDE COMPILER [ARGUMENTS]", file=sys.stderr)
        return 2
    include, compiler = pathlib.Path(arguments[0]), arguments[1:]
    names = sorted(str(path.relative_to(include)) for path in (include / "weft").rglob("*.hpp"))
    if not names:
        print(f"{include}/weft has no headers")
        return 1
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        complaints = [text for text in pool.map(
            lambda name: compile_twice(name, include, compiler), names) if text]
    print("\n".join([*complaints, f"{len(names)} headers, {len(complaints)} with complaints"]))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
