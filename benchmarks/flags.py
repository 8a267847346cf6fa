# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Times a training step as -O2 builds it, beside -O3 -ffast-math: flags are the user's, and weft's
speed must not depend on them. The two make a step in turn; a JSON line for each is printed.

usage: flags.py [--compiler CXX] [--threads N] [--repeats N]
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
FLAGS = {"plain": ["-O2"], "fast_math": ["-O3", "-ffast-math"]}
SIZES = {"tiny": ["tiny", 256, 16, 16], "base": ["base", 32, 32, 32]}


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
        for suite, sizes in SIZES.items():
            arguments = [str(size) for size in (*sizes, 1, options.threads, 5, 0.1)]
            processes = {name: subprocess.Popen([f"{folder}/{name}", *arguments], text=True,
                                                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                                env=dict(os.environ, OMP_NUM_THREADS="1"))
                         for name in FLAGS}
            times = {name: [] for name in FLAGS}
            for repeat in range(options.repeats + 2):  # the first two warm up
                for name, process in processes.items():
                    process.stdin.write("step\n")
                    process.stdin.flush()
                    time_ms = float(process.stdout.readline())
                    if repeat >= 2:
                        times[name].append(time_ms)
            for name, process in processes.items():
                process.stdin.close()
                process.wait()
                low, middle, high = statistics.quantiles(times[name], n=4, method="inclusive")
                print(json.dumps({"suite": f"translation_{suite}.step", "subject": f"weft {name}",
                                  "metric": "time_ms", "threads": options.threads,
                                  "repeats": options.repeats, "median": middle,
                                  "lower_quartile": low, "upper_quartile": high}), flush=True)


main()
