# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""What the documentation's Markdown has to keep: documents.py check|update REPOSITORY

1. Every C++ block is cut from a file that is compiled. Above it stands, on a line of its own,

       <!-- from examples/guides/ranks.cpp, train -->

   and in the file the lines lie between two lines `// [train]`; between the second and a third
   lies what is left out. Several parts are joined by empty lines; without a part the whole file is
   meant, from what follows its first comment on; `concept X` is a concept of that name. The file is a
   header of weft, or is named by a meson.build beside it or above it. `update` copies the blocks anew.
2. Every relative link leads to a file or folder, and its #anchor to a heading there.
3. Every path below the repository that stands in `backticks` exists.

Other modules use it: tools/lib/render_docs.py renders what it lists, tests/docs/check.py runs it.
"""
import pathlib
import re
import sys
import textwrap
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

FENCE = re.compile(r"^(\s*)(```+)\s*([\w+-]*)\s*$")
FROM = re.compile(r"^<!-- from ([^\s,]+)((?:, *(?:concept )?[\w-]+)*) -->$")
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
HEADING = re.compile(r"^(#{1,6})\s+(.+?)\s*#*$")
TOP_FOLDERS = ("benchmarks", "docs", "examples", "include", "tests", "tools")
PATH = re.compile(r"^(?:(?:%s)/[\w./+-]+|weft/[\w/]+\.(?:hpp|cuh))$" % "|".join(TOP_FOLDERS))


class DocumentError(Exception):
    """What is wrong, with the place."""


class Block(NamedTuple):
    line: int  # of the opening fence, from 0
    end: int  # of the closing fence
    language: str
    source: Optional[str]  # of the comment above: a path
    parts: Tuple[str, ...]


def documents(root: pathlib.Path) -> List[pathlib.Path]:
    """All Markdown of the documentation, relative to the repository."""
    files = [path.relative_to(root) for path in sorted((root / "docs").rglob("*.md"))]
    return [pathlib.Path(name) for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
            if (root / name).is_file()] + files


def blocks(lines: List[str]) -> Iterator[Block]:
    """The fenced blocks of a page."""
    start = None
    for number, line in enumerate(lines):
        fence = FENCE.match(line)
        if start is None:
            if fence:
                start, ticks, language = number, fence[2], fence[3]
        elif fence and fence[2] == ticks and not fence[3]:
            above = FROM.match(lines[start - 1].strip()) if start > 0 else None
            parts = tuple(part.strip() for part in above[2].split(",")[1:]) if above else ()
            yield Block(start, number, language, above[1] if above else None, parts)
            start = None
    if start is not None:
        raise DocumentError(f"{start + 1}: a block without an end")


def concept_of(text: str, name: str, source: str) -> str:
    """A concept, from its template's line to the semicolon at its end."""
    found = re.search(rf"^template <[^\n]*>\nconcept {name} =.*?;$(?=\n\n)", text, re.M | re.S)
    if not found:
        raise DocumentError(f"{source} has no concept {name}")
    return found[0]


def part_of(text: str, part: str, source: str) -> str:
    """The lines between the two markers of a part, moved to the left."""
    if part.startswith("concept "):
        return concept_of(text, part[len("concept "):], source)
    lines = text.splitlines()
    marks = [i for i, line in enumerate(lines) if line.strip() in (f"// [{part}]", f"# [{part}]")]
    if not marks or len(marks) % 2 != 0:
        raise DocumentError(f"{source} has {len(marks)} lines \"// [{part}]\", needs two, or more pairs")
    inside = [line for begin, end in zip(marks[::2], marks[1::2]) for line in lines[begin + 1:end]
              if not re.fullmatch(r"\s*(//|#) \[[\w-]+\]", line)]
    return textwrap.dedent("\n".join(inside)).strip("\n")


def whole_of(text: str) -> str:
    """A file from what follows its first comment on, without the markers of parts."""
    lines = text.splitlines()
    while lines and (lines[0].startswith("//") or not lines[0].strip()):
        lines.pop(0)
    return "\n".join(line for line in lines if not re.fullmatch(r"\s*// \[[\w-]+\]", line))


def is_compiled(root: pathlib.Path, path: pathlib.Path) -> bool:
    """Whether it is a header of weft, or named by a meson.build."""
    if path.parts[:2] == ("include", "weft"):
        return True
    folder = path.parent
    while True:
        build = root / folder / "meson.build"
        if build.is_file():
            text = build.read_text(encoding="utf-8")
            inside = path.relative_to(folder).as_posix()
            names = (inside, inside.rsplit(".", 1)[0])
            if any(re.search(rf"'{re.escape(name)}'", text) for name in names):
                return True
        if folder == folder.parent:
            return False
        folder = folder.parent


