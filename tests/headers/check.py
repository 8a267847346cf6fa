# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that every header compiles.

    check.py alone PASSED INCLUDE COMPILER [ARGUMENTS]
    check.py together INCLUDE COMPILER [ARGUMENTS]
    check.py older INCLUDE COMPILER [ARGUMENTS]

alone: each .hpp below INCLUDE/weft is the first thing that a program includes, and includes again.
It costs a second a header, so the file PASSED remembers what passed: a header is read again when
it, a header of ours below it, or the command has changed. And what a header includes is compiled
before it, once for many: a few headers that are below most of the others.
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
import tempfile
from typing import Dict, FrozenSet, List

OPTIONAL = re.compile(r"^#include <(mpi\.h|nccl\.h|sentencepiece_processor\.h)>", re.M)
INCLUDES = re.compile(r"^\s*#\s*include\s*<([^>]+)>", re.M)
MOST_BASES = 12
LEAST_SAVED = 100  # headers, of ours and others, that need not be read again


def complaints(names: List[str], include: pathlib.Path, compiler: List[str]) -> str:
    """What the compiler says of a program that includes `names` twice; empty if nothing."""
    command = [*compiler, "-Werror", "-fsyntax-only", "-I", str(include), "-x", "c++", "-"]
    run = subprocess.run(command, input="".join(f"#include <{name}>\n" for name in names * 2),
                         text=True, errors="replace",
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return "" if run.returncode == 0 else run.stdout


def closures(names: List[str], include: pathlib.Path) -> Dict[str, FrozenSet[str]]:
    """For each header itself and all that it includes: those of others by name, not what they include."""
    @functools.lru_cache(maxsize=None)
    def includes(name: str) -> FrozenSet[str]:
        path = include / name
        return frozenset(INCLUDES.findall(path.read_text(errors="replace")) if path.is_file() else ())

    def closure(name: str) -> FrozenSet[str]:
        reached, waiting = {name}, [name]
        while waiting:
            found = includes(waiting.pop())
            waiting += found - reached
            reached.update(found)
        return frozenset(reached)

    return {name: closure(name) for name in names}


def fingerprints(below: Dict[str, FrozenSet[str]], include: pathlib.Path,
                 compiler: List[str]) -> Dict[str, str]:
    """For each header a digest of the command and of every header of ours that it reads."""
    @functools.lru_cache(maxsize=None)
    def digest_of(name: str) -> bytes:
        path = include / name
        return hashlib.sha256(path.read_bytes() if path.is_file() else b"missing").digest()

    def digest(names: FrozenSet[str]) -> str:
        parts = hashlib.sha256(repr(compiler).encode())
        for part in sorted(names):
            parts.update(part.encode() + digest_of(part))
        return parts.hexdigest()

    return {name: digest(names) for name, names in below.items()}


def bases(below: Dict[str, FrozenSet[str]]) -> Dict[str, str]:
    """For headers that are worth it, a header below them to compile before them: one of MOST_BASES.

    That hides no header that relies on its includer: what comes before a header is what it includes
    itself, and one below it that misses something is told of when it is alone. (An #include behind an
    #if that is not taken counts as one, and #includes stand at a header's top.)"""
    chosen: Dict[str, str] = {}

    def saved(base: str, name: str) -> int:
        if base == name or base not in below[name]:
            return 0
        return max(0, len(below[base]) - len(below[chosen[name]] if name in chosen else ()))

    for _ in range(MOST_BASES if below else 0):
        best = max(below, key=lambda base: sum(saved(base, name) for name in below))
        better = [name for name in below if saved(best, name) > 0]
        if sum(saved(best, name) for name in better) < LEAST_SAVED:
            break
        chosen.update((name, best) for name in better)
    return chosen


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
    below = closures(names, include)
    now = fingerprints(below, include, compiler)
    changed = [name for name in names if known.get(name) != now[name]]
    base_of = bases({name: below[name] for name in changed})
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool, \
            tempfile.TemporaryDirectory() as folder:
        # -include reads FILE.gch in place of FILE, if there is one that suits.
        files = {base: str(pathlib.Path(folder) / f"{i}.hpp")
                 for i, base in enumerate(sorted(set(base_of.values())))}

        def compile_base(base: str) -> None:
            pathlib.Path(files[base]).write_text(f"#include <{base}>\n")
            subprocess.run([*compiler, "-I", str(include), "-x", "c++-header", files[base], "-o",
                            files[base] + ".gch"], check=False, stderr=subprocess.DEVNULL)

        list(pool.map(compile_base, files))

        def alone(name: str) -> str:
            before = ["-include", files[base_of[name]]] if name in base_of else []
            return complaints([name], include, [*compiler, *before])

        said = dict(zip(changed, pool.map(alone, changed)))
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
