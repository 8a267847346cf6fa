# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Times compilers: a JSON line for each program, with the sizes of what they make.

usage: compile_time.py [--repeats N] [--cxx CXX] [--nvcc NVCC]
"""
import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
# name: source, whether nvcc compiles it
PROGRAMS = {"weft.hpp alone": ("include/weft/weft.hpp", False),
            "one strategy": ("examples/course/04_data_parallel.cpp", False),
            "all strategies": ("benchmarks/all_strategies.cpp", False),
            "one strategy for one GPU": ("examples/guides/gpu.cu", True)}
LINK = ["-ldnnl", "-lgomp", "-lz", "-pthread"]


def compile_once(command):
    begin = time.perf_counter()
    subprocess.run([str(part) for part in command], cwd=ROOT, check=True)
    return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--cxx", default="g++")
    parser.add_argument("--nvcc", default=shutil.which("nvcc"))
    options = parser.parse_args()
    common = ["-std=c++20", "-O2", "-Iinclude", "-Iexamples/course"]
    with tempfile.TemporaryDirectory() as folder:
        made = pathlib.Path(folder) / "made"
        for name, (source, for_gpu) in PROGRAMS.items():
            if for_gpu and options.nvcc is None:
                continue
            compiler = ([options.nvcc, *common, "-arch=sm_90"] if for_gpu else
                        [options.cxx, *common, "-march=native"])
            command = [*compiler, "-x", "cu" if for_gpu else "c++", "-c", source, "-o", made]
            seconds = [compile_once(command) for _ in range(options.repeats)]
            line = {"suite": "compile_time", "program": name, "compiler": compiler[0],
                    "repeats": options.repeats, "median_s": round(statistics.median(seconds), 2),
                    "least_s": round(min(seconds), 2)}
            if not for_gpu and name != "weft.hpp alone":
                for build, flags in (("program_bytes", ["-O2", "-s"]),
                                     ("debug_program_bytes", ["-O0", "-g"])):
                    compile_once([options.cxx, "-std=c++20", *flags, "-march=native", "-Iinclude",
                                  "-Iexamples/course", source, "-o", made, *LINK])
                    line[build] = made.stat().st_size
            print(json.dumps(line), flush=True)


main()
