# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that every header compiles.

    check.py alone PASSED INCLUDE COMPILER [ARGUMENTS]
    check.py together INCLUDE COMPILER [ARGUMENTS]
    check.py older INCLUDE COMPILER [ARGUMENTS]

alone: each .hpp below INCLUDE/weft is the first thing that a program includes, and includes again.
It costs a second a header, so the file PASSED remembers what passed: a header is read again when
it, a header of ours below it, or the command has changed.
together: one program includes them all, twice, in a few seconds.
older: by C++17 weft.hpp says which C++ it needs, in a few lines.

A header that needs one of OPTIONAL is left out where the compiler does not find that.

Warnings are errors, and no code is generated. As many compilers run at a time as there are
processors.
"""
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
from typing import Dict, FrozenSet, List

OPTIONAL = re.compile(r"^#include <(mpi\.h|nccl\.h|sentencepiece_processor\.h)>", re.M)
OURS = re.compile(r"^\s*#\s*include\s*<(weft/[^>]+)>", re.M)


def complaints(names: List[str], include: pathlib.Path, compiler: List[str]) -> str:
    """What the compiler says of a program that includes `names` twice; empty if nothing."""
    command = [*compiler, "-Werror", "-fsyntax-only", "-I", str(include), "-x", "c++", "-"]
    run = subprocess.run(command, input="".join(f"#include <{name}>\n" for name in names * 2),
                         text=True, errors="replace",
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return "" if run.returncode == 0 else run.stdout


def fingerprints(names: List[str], include: pathlib.Path, compiler: List[str]) -> Dict[str, str]:
    """For each header a digest of the command and of every header of ours that it reads."""
    @functools.lru_cache(maxsize=None)
    def text(name: str) -> bytes:
        path = include / name
        return path.read_bytes() if path.is_file() else b"missing"

    def closure(name: str) -> FrozenSet[str]:
        reached, waiting = {name}, [name]
        while waiting:
            found = OURS.findall(text(waiting.pop()).decode(errors="replace"))
            waiting += set(found) - reached
            reached.update(found)
        return frozenset(reached)

    def digest(name: str) -> str:
        parts = hashlib.sha256(repr(compiler).encode())
        for part in sorted(closure(name)):
            parts.update(part.encode() + hashlib.sha256(text(part)).digest())
        return parts.hexdigest()

    return {name: digest(name) for name in names}


def with_what_they_need(names: List[str], include: pathlib.Path,
                        compiler: List[str]) -> List[str]:
    """The headers but those that need an optional library which is not there."""
    @functools.lru_cache(maxsize=None)
    def found(header: str) -> bool:
        return not complaints([header], include, compiler)

    return [name for name in names
            if all(found(header) for header in OPTIONAL.findall((include / name).read_text()))]


def check_alone(names: List[str], passed: pathlib.Path, include: pathlib.Path,
                compiler: List[str]) -> int:
    known = json.loads(passed.read_text()) if passed.is_file() else {}
    now = fingerprints(names, include, compiler)
    changed = [name for name in names if known.get(name) != now[name]]
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        said = dict(zip(changed, pool.map(
            lambda name: complaints([name], include, compiler), changed)))
    bad = {name: text for name, text in said.items() if text}
    for name, text in bad.items():
        print(f"--- <{name}>, alone and twice:\n{text}")
    passed.write_text(json.dumps({name: now[name] for name in names if name not in bad}))
    print(f"{len(names)} headers, {len(changed)} read again, {len(bad)} with complaints")
    return 1 if bad else 0


def check_older(include: pathlib.Path, compiler: List[str]) -> int:
    said = complaints(["weft/weft.hpp"], include, [*compiler, "-std=c++17"]).splitlines()
    first = next((line for line in said if "error:" in line), "(no error)")
    print(f"{len(said)} lines", *said[:20], sep="\n")
    return 0 if "weft needs C++20" in first and len(said) < 20 else 1


def main(arguments: List[str]) -> int:
    mode, *rest = arguments or [""]
    needed = {"alone": 3, "together": 2, "older": 2}
    if mode not in needed or len(rest) < needed[mode]:
        print(__doc__, file=sys.stderr)
        return 2
    passed = pathlib.Path(rest.pop(0)) if mode == "alone" else None
    include, compiler = pathlib.Path(rest[0]), rest[1:]
    names = sorted(str(path.relative_to(include)) for path in (include / "weft").rglob("*.hpp"))
    if not names:
        print(f"{include}/weft has no headers")
        return 1
    if mode == "older":
        return check_older(include, compiler)
    names = with_what_they_need(names, include, compiler)
    if passed:
        return check_alone(names, passed, include, compiler)
    said = complaints(names, include, compiler)
    print(said or f"{len(names)} headers compile together, twice")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
