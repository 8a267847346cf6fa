# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Times a training step as -O2 builds it, beside -O3 and most of -ffast-math: flags are the user's, and weft's
speed must not depend on them. The two make a step in turn; a JSON line for each is printed.

usage: flags.py [--compiler CXX] [--threads N] [--repeats N]
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

from harness.run import WARM_UP, quartiles
from harness.subject import Subject
from harness.suites import SUITES

HERE = pathlib.Path(__file__).resolve().parent
FLAGS = {"plain": ["-O2"], "fast_math": ["-O3", "-ffast-math", "-fno-finite-math-only"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=12)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name, flags in FLAGS.items():
            subprocess.run([options.compiler, "-std=c++20", *flags, "-march=native",
                            f"-I{HERE.parent / 'include'}", HERE / "translation_step.cpp", "-o",
                            f"{folder}/{name}", "-ldnnl", "-lgomp", "-lz", "-pthread"], check=True)
        for suite in SUITES:
            if suite.program != "translation_step":
                continue
            settings = {**suite.settings, "threads": options.threads}
            subjects = [Subject(name, [f"{folder}/{name}"], settings) for name in FLAGS]
            times = {name: [] for name in FLAGS}
            for repeat in range(options.repeats + WARM_UP):
                for subject in subjects:
                    time_ms = subject.ask("repeat")["step"]
                    if repeat >= WARM_UP:
                        times[subject.name].append(time_ms)
            for subject in subjects:
                subject.close()
                print(json.dumps({"suite": suite.name, "subject": f"weft {subject.name}",
                                  "metric": "time_ms", "threads": options.threads,
                                  "repeats": options.repeats, **quartiles(times[subject.name])}),
                      flush=True)


main()
