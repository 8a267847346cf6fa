# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Tests check.py with the compiler that the tests use: check_test.py COMPILER [ARGUMENTS]"""
import contextlib
import io
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

import check
from check import main

compiler = sys.argv[1:] or ["c++", "-std=c++20", "-Wall", "-Wextra"]

ONE = "#pragma once\nstruct One {};\n"
TWO = "#pragma once\n#include <weft/core/one.hpp>\nstruct Two : One {};\n"


class Check(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, headers):
        for name, text in headers.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text)

    def run_check(self, *arguments):
        # Not weft's own headers, which the command has on its path.
        command = [word for word in compiler if not word.startswith("-I")]
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            status = main([*arguments, str(self.root), *command])
        return status, printed.getvalue()

    def alone(self, headers=()):
        self.write(dict(headers))
        return self.run_check("alone", str(self.root / "passed.json"))

    def together(self, headers=()):
        self.write(dict(headers))
        return self.run_check("together")

    def test_an_older_standard_is_refused_at_once(self):
        good = '#if __cplusplus < 202002L\n#error "weft needs C++20"\n#include <C++20>\n#endif\n'
        for text, status in ((good, 0), ("struct One {};\n", 1), (good.replace("<", ">", 1), 1),
                             (good.replace("#include <C++20>", "none i;\n" * 30), 1)):
            self.write({"weft/weft.hpp": text})
            self.assertEqual(self.run_check("older")[0], status, text)

    def test_sound_headers(self):
        headers = {"weft/core/one.hpp": ONE, "weft/core/two.hpp": TWO}
        self.assertEqual(self.alone(headers), (0, "2 headers, 2 read again, 0 with complaints\n"))
        self.assertEqual(self.together(), (0, "2 headers compile together, twice\n"))

    def test_a_header_whose_library_is_not_there_is_left_out(self):
        headers = {"weft/core/one.hpp": ONE,
                   "weft/comm/nccl.hpp": "#pragma once\n#include <nccl.h>\nstruct Nccl {};\n"}
        compiler.append("-nostdinc")  # as if it were not there
        try:
            self.assertEqual(self.together(headers), (0, "1 headers compile together, twice\n"))
        finally:
            compiler.pop()

    def test_a_header_that_relies_on_its_includer(self):
        headers = {"weft/core/a.hpp": "#pragma once\n#include <string>\n",
                   "weft/core/b.hpp": "#pragma once\ninline std::string b() { return {}; }\n"}
        status, printed = self.alone(headers)
        self.assertEqual(status, 1)
        self.assertIn("<weft/core/b.hpp>", printed)
        self.assertNotIn("<weft/core/a.hpp>", printed)
        self.assertEqual(self.together()[0], 0)

    def test_a_header_that_relies_on_its_includer_below_others(self):
        headers = {"weft/core/a.hpp": "#pragma once\n#include <string>\n",
                   "weft/core/b.hpp": "#pragma once\ninline std::string b() { return {}; }\n",
                   "weft/core/c.hpp": "#pragma once\n#include <weft/core/a.hpp>\n#include <weft/core/b.hpp>\n",
                   "weft/core/d.hpp": "#pragma once\n#include <weft/core/c.hpp>\n"}
        status, printed = self.alone(headers)
        self.assertEqual(status, 1)
        self.assertIn("4 read again, 1 with complaints", printed)
        self.assertIn("<weft/core/b.hpp>, alone", printed)

    def test_headers_that_do_not_go_together(self):
        headers = {"weft/core/one.hpp": ONE,
                   "weft/io/one.hpp": "#pragma once\nstruct One { int one; };\n"}
        self.assertEqual(self.alone(headers)[0], 0)
        status, printed = self.together()
        self.assertEqual(status, 1)
        self.assertIn("weft/io/one.hpp", printed)

    def test_a_header_that_cannot_be_included_twice(self):
        headers = {"weft/core/one.hpp": "struct One {};\n"}
        status, printed = self.alone(headers)
        self.assertEqual(status, 1)
        self.assertIn("<weft/core/one.hpp>", printed)
        self.assertEqual(self.together()[0], 1)

    def test_a_warning_is_a_complaint(self):
        headers = {"weft/core/one.hpp": "#pragma once\ninline int one(int unused) { return 1; }\n"}
        self.assertEqual(self.alone(headers)[0], 1)
        self.assertEqual(self.together()[0], 1)

    def test_only_what_changed_is_read_again(self):
        headers = {"weft/core/one.hpp": ONE, "weft/core/two.hpp": TWO,
                   "weft/core/apart.hpp": "#pragma once\n"}
        self.alone(headers)
        self.assertEqual(self.alone()[1], "3 headers, 0 read again, 0 with complaints\n")
        # A change reaches the headers that include it, and what fails is not forgotten.
        broken = {"weft/core/one.hpp": "#pragma once\nunion One {};\n"}
        for _ in range(2):
            status, printed = self.alone(broken)
            self.assertEqual(status, 1)
            self.assertIn("<weft/core/two.hpp>", printed)
        self.assertEqual(self.alone({"weft/core/one.hpp": ONE}),
                         (0, "3 headers, 2 read again, 0 with complaints\n"))

    def test_another_command_reads_all_again(self):
        self.alone({"weft/core/one.hpp": "#pragma once\n#ifdef WEFT_X\n#error no\n#endif\n"})
        compiler.append("-DWEFT_X")
        self.addCleanup(compiler.pop)
        self.assertEqual(self.alone()[0], 1)

    def test_no_header_at_all_is_a_fault(self):
        self.assertEqual(self.alone()[0], 1)
        self.assertEqual(self.together()[0], 1)


class CheckWithBases(Check):
    """The same, where every header that can be is compiled before those that include it."""
    def setUp(self):
        super().setUp()
        patch = mock.patch.object(check, "LEAST_SAVED", 1)
        patch.start()
        self.addCleanup(patch.stop)

    def test_what_most_headers_include_is_their_base(self):
        self.write({"weft/core/one.hpp": ONE, "weft/core/two.hpp": TWO, "weft/core/apart.hpp": ""})
        names = ["weft/core/apart.hpp", "weft/core/one.hpp", "weft/core/two.hpp"]
        self.assertEqual(check.bases(check.closures(names, self.root)),
                         {"weft/core/two.hpp": "weft/core/one.hpp"})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
