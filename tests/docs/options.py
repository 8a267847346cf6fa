# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Whether the programs have the options that the documentation types: options.py REPOSITORY PROGRAM...

Of every command `build/examples/NAME ...` in the pages' shell blocks, each word that begins with --
must stand in the program's --help, or in that of the subcommand that it calls.
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
def options(name, *subcommand):
    done = subprocess.run([PROGRAMS[name], *subcommand, "--help"], capture_output=True, text=True,
                          check=True)
    return set(re.findall(r"(?<![\w-])--[a-z][\w-]*", done.stdout))


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
    assert list(faults(f"build/examples/{next(iter(PROGRAMS))} --no-such-option")), "it finds nothing"
    seen, found = 0, []
    for page in documents.documents(ROOT):
        for command in commands((ROOT / page).read_text(encoding="utf-8")):
            seen += any(f"build/examples/{name} " in command for name in PROGRAMS)
            found += [f"{page}: {fault}" for fault in faults(command)]
    print(f"{seen} commands", *found, sep="\n")
    return 1 if found or seen < 15 else 0


if __name__ == "__main__":
    sys.exit(main())