def cut(root: pathlib.Path, block: Block) -> str:
    """What a block should be."""
    path = pathlib.PurePosixPath(block.source)
    if not (root / path).is_file():
        raise DocumentError(f"there is no {path}")
    if not is_compiled(root, pathlib.Path(path)):
        raise DocumentError(f"{path} is named by no meson.build, so nobody compiles it")
    text = (root / path).read_text(encoding="utf-8")
    if not block.parts:
        return whole_of(text)
    return "\n\n".join(part_of(text, part, block.source) for part in block.parts)


def check_blocks(root: pathlib.Path, page: pathlib.Path, update: bool = False) -> List[str]:
    """What is wrong with the C++ blocks of a page; `update` writes those that are old."""
    text = (root / page).read_text(encoding="utf-8")
    lines = text.splitlines()
    faults = []
    try:
        found = list(blocks(lines))
    except DocumentError as error:
        return [f"{page}:{error}"]
    for block in reversed(found):
        if block.language != "cpp":
            continue
        where = f"{page}:{block.line + 1}"
        if block.source is None:
            faults.append(f"{where}: a C++ block without <!-- from FILE, part --> above it")
            continue
        try:
            should = cut(root, block).splitlines()
        except DocumentError as error:
            faults.append(f"{where}: {error}")
            continue
        if lines[block.line + 1:block.end] == should:
            continue
        if update:
            lines[block.line + 1:block.end] = should
        else:
            faults.append(f"{where}: differs from {block.source}; tools/docs --update copies it")
    if update and text != "\n".join(lines) + "\n":
        (root / page).write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"{page}: blocks are copied anew")
    return faults[::-1]


def prose(text: str) -> List[str]:
    """The lines of a page, those of blocks empty."""
    lines = text.splitlines()
    for block in blocks(lines):
        lines[block.line:block.end + 1] = [""] * (block.end + 1 - block.line)
    return ["" if line.startswith("    ") and not line.lstrip().startswith(("-", "*", "["))
            else line for line in lines]


def slug(heading: str) -> str:
    """The anchor that GitHub, and pandoc with gfm_auto_identifiers, give a heading."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    plain = re.sub(r"[`*]", "", plain).lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def anchors(text: str) -> List[str]:
    """The anchors of a page; the second heading of a name has -1 behind it."""
    seen: Dict[str, int] = {}
    result = []
    for line in prose(text):
        heading = HEADING.match(line)
        if heading:
            name = slug(heading[2])
            count = seen.get(name, 0)
            seen[name] = count + 1
            result.append(name if count == 0 else f"{name}-{count}")
    return result


def check_links(root: pathlib.Path, page: pathlib.Path) -> List[str]:
    """Relative links of a page that lead nowhere, and paths in backticks that do not exist."""
    text = (root / page).read_text(encoding="utf-8")
    faults = []
    for number, line in enumerate(prose(text), 1):
        for target in LINK.findall(CODE.sub(lambda code: "x" * len(code[0]), line)):
            if re.match(r"^[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            path = (root / page).parent / name if name else root / page
            if not path.exists():
                faults.append(f"{page}:{number}: {target} leads nowhere")
            elif root.resolve() not in (path.resolve(), *path.resolve().parents):
                faults.append(f"{page}:{number}: {target} leads out of the repository")
            elif anchor and path.suffix == ".md" and \
                    anchor not in anchors(path.read_text(encoding="utf-8")):
                faults.append(f"{page}:{number}: {name or page} has no heading #{anchor}")
        for code in CODE.findall(line):
            if PATH.match(code):
                path = root / ("include/" + code if code.startswith("weft/") else code)
                if not path.exists():
                    faults.append(f"{page}:{number}: there is no {code}")
    return faults


def check(root: pathlib.Path, update: bool = False) -> List[str]:
    """All that is wrong with the Markdown of a repository."""
    faults = []
    for page in documents(root):
        said = check_blocks(root, page, update)
        faults += said
        if not any("without an end" in fault for fault in said):
            faults += check_links(root, page)
    return faults


def main(arguments: List[str]) -> int:
    if len(arguments) != 2 or arguments[0] not in ("check", "update"):
        print(__doc__, file=sys.stderr)
        return 2
    root = pathlib.Path(arguments[1])
    faults = check(root, arguments[0] == "update")
    print("\n".join(faults) if faults else f"{len(documents(root))} pages: links and blocks hold")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
