# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Whether the programs have the options that the documentation types: options.py REPOSITORY PROGRAM...

Of every command `build/examples/NAME ...` in the pages' shell blocks, each word that begins with --
must stand in the program's --help, or in that of the subcommand that it calls. There each option has a
sentence; and --version says weft's.
"""
import functools
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(sys.argv[1]).resolve()
PROGRAMS = {pathlib.Path(path).name: pathlib.Path(path).resolve() for path in sys.argv[2:]}
sys.path.insert(0, str(ROOT / "tools/lib"))
import documents  # noqa: E402


def commands(text):
    """The lines of shell blocks; what a backslash continues is one."""
    lines = text.splitlines()
    for block in documents.blocks(lines):
        if block.language == "sh":
            yield from "\n".join(lines[block.line + 1:block.end]).replace("\\\n", " ").splitlines()


@functools.lru_cache(maxsize=None)
def said(name, *arguments):
    return subprocess.run([PROGRAMS[name], *arguments], capture_output=True, text=True,
                          check=True).stdout


@functools.lru_cache(maxsize=None)
def options(name, *subcommand):
    return set(re.findall(r"(?<![\w-])--[a-z][\w-]*", said(name, *subcommand, "--help")))


def without_a_sentence(text):
    """The options of a --help with nothing in column 30, nor there in the next line."""
    return re.findall(r"^(?!.{29} \S) +(?:-\w,)?(--[\w-]+).*\n(?! {30}\S)", text, re.M)


def own_faults(name):
    """Of a program itself: sentences and version."""
    whole = said(name, "--help")
    for command in re.findall(r"^  (train|translate|evaluate|generate) ", whole, re.M):
        whole += said(name, command, "--help")
    yield from (f"{name}: {option} says nothing" for option in without_a_sentence(whole))
    if not re.fullmatch(r"weft \d+\.\d+\.\d+\n", said(name, "--version")):
        yield f"{name} --version is not weft's"


def faults(command):
    for name, arguments in re.findall(r"build/examples/(\w+) ([^#|;<>]*)", command):
        if name not in PROGRAMS:
            continue
        known = set(options(name))
        known.update(*(options(name, word) for word in ("train", "translate", "evaluate", "generate")
                       if word in arguments.split()))
        yield from (f"{name} has no {option}" for option in re.findall(r"(?<!\S)--[\w-]+", arguments)
                    if option not in known)


def main():
    assert without_a_sentence(
        "  --a INT=1\n" + "  --b INT=1".ljust(30) + "Says.\n  --c INT=1\n" + 30 * " " + "Says.\n"
        "  -d,--d".ljust(30) + "\n") == ["--a", "--d"], "it finds nothing"
    assert list(faults(f"build/examples/{next(iter(PROGRAMS))} --no-such-option")), "it finds nothing"
    seen, found = 0, [fault for name in PROGRAMS for fault in own_faults(name)]
    for page in documents.documents(ROOT):
        for command in commands((ROOT / page).read_text(encoding="utf-8")):
            seen += any(f"build/examples/{name} " in command for name in PROGRAMS)
            found += [f"{page}: {fault}" for fault in faults(command)]
    print(f"{seen} commands", *found, sep="\n")
    return 1 if found or seen < 15 else 0


if __name__ == "__main__":
    sys.exit(main())
