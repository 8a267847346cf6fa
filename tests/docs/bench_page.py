# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Tests benchmarks/harness/results.py, which reads what tools/bench --draw draws."""
import json
import pathlib
import random
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "benchmarks"))
from harness import results, run  # noqa: E402


def line(**other):
    return {"suite": "growth_batch", "subject": "weft", "metric": "time_ms", "threads": 1,
            "median": 2.0, "lower_quartile": 1.5, "upper_quartile": 2.5, "repeats": 12,
            "roof_share": None, "run": "20260102T030405", "machine": "one", "commit": "0000000",
            "sequences": 1, "length": 32, **other}


class Reading(unittest.TestCase):
    def said(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "bench.jsonl"
            path.write_text(text, encoding="utf-8")
            with self.assertRaises(SystemExit) as raised:
                results.read(path)
        return str(raised.exception)

    def test_a_file_that_is_missing_or_empty_is_named(self):
        with self.assertRaisesRegex(SystemExit, "there is no none/bench.jsonl"):
            results.read("none/bench.jsonl")
        self.assertIn("bench.jsonl is empty", self.said(""))

    def test_a_malformed_line_is_told_by_its_number(self):
        good = json.dumps(line()) + "\n"
        lacks = {key: value for key, value in line().items() if key != "threads"}
        for bad, what in (("{", "no JSON: "), ("", "no JSON: "), ("[]", "no JSON object"),
                          (json.dumps(lacks), "there is no 'threads'"),
                          (json.dumps(line(median="2")), "'median' is \"2\""),
                          (json.dumps(line(median=float("nan"))), "'median' is NaN"),
                          (json.dumps(line(lower_quartile=0)), "'lower_quartile' is 0"),
                          (json.dumps(line(commit=None)), "'commit' is null")):
            self.assertIn(f"bench.jsonl:3: {what}", self.said(good + good + bad + "\n" + good))

    def test_what_merge_writes_is_read(self):
        lines = [line(), line(metric="peak_bytes", account={"values": 1}), line(threads=2)]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "bench.jsonl"
            run.merge(path, lines)
            run.merge(path, [line(median=3.0)])
            read = results.read(path)
        self.assertCountEqual(read, lines[1:] + [line(median=3.0)])


class Grouping(unittest.TestCase):
    def test_points_are_in_the_order_of_suites_and_sizes(self):
        lines = [line(suite=suite, sequences=n, machine=machine) for machine in ("one", "two")
                 for suite, n in (("encoder_layer.forward", 50), ("chunked_loss", 1),
                                  ("growth_batch", 2), ("growth_batch", 16), ("another", 1))]
        shuffled = random.Random(1).sample(lines, len(lines))
        machines = results.by_machine(shuffled)
        self.assertCountEqual(machines, ("one", "two"))
        for points in machines.values():
            self.assertEqual([(point.suite, point.settings["sequences"]) for point in points],
                             [(each["suite"], each["sequences"]) for each in lines[:5]])

    def test_a_point_has_its_threads_subjects_and_metrics(self):
        [[point]] = results.by_machine([
            line(threads=2, subject="torch_eager", median=5.0), line(subject="torch_flat"),
            line(threads=2), line(metric="peak_bytes", account={}, median=7)]).values()
        self.assertEqual(point.settings, {"sequences": 1, "length": 32})
        self.assertEqual(point.threads(), [1, 2])
        self.assertEqual(point.subjects(), ["weft", "torch_eager", "torch_flat"])
        self.assertEqual(point.medians(2, "time_ms"), {"weft": 2.0, "torch_eager": 5.0})
        self.assertEqual(point.medians(1, "peak_bytes"), {"weft": 7})
        self.assertIsNone(point.line(1, "weft", "time_ms"))

    def test_the_best_peer_is_not_weft(self):
        medians = {"weft": 1.0, "weft_whole": 0.5, "torch_flat": 3.0, "torch_eager": 4.0}
        self.assertEqual(run.best_peer(medians), ("torch_flat", 3.0))
        self.assertIsNone(run.best_peer({"weft": 1.0}))


if __name__ == "__main__":
    unittest.main(verbosity=1)
