# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Charts of results as SVG elements that take colours and letters from the page around them."""
import collections
import html
import io
import re

import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from harness import run

matplotlib.use("svg")
matplotlib.rcParams.update({
    "svg.fonttype": "none", "svg.hashsalt": "weft", "font.size": 11, "axes.titlesize": 11,
    "axes.linewidth": 0.8, "axes.spines.top": False, "axes.spines.right": False,
    "axes.axisbelow": True, "xtick.major.size": 0, "ytick.major.size": 0})

# Each stands for a variable of the page's style; black would be left out by matplotlib.
TEXT, SOFT, LINE, WEFT, PEER = COLOURS = [f"#00000{n}" for n in range(1, 6)]
VARIABLES = dict(zip(COLOURS, ("text", "soft", "line", "warp", "peer")))
matplotlib.rcParams.update({"text.color": TEXT, "axes.labelcolor": SOFT, "axes.edgecolor": LINE,
                            "xtick.color": LINE, "ytick.color": LINE, "xtick.labelcolor": SOFT,
                            "ytick.labelcolor": TEXT, "grid.color": LINE, "grid.linewidth": 0.6})
WIDTH = 360  # about a phone's, in pixels
ROW = 22

# Suites that are drawn as a curve, with the setting along its axis.
GROWTH = {"growth_batch": "sequences", "growth_length": "length", "growth_layers": "layers"}

# What matplotlib writes and a page need not hold: styles that it has, clips of what fits, groups
# without content, and lines within a path.
SHORTER = ((r"<defs>.*?</defs>", ""), (r"<!--.*?-->", ""), (r' clip-path="[^"]*"', ""),
           (r" font-family: [^;]*;", ""), (r' transform="rotate\(-0 [^"]*"', ""),
           (r'<path [^>]*style="fill: none"/>', ""), (r'<g id="[^"]*"', "<g"), (r"<g/>", ""),
           (r"\s*\n\s*", "\n"), (r"\n(?=[LMQz\"])", " "))


def count(threads):
    return f"{threads} thread{'s' if threads > 1 else ''}"


def shown(subject):
    return subject.replace("torch_", "PyTorch ").replace("_", " ")


def colour(subject):
    return WEFT if subject.startswith("weft") else PEER


def svg(figure, label):
    """The element, without what the page says already, and with the page's colours."""
    out = io.StringIO()
    figure.savefig(out, format="svg", transparent=True,
                   metadata={key: None for key in ("Date", "Creator", "Format", "Type")})
    text = out.getvalue()
    box = re.search(r'viewBox="[^"]*"', text)[0]
    text = text[text.index(">", text.index("<svg")) + 1:]
    for pattern, new in SHORTER:
        text = re.sub(pattern, new, text, flags=re.DOTALL)
    text = re.sub(r"<[^>]*>", lambda tag: re.sub(r"(\.\d)\d+", r"\1", tag[0]), text)
    for code, variable in VARIABLES.items():
        text = text.replace(code, f"var(--{variable})")
    return f'<svg {box} role="img" aria-label="{html.escape(label)}">{text.strip()}\n'


def draw(height, left, panels=1, top=22):
    """A figure, and axes beside each other from `left` on, with room for a title and a label."""
    figure = Figure(figsize=(WIDTH / 72, height / 72))
    gap, right, bottom = 14, 8, 38
    width = (WIDTH - left - right - gap * (panels - 1)) / panels
    axes = [figure.add_axes([(left + n * (width + gap)) / WIDTH, bottom / height, width / WIDTH,
                             (height - top - bottom) / height]) for n in range(panels)]
    return figure, axes


def rows(axes, names):
    """A row for each name, from the top, with a grid along the other axis."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.spines["left"].set_visible(False)
    axes.xaxis.set_major_locator(MaxNLocator(4, steps=(1, 2, 5, 10)))
    axes.xaxis.set_major_formatter("{x:,g}")
    axes.grid(axis="x")


def beside(axes, value, row, text, **options):
    """Text behind a bar's end."""
    axes.annotate(text, (value, row), (4, 0), textcoords="offset points", va="center_baseline",
                  **options)


