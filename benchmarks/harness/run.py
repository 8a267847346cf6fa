# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Runs suites: subjects agree first and are timed then, in turn, in one run."""
import json
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

from harness.subject import Subject
from harness.work import Work

PEERS = pathlib.Path(__file__).resolve().parent.parent / "peers"
WARM_UP = 2
# Threads of OpenMP wait for more work in a loop, for some milliseconds: in another's time.
PAUSE_S = 0.05
# Processors that were idle that long are slow to begin with: two threads lost 15 ms, as long as a
# short step takes. A step follows others where it is used; so those below this follow as many here
# as take WARM_MS: a layer's step on one sentence took 12.6 ms after a single one, and takes 4.6.
SHORT_MS = 1000
WARM_MS = 100


def processor_facts():
    """What the system says of each core, as pairs of strings."""
    return [(key.strip(), value.strip()) for key, _, value in
            (line.partition(":") for line in open("/proc/cpuinfo", encoding="utf-8"))]


def multiplies_bfloat16():
    """Whether the processor does. PyTorch takes ten times as long where it does not."""
    flags = dict(processor_facts()).get("flags", "").split()
    return "avx512_bf16" in flags or "amx_bf16" in flags


def machine():
    """The processor's name and its cores. A guest may see a name without a number: so where it is
    told, with the family and the model."""
    facts = processor_facts()
    first = dict(reversed(facts))
    cores = sum(key == "processor" for key, _ in facts)
    kind = (f" (family {first['cpu family']}, model {first['model']})" if "cpu family" in first
            else "")
    return f"{first.get('model name', platform.machine())}{kind}, {cores} cores"


def commit():
    """HEAD, and whether more than results has changed since."""
    def git(*arguments):
        return subprocess.run(["git", *arguments], text=True, capture_output=True).stdout.strip()
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs/results")
    return git("describe", "--always") + ("-dirty" if changed else "")


def quartiles(values):
    """Of one value: itself."""
    low, middle, high = (statistics.quantiles(values, n=4, method="inclusive")
                         if len(values) > 1 else values * 3)
    return {"median": middle, "lower_quartile": low, "upper_quartile": high}


class Runner:
    """What all suites of a run have in common."""

    def __init__(self, build, python, repeats, without, data):
        self.programs = pathlib.Path(build) / "benchmarks"
        self.python = python
        self.repeats = repeats
        self.without = without  # peers that take no part, or weft's own
        self.data = data  # the folder of corpora, or None
        self.common = {
            "run": time.strftime("%Y%m%dT%H%M%S"), "machine": machine(),
            "commit": commit()}

    def roofs(self, work, threads):
        sizes = [size for size in work.sizes()]
        answer = subprocess.run([self.programs / "roofs", str(threads), *sizes], text=True,
                                capture_output=True, check=True)
        return json.loads(answer.stdout)

    def start(self, suite, threads):
        """weft and its peers; all have weft's parameters."""
        files = {name: str(self.data / path) for name, path in suite.data.items()}
        settings = {**suite.settings, **files, "threads": threads}
        subjects = [Subject(name, [self.programs / suite.program], {**settings, **own})
                    for name, own in {"weft": {}, **suite.own}.items()
                    if name not in self.without]
        ours = len(subjects)
        for name, program in suite.peers.items():
            if name not in self.without:
                subjects.append(Subject(name, [self.python, PEERS / program],
                                        {**settings, "variant": name}))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "parameters.safetensors"
            peers = subjects[ours:]
            if peers:
                subjects[0].ask(f"save {path}")
            for subject in peers:
                subject.ask(f"load {path}")
        return subjects

    def compare(self, suite, subjects):
        """What weft finds. **Errors.** SystemExit unless every subject finds the same, those that
        multiply bfloat16 to a hundredth."""
        ours = subjects[0].ask("check")
        for subject in subjects[1:]:
            compare, tolerance = ((suite.compare_rounded, 1e-2) if is_rounded(subject.name) else
                                  (suite.compare, suite.tolerance))
            difference = compare(ours, subject.ask("check"), tolerance)
            if difference:
                fail(f"{suite.name}: weft and {subject.name} differ: {difference}")
        return ours

    def run(self, suite, threads):
        """The lines of a suite: a time for each subject and name, and the memory of each."""
        subjects = self.start(suite, threads)
        found = self.compare(suite, subjects)
        times = {subject.name: {name: [] for name in suite.times} for subject in subjects}
        last_ms = dict.fromkeys(times, SHORT_MS)
        for repeat in range(WARM_UP + self.repeats):
            for subject in subjects:
                time.sleep(PAUSE_S)
                warm_ms = 0
                while last_ms[subject.name] < SHORT_MS and warm_ms < WARM_MS:
                    warm_ms += sum(subject.ask("repeat").values())
                answer = subject.ask("repeat")
                last_ms[subject.name] = answer["total"] = sum(answer.values())
                for name, values in times[subject.name].items():
                    if repeat >= WARM_UP:
                        values.append(answer[name])
        works = [work for _, work in suite.times.values()]
        roofs = self.roofs(sum(works, Work()), threads)
        lines = []
        for subject in subjects:
            common = {"subject": subject.name, "threads": threads, **self.common}
            for name, (called, work) in suite.times.items():
                time_ms = quartiles(times[subject.name][name])
                floor_ms = work.floor_ms(roofs)
                shared = {**common, "repeats": self.repeats,
                          "roof_share": round(floor_ms / time_ms["median"], 4) or None}
                lines.append({"suite": called, "metric": "time_ms", **time_ms, **shared})
                tokens = found[0] if suite.data else work.tokens
                if tokens:
                    rates = [tokens / (value / 1000) for value in times[subject.name][name]]
                    lines.append({"suite": called, "metric": "tokens_per_second",
                                  **quartiles(rates), **shared})
            memory = subject.ask("memory")
            line = {"suite": suite.names()[-1], "metric": "peak_bytes",
                    **quartiles([memory["peak_bytes"]]), **common, "repeats": 1,
                    "roof_share": None}
            if "account" in memory:
                line["account"] = memory["account"]
            lines.append(line)
            subject.close()
        return [{**suite.settings, **line} for line in lines]


