# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Tests what tools/bench --draw reads and writes: benchmarks/harness/results.py and tables.py; and
that the tables of docs/performance.md are what docs/results/bench.jsonl says."""
import json
import pathlib
import random
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
from harness import results, run, tables  # noqa: E402


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


class Tables(unittest.TestCase):
    """Of a page with one table, for the machine "number one"."""

    def rows(self, kind, lines):
        page = f"before\n<!-- bench: {kind}, one -->\nold\n<!-- end -->\nafter\n"
        filled = tables.filled(page, [{**each, "machine": "number one"} for each in lines])
        self.assertTrue(filled.startswith(f"before\n<!-- bench: {kind}, one -->\n| "))
        self.assertTrue(filled.endswith(" |\n<!-- end -->\nafter\n"))
        return [row.strip("| ").split(" | ") for row in filled.splitlines()[4:-2]]

    def test_each_number_of_threads_has_its_best_peer(self):
        lines = [line(suite="translation_base.step", threads=threads, subject=subject, median=ms,
                      roof_share=0.5 if subject == "weft" else None)
                 for threads, subject, ms in (
                     (1, "weft", 1000.0), (1, "torch_eager", 3000.0), (1, "torch_flat", 2500.0),
                     (1, "torch_bfloat16", 10.0), (2, "weft", 60.0), (2, "torch_eager", 90.0),
                     (2, "weft_bfloat16", 4.0), (2, "torch_bfloat16", 10.0))]
        lines += [line(suite="translation_base.step", metric="peak_bytes", subject=subject, median=n)
                  for subject, n in (("weft", 3), ("torch_eager", 4), ("torch_flat", 6))]
        self.assertEqual([row[1:] for row in self.rows("steps", lines)],
                         [["1,000, 60", "2,500 flat, 90 eager", "2.50, 1.50", "2.00, 2.00", "0.75, –"],
                          ["–, 4", "10 autocast, 10 autocast", "–, 2.50", "–", "–"]])

    def test_peers_of_a_translation_stand_beside_each_other(self):
        lines = [line(suite="greedy_1", subject=subject, median=ms)
                 for subject, ms in (("weft", 2.0), ("ctranslate2", 3.0), ("torch_cached", 5.0))]
        self.assertEqual([row[1:] for row in self.rows("translation", lines)],
                         [["2", "5", "2.50", "3", "1.50", "–"]])

    def test_a_curve_is_a_span(self):
        lines = [line(suite="growth_batch", sequences=n, subject=subject, median=ms, roof_share=0.8)
                 for n, subject, ms in ((1, "weft", 2.0), (1, "torch_eager", 3.0),
                                        (8, "weft", 10.0), (8, "torch_eager", 11.0))]
        self.assertEqual(self.rows("growth", lines)[0][1:], ["1.10 to 1.50", "1.25 to 1.25"])

    def test_a_table_or_a_machine_that_there_is_not_is_named(self):
        for kind in ("steps, two", "stairs, one"):
            with self.assertRaisesRegex(SystemExit, f"'bench: {kind}'"):
                tables.filled(f"<!-- bench: {kind} -->\n<!-- end -->", [line()])

    def test_the_page_says_what_was_measured(self):
        page = (ROOT / "docs/performance.md").read_text(encoding="utf-8")
        self.assertGreater(page.count("<!-- bench: "), 0)
        self.assertEqual(page, tables.filled(page, results.read(ROOT / "docs/results/bench.jsonl")))


if __name__ == "__main__":
    unittest.main(verbosity=1)
