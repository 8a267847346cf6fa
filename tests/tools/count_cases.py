# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Tests tools/lib/count_cases.py, on outputs as Catch2 2.13 and Meson write them."""
import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "lib"))
from count_cases import Cases, catch2_summary, count, main  # noqa: E402

RULE = "=" * 79 + "\n"
PASSED = RULE + "All tests passed (12 assertions in 3 test cases)\n\n"
FAILED = RULE + "test cases:  5 |  4 passed | 1 failed\nassertions: 12 | 11 passed | 1 failed\n\n"


class Summary(unittest.TestCase):
    def test_all_passed(self):
        self.assertEqual(catch2_summary(PASSED), Cases(passed=3))
        one = "All tests passed (1 assertion in 1 test case)\n"
        self.assertEqual(catch2_summary(one), Cases(passed=1))

    def test_some_failed(self):
        self.assertEqual(catch2_summary(FAILED), Cases(passed=4, failed=1))

    def test_every_case_failed(self):
        self.assertEqual(catch2_summary("test cases: 2 | 2 failed\n"), Cases(failed=2))

    def test_cases_without_assertions(self):
        self.assertEqual(catch2_summary("test cases: 2 | 2 passed\nassertions: - none -\n"),
                         Cases(passed=2))

    def test_failed_as_expected_is_no_failure(self):
        both = "test cases: 9 | 6 passed | 1 failed | 2 failed as expected\n"
        self.assertEqual(catch2_summary(both), Cases(passed=8, failed=1))
        only = "test cases: 3 | 2 passed | 1 failed as expected\n"
        self.assertEqual(catch2_summary(only), Cases(passed=3))

    def test_nothing_selected(self):
        self.assertEqual(catch2_summary(RULE + "No tests ran\n\n"), Cases())

    def test_the_last_summary_counts(self):
        self.assertEqual(catch2_summary(FAILED + "more\n" + PASSED), Cases(passed=3))
        self.assertEqual(catch2_summary(PASSED + "more\n" + FAILED), Cases(passed=4, failed=1))

    def test_other_programs_have_none(self):
        self.assertIsNone(catch2_summary("loss 1.25\nWe say: All tests passed (3 of 3)\n"))


class Count(unittest.TestCase):
    def test_programs_without_catch2_are_one_case(self):
        self.assertEqual(count("OK", "loss 1.25\n"), Cases(passed=1))
        self.assertEqual(count("OK", ""), Cases(passed=1))
        self.assertEqual(count("FAIL", "loss nan\n"), Cases(failed=1))
        self.assertEqual(count("TIMEOUT", ""), Cases(failed=1))
        self.assertEqual(count("ERROR", ""), Cases(failed=1))

    def test_a_skipped_program_is_one_skipped_case(self):
        self.assertEqual(count("SKIP", "no GPU is visible\n"), Cases(skipped=1))

    def test_a_failure_outside_the_cases_is_added(self):
        self.assertEqual(count("FAIL", PASSED + "ERROR: LeakSanitizer"), Cases(passed=3, failed=1))
        self.assertEqual(count("TIMEOUT", PASSED), Cases(passed=3, failed=1))

    def test_a_failed_case_is_counted_once(self):
        self.assertEqual(count("FAIL", FAILED), Cases(passed=4, failed=1))

    def test_seventy_seven_failed_assertions_are_no_skip(self):
        output = "test cases: 1 | 1 failed\nassertions: 77 | 77 failed\n"
        self.assertEqual(count("SKIP", output), Cases(failed=1))


class Main(unittest.TestCase):
    def run_main(self, *tests):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "testlog.json"
            path.write_text("".join(json.dumps(test) + "\n" for test in tests))
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                status = main(str(path))
            return status, printed.getvalue()

    def test_sums_programs_and_ends_with_the_line(self):
        status, printed = self.run_main(
            {"name": "core", "result": "OK", "returncode": 0, "stdout": PASSED},
            {"name": "layers", "result": "OK", "returncode": 0},
            {"name": "cuda", "result": "SKIP", "returncode": 77, "stdout": ""})
        self.assertEqual((status, printed), (0, "4 passed, 0 failed, 1 skipped\n"))

    def test_shows_what_failed(self):
        status, printed = self.run_main(
            {"name": "core", "result": "OK", "returncode": 0, "stdout": PASSED},
            {"name": "ops", "result": "FAIL", "returncode": 1, "stdout": "2 == 3\n" + FAILED,
             "stderr": "to the error stream\n"})
        self.assertEqual(status, 1)
        self.assertIn("ops: FAIL", printed)
        self.assertIn("2 == 3\n", printed)
        self.assertIn("to the error stream\n", printed)
        self.assertNotIn("core", printed)
        self.assertEqual(printed.splitlines()[-1], "7 passed, 1 failed, 0 skipped")

    def test_shows_the_end_of_a_long_output(self):
        lines = "".join(f"line {i}\n" for i in range(1000))
        _, printed = self.run_main(
            {"name": "ops", "result": "FAIL", "returncode": 1, "stdout": lines})
        self.assertIn("line 999\n", printed)
        self.assertNotIn("line 599\n", printed)
        self.assertIn("[600 lines above", printed)

    def test_nothing_run_is_a_failure(self):
        self.assertEqual(self.run_main()[0], 1)
        self.assertEqual(self.run_main({"name": "cuda", "result": "SKIP", "returncode": 77})[0], 1)

    def test_a_missing_log_is_a_failure(self):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            self.assertEqual(main("/nonexistent/testlog.json"), 1)
        self.assertEqual(printed.getvalue().splitlines()[-1], "0 passed, 0 failed, 0 skipped")


if __name__ == "__main__":
    unittest.main()
