# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that every header compiles: check.py alone|together INCLUDE COMPILER [ARGUMENTS]

alone: each .hpp below INCLUDE/weft is the first thing that a program includes, and includes again.
together: one program includes them all, which takes a tenth of the time.

Warnings are errors. Without code generation a header costs what its parsing costs, so as many
compilers run at a time as there are processors.
"""
import concurrent.futures
import os
import pathlib
import subprocess
import sys
from typing import List


def complaints(names: List[str], include: pathlib.Path, compiler: List[str]) -> str:
    """What the compiler says of a program that includes `names`; empty where it is content."""
    command = [*compiler, "-Werror", "-fsyntax-only", "-I", str(include), "-x", "c++", "-"]
    run = subprocess.run(command, input="".join(f"#include <{name}>\n" for name in names),
                         text=True, errors="replace",
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return "" if run.returncode == 0 else run.stdout


def main(arguments: List[str]) -> int:
    if len(arguments) < 3 or arguments[0] not in ("alone", "together"):
        print("usage: check.py alone|together INCLUDE COMPILER [ARGUMENTS]", file=sys.stderr)
        return 2
    include, compiler = pathlib.Path(arguments[1]), arguments[2:]
    names = sorted(str(path.relative_to(include)) for path in (include / "weft").rglob("*.hpp"))
    if not names:
        print(f"{include}/weft has no headers")
        return 1
    programs = [[name, name] for name in names] if arguments[0] == "alone" else [names]
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        said = list(pool.map(lambda program: complaints(program, include, compiler), programs))
    for program, text in zip(programs, said):
        if text:
            what = "all headers" if program is names else f"<{program[0]}>, alone and twice"
            print(f"--- {what}:\n{text}")
    bad = sum(map(bool, said))
    print(f"{len(names)} headers; of {len(programs)} programs {bad} do not compile")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
