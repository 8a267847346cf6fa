# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Ten runs of three processes, in which one throws, stops, has a full disk or sends no numbers:
faults_mpi.py MPIRUN PROGRAM, by `meson test` with the environment that mpirun needs

Processes that are killed or stopped from outside are in examples/translation/faults.py.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

RANKS = 3
TIMEOUT_S = 4  # the program's
SEEDS = (1, 2, 3, 5, 6, 7, 9, 11, 12, 24)


def check(holds, what):
    if not holds:
        raise SystemExit(f"does not hold: {what}")


def main(mpirun, program):
    program = os.path.abspath(program)

    def run(folder, seed=-1, posts=1):
        begin = time.monotonic()
        ended = subprocess.run(
            [mpirun, "-n", str(RANKS), program, str(folder), str(seed), str(posts)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
        return ended.returncode, ended.stdout, time.monotonic() - begin

    def files(folder):
        return {path.name: path.read_bytes() for path in folder.iterdir()}

    memory = "/dev/shm"  # a busy disk may keep a rank waiting for longer than the others do
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as name:
        folder = pathlib.Path(name)
        code, said, _ = run(folder / "whole")
        check(code == 0, f"an undisturbed run ends well: {said}")
        posts = min(map(int, re.findall(r"posts (\d+)", said)))
        whole = files(folder / "whole")
        seen = set()
        for seed in SEEDS:
            path = folder / f"run-{seed}"
            code, said, seconds = run(path, seed, posts)
            kind, rank = re.search(r"fault (\w+) rank (\d)", said).groups()
            seen.add(kind)
            what = f"seed {seed}, {kind} on rank {rank}: {code} after {seconds:.1f} s, {said}"
            time.sleep(0.2)  # MPICH's mpirun does not wait for those that it kills
            left = subprocess.run(["pgrep", "-f", f"^{re.escape(str(program))} {path}"], capture_output=True,
                                  text=True, check=False).stdout
            check(not left, f"nobody stays behind, {what}")
            if kind == "not_finite":
                # No rank fails: the update is left out on all of them, and once.
                check(code == 0 and said.count("skipped 1") == RANKS, what)
                continue
            check(code == 86, f"it fails, {what}")
            check(seconds < TIMEOUT_S + 5 + 5, f"in time, {what}")  # with start and training
            words = {"throws": f"rank {rank}: injected", "full_disk": f"rank {rank}: cannot write",
                     "stops": f"rank {rank} has not entered"}[kind]
            check(words in said, f"the rank and its fault are named, {what}")
            code, said, _ = run(path)
            check(code == 0 and files(path) == whole, f"it goes on to the same bytes, {what}; {said}")
        check(seen == {"throws", "stops", "full_disk", "not_finite"}, f"all faults, not {seen}")
        print(f"{len(SEEDS)} runs with faults ended as they should")


if __name__ == "__main__":
    main(*sys.argv[1:])
