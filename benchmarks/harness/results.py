# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Reads a file of results, as run.merge writes it, and groups its lines for drawing."""
import dataclasses
import json
import math
import pathlib

from harness.run import SETTINGS, fail
from harness.suites import SUITES

NUMBER = (int, float)
FIELDS = {"suite": str, "subject": str, "metric": str, "threads": int, "median": NUMBER,
          "lower_quartile": NUMBER, "upper_quartile": NUMBER, "repeats": int,
          "roof_share": (*NUMBER, type(None)), "run": str, "machine": str, "commit": str}
METRICS = ("time_ms", "tokens_per_second", "peak_bytes")
NOT_SETTINGS = {*FIELDS, "account"}
ORDER = list(dict.fromkeys(name for suite in SUITES for name in suite.names()))


def parse(line):
    """**Errors.** ValueError that says what is wrong."""
    try:
        values = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"no JSON: {error}") from None
    if not isinstance(values, dict):
        raise ValueError("no JSON object")
    for field, kind in FIELDS.items():
        if field not in values:
            raise ValueError(f"there is no '{field}'")
        value = values[field]
        if not isinstance(value, kind) or (kind is NUMBER and not 0 < value < math.inf):
            raise ValueError(f"'{field}' is {json.dumps(value)}")
    return values


def read(path):
    """**Errors.** SystemExit with the file, the line's number and what is wrong."""
    path = pathlib.Path(path)
    if not path.is_file():
        fail(f"there is no {path}; --results {path} measures and writes it")
    lines = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            lines.append(parse(line))
        except ValueError as error:
            fail(f"{path}:{number}: {error}")
    if not lines:
        fail(f"{path} is empty; --results {path} measures and writes it")
    return lines


@dataclasses.dataclass
class Point:
    """A suite at one size, on one machine.

    figures: {(threads, subject): {metric: line}}.
    """
    suite: str
    settings: dict
    figures: dict = dataclasses.field(default_factory=dict)

    def threads(self):
        return sorted({threads for threads, _ in self.figures})

    def subjects(self):
        """weft first, its peers in the order of the file."""
        names = dict.fromkeys(subject for _, subject in self.figures)
        return sorted(names, key=lambda name: not name.startswith("weft"))

    def line(self, threads, subject, metric):
        """None where it was not measured."""
        return self.figures.get((threads, subject), {}).get(metric)

    def has(self, metric):
        return any(metric in metrics for metrics in self.figures.values())

    def medians(self, threads, metric):
        """{subject: median}."""
        lines = {subject: self.line(threads, subject, metric) for subject in self.subjects()}
        return {subject: line["median"] for subject, line in lines.items() if line}

    def size(self):
        return tuple(self.settings.get(key, 0) for key in SETTINGS)


def by_machine(lines):
    """{machine: its points}, in the order of SUITES, small ones first."""
    machines = {}
    for line in lines:
        settings = {key: value for key, value in line.items() if key not in NOT_SETTINGS}
        point = Point(line["suite"], settings)
        point = machines.setdefault(line["machine"], {}).setdefault((point.suite, point.size()),
                                                                    point)
        point.figures.setdefault((line["threads"], line["subject"]), {})[line["metric"]] = line

    def order(point):
        place = ORDER.index(point.suite) if point.suite in ORDER else len(ORDER)
        return place, point.suite, point.size()
    return {machine: sorted(points.values(), key=order) for machine, points in machines.items()}
