# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Times weft and PyTorch alternately in one run, and writes a JSON line for each point.

usage: compare.py BUILD_FOLDER RESULTS_FILE [--python PYTHON] [--repeats N] [--quick]

Both subjects are started with the same parameters; their losses are compared before anything is
timed. Then each makes a step in turn. PYTHON needs torch and safetensors.
"""
import argparse
import json
import os
import platform
import statistics
import subprocess
import tempfile
import time

# suite: shape, sentences, source and target length, dropout
SUITES = {
    "translation_base.step": ("base", 32, 32, 32, 0.1),
    "translation_tiny.step": ("tiny", 256, 16, 16, 0.1),
}


class Subject:
    """A process that answers a line for each line."""

    def __init__(self, name, command, threads):
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads))
        self.name = name
        self.process = subprocess.Popen([str(part) for part in command], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=environment)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if not answer:
            raise SystemExit(f"{self.name} ended instead of answering '{line}'")
        return answer

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def quartiles(values):
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return {"median": middle, "lower_quartile": low, "upper_quartile": high}


def roof_gflops(build, threads):
    """The matrix-product roof at the shapes of the base model, in GFLOP/s."""
    return float(subprocess.run([os.path.join(build, "benchmarks/product_roof"), str(threads)],
                                capture_output=True, text=True, check=True).stdout)


def step_gflop(shape, sentences, source, target):
    """Multiplications and additions of the products in a step, in 10^9; attention counted in full."""
    C, F, N, V = {"base": (512, 2048, 6, 32000), "tiny": (128, 256, 4, 9712)}[shape]
    S, T = sentences * source, sentences * target
    encoder = N * S * (4 * C * C + 2 * C * F + 2 * source * C)
    decoder = N * (T * (6 * C * C + 2 * C * F + 2 * target * C + 2 * source * C) + S * 2 * C * C)
    return 3 * 2 * (encoder + decoder + T * C * V) / 1e9


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("results")
    parser.add_argument("--python", default="python3")
    parser.add_argument("--repeats", type=int, default=12)
    parser.add_argument("--quick", action="store_true", help="fewer repeats, two threads only")
    arguments = parser.parse_args()
    repeats = 4 if arguments.quick else arguments.repeats
    run = time.strftime("%Y%m%dT%H%M%S")
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True,
                            text=True).stdout.strip()
    peer = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers/torch_translation.py")
    weft = os.path.join(arguments.build, "benchmarks/translation_step")
    lines = []
    for suite, (shape, sentences, source, target, dropout) in SUITES.items():
        for threads in (2,) if arguments.quick else (1, 2):
            sizes = [shape, sentences, source, target]
            subjects = [
                Subject("weft", [weft, *sizes, 1, threads, 5, dropout], threads),
                Subject("torch_eager", [arguments.python, peer, *sizes, threads, dropout], threads),
            ]
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "parameters.safetensors")
                subjects[0].ask(f"save {path}")
                subjects[1].ask(f"load {path}")
            losses = [float(subject.ask("loss")) for subject in subjects]
            if abs(losses[0] - losses[1]) > 1e-5 * losses[1]:
                raise SystemExit(f"{suite}: the losses differ: {losses}")
            times = {subject.name: [] for subject in subjects}
            for repeat in range(repeats + 2):  # the first two warm up
                for subject in subjects:
                    milliseconds = float(subject.ask("step"))
                    if repeat >= 2:
                        times[subject.name].append(milliseconds)
            roof = roof_gflops(arguments.build, threads)
            common = {"suite": suite, "threads": threads, "repeats": repeats, "run": run,
                      "machine": platform.processor() or platform.machine(), "commit": commit,
                      "sentences": sentences, "source_length": source, "target_length": target}
            for subject in subjects:
                time_ms = quartiles(times[subject.name])
                share = step_gflop(shape, sentences, source, target) / (
                    time_ms["median"] / 1000) / roof
                lines.append({**common, "subject": subject.name, "metric": "time_ms", **time_ms,
                              "roof_share": round(share, 4), "roof_gflops": round(roof, 1)})
                peak = float(subject.ask("peak"))
                lines.append({**common, "subject": subject.name, "metric": "peak_bytes",
                              "median": peak, "lower_quartile": peak, "upper_quartile": peak,
                              "roof_share": None})
                subject.close()
            ours, theirs = (statistics.median(times[subject.name]) for subject in subjects)
            peaks = [line["median"] for line in lines[-4:] if line["metric"] == "peak_bytes"]
            print(f"{suite}, {threads} threads: weft {ours:.1f} ms, torch {theirs:.1f} ms, "
                  f"{theirs / ours:.2f} x as fast; memory {peaks[0] / peaks[1]:.2f} of torch's; "
                  f"{lines[-4]['roof_share']:.2f} of the roof of {roof:.0f} GFLOP/s", flush=True)
    with open(arguments.results, "a", encoding="utf-8") as file:
        for line in lines:
            file.write(json.dumps(line) + "\n")


main()
