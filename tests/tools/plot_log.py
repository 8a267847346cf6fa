# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Tests tools/plot-log, on logs as runs leave them."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "plot-log"
EPOCH = '{"updates":%d,"epoch":1,"train_loss":%s,"valid_loss":%s}\n'


class PlotLog(unittest.TestCase):
    def plot(self, log):
        with tempfile.TemporaryDirectory() as holder:
            path, curve = pathlib.Path(holder, "log"), pathlib.Path(holder, "curve")
            path.write_text(log, encoding="utf-8")
            run = subprocess.run([sys.executable, SCRIPT, path, curve], capture_output=True,
                                 text=True, check=False)
            return run, curve.read_text(encoding="utf-8") if curve.exists() else ""

    def drawn(self, log):
        run, svg = self.plot(log)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertTrue(svg.startswith("<svg ") and svg.endswith("</svg>\n"), svg)
        return run.stderr

    def test_epochs_are_drawn(self):
        for log in (EPOCH % (6, 5.5, 4.25) + EPOCH % (12, 4.5, 4), EPOCH % (6, "null", "null"),
                    EPOCH % (6, 5, 5), EPOCH % (6, 5, 4) + '{"updates":6,"test_loss":4}\n'):
            self.assertEqual(self.drawn(log), "")

    def test_the_losses_of_one_epoch_are_dots(self):
        for epochs, dots in ((EPOCH % (6, 5, 4), 2), (EPOCH % (6, 5, "null"), 1),
                             (EPOCH % (6, 5, 4) + EPOCH % (12, 4, 3), 0)):
            self.assertEqual(self.plot(epochs)[1].count("<circle "), dots)

    def test_a_run_whose_updates_were_all_left_out_is_drawn(self):
        self.assertEqual(self.drawn(EPOCH % (0, 5.5, 4.25)), "")

    def test_a_line_that_was_cut_off_is_named(self):
        said = self.drawn(EPOCH % (6, 5, 4) + '{"updates":12,"ep\n' + EPOCH % (18, 4, 4))
        self.assertRegex(said, r"log, line 2: left out: .*\n$")

    def test_what_is_no_log_is_refused(self):
        for text in "", "no log\n", "7\n", "{}\n":
            run, svg = self.plot(text)
            self.assertEqual((run.returncode, svg), (1, ""))
            self.assertTrue(run.stderr.endswith("log: no epoch in it\n"), run.stderr)

    def test_a_log_that_is_not_there_is_named(self):
        run = subprocess.run([sys.executable, SCRIPT, "no/log", "curve"], capture_output=True,
                             text=True, check=False)
        self.assertEqual(run.stderr, "tools/plot-log: no/log: No such file or directory\n")
        self.assertEqual(run.returncode, 1)


if __name__ == "__main__":
    unittest.main()
