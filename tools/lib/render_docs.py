# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Renders the documentation's Markdown as pages, beside Doxygen's reference, and checks all links.

    render_docs.py REPOSITORY FOLDER VERSION [TAGS]

docs/X.md becomes FOLDER/X.html and docs/README.md the first page; other files that pages link to
(programs, the changelog) become pages below FOLDER/repository. A link to a header leads to its page
in FOLDER/reference, of which Doxygen has written TAGS; names of weft in backticks lead to theirs.
Pandoc does the rendering.
"""
import html
import html.parser
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree
from typing import Dict, List, Optional, Set, Tuple
from urllib.parse import unquote

import documents

LANGUAGES = {".cpp": "cpp", ".hpp": "cpp", ".cuh": "cpp", ".cu": "cpp", ".py": "python",
             ".sh": "bash", ".json": "json", ".build": "default"}
COPIED = {".svg", ".png", ".jsonl", ".json"}
REFERENCE = re.compile(r'(href|src)="([^"]*)"')


class Tags:
    """Where Doxygen has put headers, and types by all the ends of their qualified names."""

    def __init__(self, path: Optional[pathlib.Path]):
        self.headers: Dict[str, str] = {}
        self.names: Dict[str, Optional[str]] = {}
        for compound in xml.etree.ElementTree.parse(path).getroot() if path else ():
            kind, name = compound.get("kind"), compound.findtext("name") or ""
            file = compound.findtext("filename") or ""
            file += "" if file.endswith(".html") else ".html"
            if kind == "file":
                self.headers["include/" + (compound.findtext("path") or "") + name] = file
            elif kind in ("class", "struct", "concept") and "<" not in name:
                parts = name.split("::")
                for begin in range(len(parts)):
                    end = "::".join(parts[begin:])
                    self.names[end] = file if self.names.get(end, file) == file else None


class Site:
    """The pages that are made, and from what."""

    def __init__(self, root: pathlib.Path, out: pathlib.Path, version: str, tags: Tags):
        self.root, self.out, self.version, self.tags = root, out, version, tags
        self.made: Set[str] = set()
        self.waiting: List[str] = []
        self.faults: List[str] = []
        self.pages = self.navigation()

    def place(self, path: str) -> str:
        """Where a file or folder of the repository is shown; '' for nothing."""
        if path == "docs/reference.md" and self.tags.headers:
            return "reference/index.html"
        if path in self.tags.headers:
            return "reference/" + self.tags.headers[path]
        if (self.root / path).is_dir():
            readme = f"{path}/README.md" if path != "." else "README.md"
            if (self.root / readme).is_file():
                return self.place(readme)
            return f"repository/{path}/index.html"
        in_docs = path.startswith("docs/")
        shown = path[len("docs/"):] if in_docs else "repository/" + path
        name = pathlib.PurePosixPath(shown)
        if name.suffix == ".md":
            stem = "index" if in_docs and name.stem == "README" else name.stem
            return str(name.with_name(stem + ".html"))
        return shown if name.suffix in COPIED else shown + ".html"

    def navigation(self) -> List[Tuple[str, List[Tuple[str, str]]]]:
        """The headings of docs/README.md, and the pages that are listed below each."""
        sections: List[Tuple[str, List[Tuple[str, str]]]] = []
        for line in (self.root / "docs/README.md").read_text(encoding="utf-8").splitlines():
            heading = re.match(r"## (.+)", line)
            item = re.match(r"- \[([^\]]+)\]\(([^)#]+)\)", line)
            if heading:
                sections.append((heading[1], []))
            elif item and sections and ":" not in item[2]:
                path = os.path.normpath("docs/" + item[2]).replace(os.sep, "/")
                sections[-1][1].append((item[1], path))
        return sections

    def want(self, path: str) -> str:
        """The place of a file, which is made if it is not there."""
        place = self.place(path)
        if not place.startswith("reference/") and place not in self.made:
            self.made.add(place)
            self.waiting.append(path)
        return place

    def render(self) -> None:
        for page in documents.documents(self.root):
            self.want(page.as_posix())
        while self.waiting:
            self.make(self.waiting.pop(0))

    def make(self, path: str) -> None:
        place = self.place(path)
        source, target = self.root / path, self.out / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            # Meson's downloads lie in folders beside what names them.
            names = sorted(entry.name for entry in source.iterdir()
                           if not entry.name.startswith((".", "__"))
                           and not (path == "subprojects" and entry.is_dir()))
            text = f"# {path}\n\n" + "".join(f"- [{name}]({name})\n" for name in names)
        elif source.suffix == ".md":
            text = source.read_text(encoding="utf-8")
        elif source.suffix in COPIED:
            target.write_bytes(source.read_bytes())
            return
        else:
            lines = source.read_text(encoding="utf-8")
            language = LANGUAGES.get(source.suffix,
                                     "bash" if lines.startswith("#!") and "bash" in lines[:40] else
                                     "python" if lines.startswith("#!") else "default")
            text = f"# {path}\n\n``````{language}\n{lines}``````\n"
        folder = path if source.is_dir() else os.path.dirname(path)
        body = self.html(text, folder, place)
        title = re.search(r"^# (.+)$", text, re.M)
        target.write_text(self.page(body, title[1] if title else path, path, place),
                          encoding="utf-8")

    def html(self, text: str, folder: str, place: str) -> str:
        """The Markdown as HTML whose links lead to the places of what they name."""
        text = re.sub(r"^<!-- from ([^\s,]+)((?:, *(?:concept )?[\w-]+)*) -->\n(```+)(\w+)\n(.*?)^\3$",
                      lambda m: f"{m[3]}{m[4]}\n{m[5]}{m[3]}\n\n<p class=\"from\">"
                                f"<a href=\"/{m[1]}\">{m[1]}</a></p>\n",
                      text, flags=re.M | re.S)
        run = subprocess.run(["pandoc", "-f", "gfm+gfm_auto_identifiers-emoji", "-t", "html5",
                              "--wrap=preserve"], input=text, capture_output=True, text=True,
                             check=True)
        body = REFERENCE.sub(lambda m: f'{m[1]}="{self.link(m[2], folder, place)}"', run.stdout)
        body = re.sub(r"<code>([\w:]+)((?:&lt;[^<]*)?)</code>(?!</a>)",
                      lambda m: self.name(m[1], m[2], place), body)
        body = re.sub(r'<(h[1-6]) id="([^"]*)">(.*?)</\1>',
                      r'<\1 id="\2">\3<a class="anchor" href="#\2" aria-label="here">#</a></\1>',
                      body, flags=re.S)
        return body.replace("<table", '<div class="wide"><table').replace("</table>",
                                                                          "</table></div>")

    def link(self, target: str, folder: str, place: str) -> str:
        if re.match(r"^[a-z]+:", target) or target.startswith("#"):
            return target
        name, _, anchor = unquote(html.unescape(target)).partition("#")
        path = name[1:] if name.startswith("/") else os.path.normpath(os.path.join(folder, name))
        if not (self.root / path).exists():
            self.faults.append(f"{place}: {target} leads nowhere")
            return target
        where = relative(self.want(path), place)
        return where + ("#" + anchor if anchor else "")

    def name(self, text: str, arguments: str, place: str) -> str:
        """A word in backticks, as a link where it is a type of weft."""
        file = self.tags.names.get(text)
        if not file or not re.search(r"[A-Z]", text):
            return f"<code>{text}{arguments}</code>"
        return f'<a href="{relative("reference/" + file, place)}"><code>{text}{arguments}</code></a>'

    def page(self, body: str, title: str, path: str, place: str) -> str:
        pages = []
        for heading, entries in self.pages:
            items = "".join(
                f'<li><a{" class=here" if self.place(entry) == place else ""} '
                f'href="{relative(self.want(entry), place)}">{html.escape(name)}</a></li>'
                for name, entry in entries)
            pages.append(f"<h2>{html.escape(heading)}</h2>\n<ul>{items}</ul>")
        values = {
            "title": html.escape(re.sub(r"[`*]", "", title)) + ("" if title == "weft" else " · weft"),
            "top": relative("x", place)[:-1], "body": body, "pages": "\n".join(pages),
            "reference": relative("reference/index.html", place),
            "source": f"<code>{path}</code>", "version": self.version,
        }
        template = (self.root / "docs/site/template.html").read_text(encoding="utf-8")
        return re.sub(r"\$(\w+)\$", lambda m: values[m[1]], template)


def relative(target: str, place: str) -> str:
    return os.path.relpath(target, os.path.dirname(place) or ".").replace(os.sep, "/")


class Links(html.parser.HTMLParser):
    """The links and anchors of a page."""

    def __init__(self):
        super().__init__()
        self.links: List[str] = []
        self.anchors: Set[str] = set()

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


def check_site(out: pathlib.Path) -> List[str]:
    """Links of all pages that lead to no file, or of ours to no anchor there.

    Doxygen 1.9.4 itself links to friends that are declared and defined in a class by anchors that
    it does not write: of its pages only files are checked.
    """
    read: Dict[pathlib.Path, Links] = {}

    def page(path: pathlib.Path) -> Links:
        if path not in read:
            read[path] = Links()
            read[path].feed(path.read_text(encoding="utf-8"))
        return read[path]

    faults = []
    count = 0
    for path in sorted(out.rglob("*.html")):
        for link in page(path).links:
            if re.match(r"^(?:[a-z]+:|//)", link):
                continue
            count += 1
            name, _, anchor = unquote(link).partition("#")
            target = (path.parent / name).resolve() if name else path.resolve()
            if not target.is_file():
                faults.append(f"{path.relative_to(out)}: {link} leads nowhere")
            elif anchor and target.suffix == ".html" and anchor not in page(target).anchors and \
                    path.relative_to(out).parts[0] != "reference":
                faults.append(f"{path.relative_to(out)}: {link}: no such anchor")
    print(f"{len(read)} pages, {count} links")
    return faults


def main(arguments: List[str]) -> int:
    if len(arguments) not in (3, 4):
        print(__doc__, file=sys.stderr)
        return 2
    root, out = pathlib.Path(arguments[0]).resolve(), pathlib.Path(arguments[1]).resolve()
    tags = Tags(pathlib.Path(arguments[3]) if len(arguments) == 4 else None)
    site = Site(root, out, arguments[2], tags)
    site.render()
    (out / "style.css").write_bytes((root / "docs/site/style.css").read_bytes())
    faults = site.faults + check_site(out)
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