def of(lines, suite, metric):
    """{subject: median} of one suite and metric, weft first."""
    return {line["subject"]: line["median"] for line in lines
            if line["suite"] == suite and line["metric"] == metric}


def is_rounded(subject):
    """Whether its products are of bfloat16: it is measured against others like it."""
    return subject.endswith("bfloat16")


def best_peer(medians, subject="weft"):
    """(name, median) of the least of a subject's peers; None if it has none."""
    peers = [(name, median) for name, median in medians.items()
             if not name.startswith("weft") and is_rounded(name) == is_rounded(subject)]
    return min(peers, key=lambda item: item[1], default=None)


def size(line):
    """A point's settings in words: "sequences 16, length 32, layers 1"."""
    return ", ".join(f"{key} {line[key]}" for key in SETTINGS if key in line)


def summary(lines):
    """A sentence for each suite: how weft stands to the best of its peers and to its floor."""
    sentences = []
    for suite in dict.fromkeys(line["suite"] for line in lines):
        medians = of(lines, suite, "time_ms")
        ours = medians["weft"]
        sentence = f"{suite}, {size(lines[0])}, {lines[0]['threads']} threads: weft {ours:.4g} ms"
        peer = best_peer(medians)
        if peer:
            sentence += f", {peer[0]} {peer[1]:.4g} ms: {peer[1] / ours:.2f} x as fast"
        share = next(line["roof_share"] for line in lines if line["suite"] == suite)
        if share:
            sentence += f"; {1 / share:.2f} x its floor"
        if "weft_bfloat16" in medians:
            rounded = medians["weft_bfloat16"]
            sentence += f"; bfloat16 {rounded:.4g} ms"
            peer = best_peer(medians, "weft_bfloat16")
            if peer:
                sentence += f", {peer[0]} {peer[1]:.4g} ms: {peer[1] / rounded:.2f} x as fast"
        memory = of(lines, suite, "peak_bytes")
        peer = best_peer(memory)
        if peer:
            sentence += f"; {memory['weft'] / peer[1]:.2f} of the memory"
        sentences.append(sentence)
    return sentences


def merge(path, lines):
    """Puts lines into a file of results; they replace those of the same point, whoever's they are:
    a row compares what was measured in one run."""
    def point(line):
        return tuple(json.dumps(line.get(key)) for key in
                     ("suite", "metric", "threads", "machine", *SETTINGS))
    path = pathlib.Path(path)
    old = ([json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
           if path.exists() else [])
    new = {point(line) for line in lines}
    kept = [line for line in old if point(line) not in new]
    with open(path, "w", encoding="utf-8") as file:
        for line in sorted(kept + lines, key=lambda line: (line["suite"], line["threads"])):
            file.write(json.dumps(line) + "\n")


# What tells two points of a suite apart, where a suite has several: those of growth.
SETTINGS = ("sequences", "length", "layers", "sentences", "beam")


def fail(message):
    sys.exit(f"tools/bench: {message}")
