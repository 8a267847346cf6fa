# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Checks the documentation without building it: check.py REPOSITORY

That every C++ block is what its program has, that links lead somewhere, that paths in the text exist
(tools/lib/documents.py), and that the drawn pictures are what their script draws; and, first, that a
page with any of these faults is found.
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop() if len(sys.argv) > 1 else ".").resolve()
sys.path.insert(0, str(ROOT / "tools/lib"))
import documents  # noqa: E402
import doxygen_filter  # noqa: E402

PROGRAM = """// A comment.

#include <cstdio>

int main() {
  // [loop]
  for (int i = 0; i < 3; ++i) {
    // [body]
    std::printf("%d", i);
    // [body]
  }
  // [loop]
}
"""


class Faults(unittest.TestCase):
    """A small repository with one page, whose faults are to be found."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        for name, text in {"examples/one.cpp": PROGRAM, "examples/meson.build": "executable('one')",
                           "examples/two.cpp": PROGRAM, "README.md": "# Readme\n"}.items():
            (self.root / name).parent.mkdir(exist_ok=True)
            (self.root / name).write_text(text)
        (self.root / "docs").mkdir()

    def tearDown(self):
        self.folder.cleanup()

    def said(self, page: str, update: bool = False) -> str:
        (self.root / "docs/page.md").write_text(page)
        return "\n".join(documents.check(self.root, update))

    def test_a_block_is_cut_from_its_program(self):
        good = ("<!-- from examples/one.cpp, loop -->\n```cpp\nfor (int i = 0; i < 3; ++i) {\n"
                "  std::printf(\"%d\", i);\n}\n```\n")
        self.assertEqual(self.said(good), "")
        self.assertIn("differs from examples/one.cpp", self.said(good.replace("< 3", "< 4")))
        self.assertEqual(self.said(good.replace("< 3", "< 4"), update=True), "")
        self.assertEqual((self.root / "docs/page.md").read_text(), good)

    def test_a_whole_program_begins_behind_its_first_comment(self):
        whole = ("<!-- from examples/one.cpp -->\n```cpp\n#include <cstdio>\n\nint main() {\n"
                 "  for (int i = 0; i < 3; ++i) {\n    std::printf(\"%d\", i);\n  }\n}\n```\n")
        self.assertEqual(self.said(whole), "")

    def test_a_block_needs_a_source_that_is_compiled(self):
        self.assertIn("without <!-- from", self.said("```cpp\nint x;\n```\n"))
        self.assertIn("nobody compiles it",
                      self.said("<!-- from examples/two.cpp, body -->\n```cpp\n```\n"))
        self.assertIn("there is no", self.said("<!-- from examples/x.cpp -->\n```cpp\n```\n"))
        self.assertIn("has 0 lines",
                      self.said("<!-- from examples/one.cpp, no -->\n```cpp\n```\n"))
        self.assertEqual(self.said("```sh\nls\n```\n"), "")

    def test_links_lead_somewhere(self):
        self.assertEqual(self.said("# A `page`, twice\n[here](#a-page-twice), [there](../README.md#readme)\n"), "")
        self.assertIn("leads nowhere", self.said("[x](missing.md)\n"))
        self.assertIn("has no heading", self.said("# A\n[x](#b)\n"))
        self.assertIn("has no heading", self.said("[x](../README.md#b)\n"))
        self.assertIn("leads out", self.said("[x](../..)\n"))
        self.assertEqual(self.said("[x](https://example.org/none)\n"), "")

    def test_paths_in_the_text_exist(self):
        self.assertEqual(self.said("`examples/one.cpp` and `examples/{a,b}` and `build/x`\n"), "")
        self.assertIn("there is no examples/three.cpp", self.said("see `examples/three.cpp`\n"))
        self.assertIn("there is no weft/none.hpp", self.said("see `weft/none.hpp`\n"))


class Reference(unittest.TestCase):
    def test_headers_keep_their_lines(self):
        lines = ["// SPDX", "// SPDX", "//! @file One idea.", "#pragma once", "", "struct X {",
                 "  template <class Self, class Visit>",
                 "  static constexpr void members(Self&, Visit&&) {}", "};"]
        shown = doxygen_filter.shown(lines, "nn")
        self.assertEqual(len(shown), len(lines))
        self.assertEqual(shown[1:3], ["//! @file", "//! @brief One idea."])
        self.assertIn("nn::Module", shown[6])

    def test_a_comment_of_its_own_stays(self):
        lines = ["", "", "", "struct X {", "  //! Mine.", "  int rank() const;", "};"]
        self.assertNotIn("caller's number", "\n".join(doxygen_filter.shown(lines, "comm")))
        self.assertIn("caller's number", "\n".join(doxygen_filter.shown(lines[:4] + lines[5:], "comm")))


class ThisRepository(unittest.TestCase):
    def test_its_pages_hold(self):
        self.assertEqual("\n".join(documents.check(ROOT)), "")

    def test_its_pictures_are_drawn(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, str(ROOT / "docs/images/draw.py"), folder], check=True)
            for drawn in sorted(pathlib.Path(folder).iterdir()):
                kept = ROOT / "docs/images" / drawn.name
                self.assertTrue(kept.is_file(), f"{kept} is missing")
                self.assertEqual(kept.read_text(encoding="utf-8"),
                                 drawn.read_text(encoding="utf-8"), drawn.name)


if __name__ == "__main__":
    unittest.main(verbosity=1)
