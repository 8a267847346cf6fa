# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Tests check.py with the compiler that the tests use: check_test.py COMPILER [ARGUMENTS]"""
import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

from check import main

compiler = sys.argv[1:] or ["c++", "-std=c++20", "-Wall", "-Wextra"]


class Check(unittest.TestCase):
    def check(self, headers, mode="alone"):
        """The status and the output of check.py for these headers."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in headers.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                status = main([mode, str(root), *compiler])
            return status, printed.getvalue()

    def test_sound_headers(self):
        headers = {
            "weft/core/one.hpp": "#pragma once\nstruct One {};\n",
            "weft/core/two.hpp": "#pragma once\n#include <weft/core/one.hpp>\n"
                                 "struct Two : One {};\n"}
        self.assertEqual(self.check(headers, "alone"),
                         (0, "2 headers; of 2 programs 0 do not compile\n"))
        self.assertEqual(self.check(headers, "together"),
                         (0, "2 headers; of 1 programs 0 do not compile\n"))

    def test_headers_that_do_not_go_together(self):
        headers = {"weft/core/one.hpp": "#pragma once\nstruct One {};\n",
                   "weft/io/one.hpp": "#pragma once\nstruct One { int one; };\n"}
        self.assertEqual(self.check(headers, "alone")[0], 0)
        status, printed = self.check(headers, "together")
        self.assertEqual(status, 1)
        self.assertIn("weft/io/one.hpp", printed)

    def test_a_header_that_relies_on_its_includer(self):
        status, printed = self.check({
            "weft/core/a.hpp": "#pragma once\n#include <string>\n",
            "weft/core/b.hpp": "#pragma once\ninline std::string b() { return {}; }\n"})
        self.assertEqual(status, 1)
        self.assertIn("<weft/core/b.hpp>", printed)
        self.assertNotIn("<weft/core/a.hpp>", printed)

    def test_a_header_that_cannot_be_included_twice(self):
        status, printed = self.check({"weft/core/one.hpp": "struct One {};\n"})
        self.assertEqual(status, 1)
        self.assertIn("<weft/core/one.hpp>", printed)

    def test_a_warning_is_a_complaint(self):
        status, _ = self.check({
            "weft/core/one.hpp": "#pragma once\ninline int one(int unused) { return 1; }\n"})
        self.assertEqual(status, 1)

    def test_no_header_at_all_is_a_fault(self):
        self.assertEqual(self.check({}, "alone")[0], 1)
        self.assertEqual(self.check({}, "together")[0], 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
