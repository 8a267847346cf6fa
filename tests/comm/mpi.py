# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Runs ranks under mpirun, well and badly: mpi.py MPIRUN PROGRAM

`meson test` runs it with the environment that mpirun needs.
"""
import os
import re
import subprocess
import sys
import time
import unittest

MPIRUN = PROGRAM = ""


class Mpi(unittest.TestCase):
    def run_ranks(self, ranks, case, seconds=60):
        begin = time.monotonic()
        run = subprocess.run([MPIRUN, "-n", str(ranks), PROGRAM, case], capture_output=True, text=True,
                             timeout=seconds, check=False)
        self.seconds = time.monotonic() - begin
        # Nobody stays behind.
        time.sleep(0.2)
        left = subprocess.run(["pgrep", "-f", f"^{re.escape(PROGRAM)} {case}"], capture_output=True, text=True,
                              check=False)
        self.assertEqual(left.stdout, "")
        return run

    def test_collectives(self):
        for ranks in (1, 2, 3, 5):
            run = self.run_ranks(ranks, "collectives")
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertEqual(run.stdout.count("collectives hold"), ranks)

    def test_strategies_have_the_bits_of_one_device(self):
        for ranks in (1, 2, 3, 4):
            run = self.run_ranks(ranks, "strategies")
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertEqual(run.stdout.count("one answer"), ranks)

    def test_pipelines_have_the_bits_of_one_device(self):
        for ranks in (2, 4):
            run = self.run_ranks(ranks, "pipelines")
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertEqual(run.stdout.count("pipelines hold"), ranks)

    def test_a_rank_holds_the_memory_of_the_formula(self):
        for ranks in (2, 3):
            run = self.run_ranks(ranks, "memory", seconds=200)
            self.assertEqual(run.returncode, 0, run.stderr)
            lines = [line for line in run.stdout.splitlines() if ": bytes " in line]
            self.assertEqual(len(lines), ranks)
            for line in lines:
                held, formula = (list(map(float, part.split())) for part in
                                 line.split(": bytes ")[1].split(" of "))
                for is_, should in zip(held, formula, strict=True):
                    self.assertLess(abs(is_ / should - 1), 0.05, line)

    def test_a_rank_that_throws_is_named_by_all(self):
        run = self.run_ranks(3, "throws")
        self.assertEqual(run.returncode, 86, run.stderr)
        self.assertIn("rank 1: no such word\n", run.stderr)
        for rank in 0, 2:
            self.assertIn(f"rank {rank}: rank 1 failed: no such word\n", run.stderr)

    def test_a_rank_that_stops_is_named_by_the_others(self):
        run = self.run_ranks(3, "stops")
        self.assertEqual(run.returncode, 86, run.stderr)
        late = ("rank 1 has not entered all_reduce of round 5 within 2 s; "
                "last seen in all_reduce of round 4")
        for rank in (0, 2):
            self.assertIn(f"rank {rank}: {late}", run.stderr)
        self.assertLess(self.seconds, 2 + 5 + 3)  # the timeout, five seconds, and mpirun's own

    def test_a_rank_that_is_killed_ends_all(self):
        run = self.run_ranks(3, "killed")
        self.assertNotEqual(run.returncode, 0)
        self.assertRegex(run.stderr + run.stdout, "(?i)signal:? 9")  # MPICH's mpirun writes to the latter
        self.assertLess(self.seconds, 10)

    def test_ranks_are_those_that_mpirun_says(self):
        run = self.run_ranks(2, "launched")
        self.assertEqual(run.returncode, 0, run.stderr)
        for rank in range(2):
            self.assertIn(f"launched: {rank} of 2", run.stdout)

    def test_ranks_are_launched_once_where_weft_initialises_mpi(self):
        run = self.run_ranks(2, "launched twice")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.stdout.count("MPI was finalized before"), 2)

    def test_a_caller_that_has_initialised_mpi_keeps_it(self):
        run = self.run_ranks(2, "initialised by the caller")
        self.assertEqual(run.returncode, 0, run.stderr)
        for launch in range(2):
            self.assertEqual(run.stdout.count(f"launch {launch}"), 2)

    def test_the_mpirun_of_another_mpi_is_refused(self):
        others = dict(PMI_RANK="1", PMI_SIZE="2", MPI_LOCALRANKID="1", MPI_LOCALNRANKS="2")
        run = subprocess.run([PROGRAM, "launched"], capture_output=True, text=True, timeout=60,
                             check=False, env=dict(os.environ, **others))
        self.assertEqual(run.returncode, 86, run.stderr)
        self.assertIn("mpirun started 2 ranks, but MPI knows of 1: the program was compiled for "
                      "an MPI that is not this mpirun's", run.stderr)

    def test_programs_that_differ_are_told(self):
        run = self.run_ranks(2, "differs")
        self.assertEqual(run.returncode, 86, run.stderr)
        self.assertRegex(run.stderr, "the ranks' programs differ: rank 1 sends 1 bytes, .* where 8 bytes are "
                                     "expected in all_reduce|"
                                     "rank 0 sends more than 1 bytes, .* expected in barrier")

    def test_programs_that_differ_in_a_part_are_told_by_the_ranks_of_all(self):
        run = self.run_ranks(4, "differs in a part")
        self.assertEqual(run.returncode, 86, run.stderr)
        self.assertRegex(run.stderr, "rank 3 sends 1 bytes|rank 2 sends more than 1 bytes")
        self.assertNotRegex(run.stderr, "rank [01] sends")


if __name__ == "__main__":
    MPIRUN, PROGRAM = sys.argv[1], os.path.abspath(sys.argv[2])
    unittest.main(argv=sys.argv[:1])
