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

compiler = sys.argv[1:] or ["c++", "-std=c++20"]


class Check(unittest.TestCase):
    def check(self, text):
        """The status and the output of check.py for a program of this text."""
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "program.cpp"
            source.write_text(text)
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                status = main([str(source), *compiler])
            return status, printed.getvalue()

    def test_a_program_that_fails_as_expected_passes(self):
        status, printed = self.check('// expect: heads must divide d_model\n'
                                     'static_assert(512 % 7 == 0, "heads must divide d_model");\n')
        self.assertEqual(status, 0, printed)

    def test_a_program_that_compiles_fails(self):
        status, printed = self.check("// expect: heads must divide d_model\n"
                                     "int main() {}  // heads must divide d_model, error:\n")
        self.assertEqual(status, 1)
        self.assertIn("compiles, and must not", printed)

    def test_another_error_fails(self):
        status, printed = self.check("// expect: heads must divide d_model\n"
                                     "int heads = no_such_thing;\n")
        self.assertEqual(status, 1)
        self.assertIn("no_such_thing", printed)

    def test_an_error_that_only_quotes_the_sentence_fails(self):
        status, _ = self.check('// expect: no_such_thing\n'
                               'int heads = no_such_thing;\n')
        self.assertEqual(status, 1)

    def test_the_expected_error_must_come_first(self):
        status, _ = self.check('// expect: heads must divide d_model\n'
                               'int heads = no_such_thing;\n'
                               'static_assert(false, "heads must divide d_model");\n')
        self.assertEqual(status, 1)

    def test_a_missing_header_fails(self):
        status, _ = self.check("// expect: heads must divide d_model\n"
                               "#include <weft/no/such/header.hpp>\n")
        self.assertEqual(status, 1)

    def test_alternatives(self):
        status, printed = self.check("// expect: as one compiler says it\n"
                                     "// expect: heads must divide d_model\n"
                                     'static_assert(false, "heads must divide d_model");\n')
        self.assertEqual(status, 0, printed)

    def test_what_the_compiler_has_to_name(self):
        program = ('template <int heads>\n'
                   'struct Heads { static_assert(512 % heads == 0, "heads must divide d_model"); };\n'
                   'Heads<7> model;\n')
        status, printed = self.check("// expect: heads must divide d_model\n// names: Heads<\n" + program)
        self.assertEqual(status, 0, printed)
        status, printed = self.check("// expect: heads must divide d_model\n// names: Rank<7>\n" + program)
        self.assertEqual(status, 1)
        self.assertIn("expected 'Rank<7>'", printed)

    def test_a_program_must_say_what_it_expects(self):
        for opening in ("", "// expect: \n", "// expected: no_such_thing\n"):
            status, printed = self.check(opening + "int heads = no_such_thing;\n")
            self.assertEqual(status, 1, opening)
            self.assertIn("first line must be", printed)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
