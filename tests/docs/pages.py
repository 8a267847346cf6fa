# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Builds the documentation, where Doxygen and pandoc are there: pages.py REPOSITORY

That every public name has a comment, and that the links of all pages lead somewhere, is found by
tools/docs; that it does find a name without a comment is tried first.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile


def build(repository, folder):
    return subprocess.run([repository / "tools/docs", folder], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)


def main(repository):
    missing = [tool for tool in ("doxygen", "pandoc") if shutil.which(tool) is None]
    if missing:
        print("there is no", " and no ".join(missing))
        return 77
    with tempfile.TemporaryDirectory() as folder:
        # The same with a name that says nothing.
        copy = pathlib.Path(folder, "copy")
        shutil.copytree(repository, copy, symlinks=True, ignore=lambda path, names: [
            name for name in names if name == "__pycache__" or
            (pathlib.Path(path) == repository and name.startswith((".git", "build")))])
        header = copy / "include/weft/core/clock.hpp"
        header.write_text(header.read_text().replace("namespace weft {", "namespace weft {\n\n"
                                                     "inline int says_nothing() { return 1; }\n", 1))
        done = build(copy, pathlib.Path(folder, "pages"))
        assert done.returncode != 0, done.stdout
        assert "says_nothing() (function) of namespace weft is not documented" in done.stdout, \
            done.stdout

        pages = pathlib.Path(folder, "pages")
        done = build(repository, pages)
        assert done.returncode == 0, done.stdout
        assert (pages / "index.html").is_file() and (pages / "reference").is_dir()
    return 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