def times(point):
    """Bars of all subjects, a panel for each number of threads, with weft's ratios."""
    subjects = point.subjects()
    figure, panels = draw(60 + ROW * len(subjects), 98, len(point.threads()))
    ends = {key: line["time_ms"]["upper_quartile"] for key, line in point.figures.items()
            if "time_ms" in line}
    most = max(ends.values())
    unit, scale = ("s", 1000) if most >= 2000 else ("ms", 1)
    # A third of a panel is what the ratio takes.
    limit = max(most, 1.5 * max((end for (_, name), end in ends.items()
                                 if name.startswith("weft")), default=0))
    for axes, threads in zip(panels, point.threads()):
        rows(axes, [shown(subject) for subject in subjects])
        medians = point.medians(threads, "time_ms")
        for row, subject in enumerate(subjects):
            line = point.line(threads, subject, "time_ms")
            if not line:
                continue
            low, high = line["lower_quartile"] / scale, line["upper_quartile"] / scale
            axes.barh(row, line["median"] / scale, 0.68, color=colour(subject))
            axes.plot([low, high], [row, row], color=TEXT, linewidth=1.2)
            peer = subject.startswith("weft") and run.best_peer(medians, subject)
            if peer:
                beside(axes, high, row, f"{peer[1] / line['median']:.2f} ×", weight="bold")
        axes.set_xlim(0, 1.03 * limit / scale)
        axes.set_title(count(threads), color=SOFT)
        axes.set_xlabel(f"time, {unit}")
        if axes is not panels[0]:
            axes.set_yticklabels([])
    return svg(figure, f"{point.suite}: time of weft and its peers")


def ratios(points, ratio, axis):
    """A row for each point and a bar for each number of threads, with a line at 1.

    ratio(point, threads): a number, or None.
    """
    bars = {(n, threads): ratio(point, threads) for n, point in enumerate(points)
            for threads in point.threads()}
    bars = {place: value for place, value in bars.items() if value}
    if not bars:
        return ""
    shown_points = sorted({n for n, _ in bars})
    all_threads = sorted({threads for _, threads in bars})
    several = collections.Counter(point.suite for point in points)
    figure, (axes,) = draw(70 + 30 * len(shown_points), 142)
    rows(axes, [points[n].suite + (f"\n{run.size(points[n].settings)}"
                                   if several[points[n].suite] > 1 else "")
                for n in shown_points])
    height = 0.76 / len(all_threads)
    for n, threads in enumerate(all_threads):
        part = {shown_points.index(point): value for (point, of), value in bars.items()
                if of == threads}
        places = [row - 0.38 + (n + 0.5) * height for row in part]
        axes.barh(places, list(part.values()), 0.92 * height, color=WEFT, alpha=1 / (1 + n),
                  linewidth=0, label=count(threads))
        for place, value in zip(places, part.values()):
            beside(axes, value, place, f"{value:.2f}", fontsize=9)
    axes.axvline(1, color=TEXT, linewidth=1, linestyle=(0, (3, 2)))
    axes.set_xlim(0, 1.16 * max(1, *bars.values()))
    axes.set_xlabel(axis)
    legend(axes, len(all_threads))
    return svg(figure, axis)


def legend(axes, columns):
    axes.legend(frameon=False, fontsize=9, ncols=columns, loc="lower left", borderpad=0,
                bbox_to_anchor=(-0.05, 1), borderaxespad=0.4, handlelength=2.6, columnspacing=1)


def floors(points):
    def ratio(point, threads):
        line = point.line(threads, "weft", "time_ms")
        return 1 / line["roof_share"] if line and line["roof_share"] else None
    return ratios(points, ratio, "weft's time / floor")


def memory(points):
    def ratio(point, threads):
        medians = point.medians(threads, "peak_bytes")
        peer = run.best_peer(medians)
        return medians["weft"] / peer[1] if peer and "weft" in medians else None
    return ratios(points, ratio, "weft's peak memory / best peer's")


def growth(suite, points):
    """Tokens a second along the setting that grows; by one thread dashed."""
    setting = GROWTH[suite]
    figure, (axes,) = draw(270, 62, top=44)
    xs = [point.settings[setting] for point in points]
    for threads in sorted({threads for point in points for threads in point.threads()}):
        for subject in dict.fromkeys(name for point in points for name in point.subjects()):
            lines = [(point.settings[setting], point.line(threads, subject, "tokens_per_second"))
                     for point in points]
            lines = [(x, line) for x, line in lines if line]
            axes.plot([x for x, _ in lines], [line["median"] for _, line in lines],
                      color=colour(subject), linestyle="--" if threads == 1 else "-",
                      linewidth=1.6, label=f"{shown(subject)}, {count(threads)}")
            axes.vlines([x for x, _ in lines], [line["lower_quartile"] for _, line in lines],
                        [line["upper_quartile"] for _, line in lines], color=colour(subject))
    axes.set_xscale("log", base=2)
    axes.set_xticks(xs, [str(x) for x in xs])
    axes.xaxis.set_minor_locator(NullLocator())
    if setting == "layers":  # the time of a token grows with them
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(10, (1, 2, 5)))
        axes.yaxis.set_minor_locator(NullLocator())
    else:
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_formatter("{x:,g}")
    axes.tick_params(axis="y", labelcolor=SOFT)
    axes.grid(axis="y")
    axes.set_xlabel(setting)
    axes.set_ylabel("tokens / s")
    legend(axes, 2)
    return svg(figure, f"tokens a second by {setting}")
