# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Counts the test cases in Meson's testlog.json: count_cases.py testlog.json

Prints the output of every program that failed and, as the last line,
"N passed, N failed, N skipped". Fails when a case failed or nothing ran.

A Catch2 program counts as many cases as its last summary says; any other program is one case, and
so is a program that asks to be skipped (exit status 77). A program that fails without a failed
case in its summary (a crash, a timeout, a leak found at exit) adds one failed case.
"""
import json
import re
import sys
from typing import NamedTuple, Optional

ALL_PASSED = re.compile(r"^All tests passed \(\d+ assertions? in (\d+) test cases?\)$", re.M)
SOME_FAILED = re.compile(r"^test cases: +(\d+) \|(.*)$", re.M)
NOTHING_RAN = re.compile(r"^No tests ran$", re.M)
LINES_SHOWN = 400


class Cases(NamedTuple):
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: "Cases") -> "Cases":
        return Cases(*(a + b for a, b in zip(self, other)))

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def catch2_summary(output: str) -> Optional[Cases]:
    """What the last Catch2 summary in `output` says; None where there is none."""
    found = [match for pattern in (ALL_PASSED, SOME_FAILED, NOTHING_RAN)
             for match in pattern.finditer(output)]
    if not found:
        return None
    last = max(found, key=lambda match: match.start())
    if last.re is NOTHING_RAN:
        return Cases()
    total = int(last[1])
    # "failed as expected" is a case that did what it should.
    failed = re.search(r"(\d+) failed(?! as expected)", last[2]) if last.re is SOME_FAILED else None
    failures = int(failed[1]) if failed else 0
    return Cases(passed=total - failures, failed=failures)


def count(result: str, output: str) -> Cases:
    """The cases of one program that Meson logged with `result`."""
    succeeded = result in ("OK", "EXPECTEDFAIL")
    summary = catch2_summary(output)
    # Failed cases are never a skip: Catch2 returns the number of failed assertions, which may be 77.
    if result == "SKIP" and (summary is None or summary.failed == 0):
        return Cases(skipped=1)
    if summary is None:
        return Cases(passed=1) if succeeded else Cases(failed=1)
    if not succeeded and summary.failed == 0:
        return summary + Cases(failed=1)
    return summary


def report(name: str, result: str, status: object, output: str) -> str:
    lines = output.splitlines()
    left_out = len(lines) - LINES_SHOWN
    if left_out > 0:
        lines = [f"[{left_out} lines above are in Meson's testlog.txt]"] + lines[-LINES_SHOWN:]
    return "\n".join([f"--- {name}: {result}, exit status {status}", *lines, ""])


def main(path: str) -> int:
    total = Cases()
    try:
        with open(path, encoding="utf-8", errors="replace") as log:
            tests = [json.loads(line) for line in log if line.strip()]
    except FileNotFoundError:
        tests = []
    except ValueError as error:
        print(f"{path}: {error}: Meson did not end well")
        print(Cases(failed=1))
        return 1
    for test in tests:
        output = test.get("stdout", "") + test.get("stderr", "")
        cases = count(test["result"], output)
        if cases.failed:
            print(report(test["name"], test["result"], test.get("returncode"), output))
        total += cases
    ran = total.passed + total.failed > 0
    if not ran:
        print(f"no test ran, says {path}")
    print(total)
    return 0 if ran and total.failed == 0 else 1


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: count_cases.py testlog.json")
    sys.exit(main(sys.argv[1]))
