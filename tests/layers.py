# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Checks the laws that every header keeps: layers.py REPOSITORY

1. Lower folders never include higher ones. A header in include/weft/<folder>/ includes its own
   folder's headers and those of the folders that MAY_INCLUDE names for it. Only the headers that
   lie directly in include/weft/ include everything, and nothing includes them.
2. Ours are included by full path, <weft/folder/name.hpp>, and exist. A .hpp, which any C++20
   compiler takes, includes no .cuh, which needs nvcc.
3. No header includes <iostream>, <sstream> or <regex>: every user would pay for them.
4. A header opens with two SPDX lines and `//! @file`, and says `#pragma once` once.
5. Every program below tests/ is named in a meson.build: what is not built never fails.
6. core/version.hpp has the version of the project in meson.build, as text and as numbers.
7. No .hpp asks whether nvcc compiles it, but those of MAY_ASK_FOR_NVCC: a class that did would be
   another in the sources of the same program that another compiler takes.
8. No line begins with an identifier `module` or `import`: C++20 reads some such lines as directives,
   and nvcc warns of the others.
"""
import pathlib
import re
import sys
from typing import Dict, FrozenSet, List

# From low to high; a folder names folders above it in this table only. Two deliberate absences:
# nn knows nothing of comm (a strategy wraps a model, never the other way round), and data and
# metrics know nothing of tensors (they are of use without a model).
MAY_INCLUDE: Dict[str, str] = {
    "core": "",
    "io": "core",
    "device": "core",
    "tensor": "core io device",
    "ops": "core device tensor",
    "comm": "core io device tensor ops",
    "nn": "core io device tensor ops",
    "optim": "core io device tensor ops nn",
    "parallel": "core io device tensor ops comm nn optim",
    "data": "core io",
    "metrics": "core io data",
    "generate": "core io device tensor ops nn",
    "train": "core io device tensor ops comm nn optim parallel data metrics generate",
    "testing": "core io device tensor ops comm nn optim parallel data metrics generate train",
}
# Macros and pragmas.
MAY_ASK_FOR_NVCC = frozenset({"core/host_device.hpp", "ops/cpu/unroll.hpp"})
COSTLY = frozenset({"iostream", "sstream", "regex"})
OPENING = ("// SPDX-FileCopyrightText: 2026 The weft authors",
           "// SPDX-License-Identifier: Apache-2.0",
           "//! @file ")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
IF_NVCC = re.compile(r"^\s*#.*\b(__CUDACC__|__NVCC__)\b")
LIKE_DIRECTIVE = re.compile(r"^\s*(module|import)\b")


def allowed(folder: str) -> FrozenSet[str]:
    return frozenset(MAY_INCLUDE[folder].split()) | {folder}


def header_faults(root: pathlib.Path, header: pathlib.Path) -> List[str]:
    """What is wrong with one header; `root` is the folder include/weft."""
    relative = header.relative_to(root)
    folder = relative.parts[0] if len(relative.parts) > 1 else None
    lines = header.read_text(encoding="utf-8").splitlines()
    faults = []

    def fault(line: int, text: str) -> None:
        faults.append(f"include/weft/{relative}:{line}: {text}")

    if folder is not None and folder not in MAY_INCLUDE:
        fault(1, f"the folder {folder}/ has no place in MAY_INCLUDE of tests/layers.py")
    for number, opening in enumerate(OPENING, start=1):
        if len(lines) < number or not lines[number - 1].startswith(opening):
            fault(number, f"must begin with '{opening.strip()}'")
    if lines.count("#pragma once") != 1:
        fault(1, "must say '#pragma once', once, on a line of its own")

    for number, line in enumerate(lines, start=1):
        if (header.suffix == ".hpp" and str(relative) not in MAY_ASK_FOR_NVCC
                and IF_NVCC.match(line)):
            fault(number, "must be the same for nvcc and for other compilers: they share programs")
        if like := LIKE_DIRECTIVE.match(line):
            fault(number, f"begins with '{like[1]}', as a directive of C++20 does")
        match = INCLUDE.match(line)
        if not match:
            continue
        quote, name = match[1], match[2]
        if name in COSTLY:
            fault(number, f"<{name}> is too costly for a header")
        if quote == '"':
            fault(number, f'"{name}": include by full path, in angle brackets')
        if not name.startswith("weft/"):
            continue
        target = pathlib.PurePosixPath(name).relative_to("weft")
        if not (root / target).is_file():
            fault(number, f"<{name}> does not exist")
        if header.suffix == ".hpp" and target.suffix == ".cuh":
            fault(number, f"<{name}> needs nvcc; this header does not")
        if folder is None:
            continue
        if len(target.parts) == 1:
            fault(number, f"<{name}> is for users: include what you name")
        elif folder in MAY_INCLUDE and target.parts[0] not in allowed(folder):
            fault(number, f"<{name}>: {folder}/ may include {' '.join(sorted(allowed(folder)))}")
    return faults


def version_fault(root: pathlib.Path) -> List[str]:
    header = root / "include/weft/core/version.hpp"
    build = root / "meson.build"
    if not header.is_file() or not build.is_file():
        return []
    text = header.read_text(encoding="utf-8")
    said = re.search(r'version = "([^"]*)"', text)
    numbers = ".".join(re.findall(r"#define WEFT_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", text))
    is_ = re.search(r"^\s*version: '([^']*)'", build.read_text(encoding="utf-8"), re.M)
    if said and is_ and said[1] == numbers == is_[1]:
        return []
    return [f"include/weft/core/version.hpp:1: {said and said[1]} and {numbers} are not "
            f"meson.build's version, {is_ and is_[1]}"]


def unbuilt_tests(tests: pathlib.Path) -> List[str]:
    """The sources in tests/<folder>/ that neither tests/meson.build nor a recipe there names."""
    table = (tests / "meson.build").read_text(encoding="utf-8")
    faults = []
    for source in sorted(tests.glob("*/**/*.cpp")):
        folder = source.relative_to(tests).parts[0]
        name = source.relative_to(tests / folder)
        own = tests / folder / "meson.build"
        if folder == "rejects":  # its recipe lists the folder
            continue
        if own.is_file():
            named = f"'{name}'" in own.read_text(encoding="utf-8")
        else:
            entry = re.search(rf"'{folder}':\s*\[(.*?)\]", table, re.S)
            named = entry is not None and f"'{name.with_suffix('')}'" in entry[1]
            named = named or f"'{source.relative_to(tests)}'" in table  # a program of its own
        if not named:
            faults.append(f"tests/{source.relative_to(tests)}:1: no meson.build names this test")
    return faults


def faults_of(repository: pathlib.Path) -> List[str]:
    root = repository / "include" / "weft"
    headers = sorted(p for p in root.rglob("*") if p.suffix in (".hpp", ".cuh"))
    if not headers:
        return [f"{root}: has no headers"]
    return ([fault for header in headers for fault in header_faults(root, header)]
            + unbuilt_tests(repository / "tests") + version_fault(repository))


def main(repository: str) -> int:
    faults = faults_of(pathlib.Path(repository))
    print("\n".join(faults) if faults else "every header keeps the laws")
    return 1 if faults else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: layers.py REPOSITORY")
    sys.exit(main(sys.argv[1]))
