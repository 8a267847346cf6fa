# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Draws FOLDER/bench.jsonl as the page FOLDER/index.html. Needs matplotlib.

usage: page.py FOLDER
"""
import html
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

from harness import charts, results  # noqa: E402

STYLE = """
:root { --peer: #8c96a1; }
@media (prefers-color-scheme: dark) { :root { --peer: #7d8792; } }
main { max-width: 68rem; margin: 0 auto; }
main > p { max-width: 46rem; }
.charts {
  display: grid; gap: 1.2rem 2.4rem;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 26rem), 1fr));
}
figure { margin: 0; max-width: 32rem; min-width: 0; }
figcaption { font-size: .85rem; color: var(--soft); }
figcaption b { display: block; font-size: 1rem; color: var(--text); }
svg { display: block; width: 100%; height: auto; margin-top: .3rem; }
svg text { font-family: inherit; }
svg * { stroke-linejoin: round; stroke-linecap: butt; }
table { font-size: .82rem; }
td, th { white-space: nowrap; padding: .2rem .5rem; }
td:nth-child(n + 3):nth-child(-n + 7) { text-align: right; font-variant-numeric: tabular-nums; }
tbody th { padding: .7rem 0 .2rem; background: none; border-width: 0 0 1px; }
tbody th span { font-weight: 400; color: var(--soft); }
"""
PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>weft's benchmarks</title>
<style>
{style}</style>
</head>
<body>
<header><span class="name">weft</span></header>
<main>
<h1>Benchmarks</h1>
<p>weft and its peers start from the same parameters and have to agree on the loss; then they
repeat the same work in turn, in one run. Bars and points are medians, the lines across them
quartiles. The number at a bar of weft's says how many times as fast it is as its best peer
that multiplies in the same precision.</p>
<p>PyTorch eager is as most programs are written, compile adds <code>torch.compile</code>, and flat
has all parameters in one tensor, all gradients in another, and the fused optimizer over them.
<code>tools/bench</code> measures all of it and draws this page.</p>
{body}</main>
</body>
</html>
"""
FLOOR = ("The floor is the time of the matrix products alone, of attention's at their rate, and of "
         "the optimizer's pass over memory, at the rates that the same run measured.")
MEMORY = "The most that the process held, as a share of its best peer's."
HEADS = ("threads", "subject", "time, ms", "tokens / s", "peak, MB", "time / floor", "repeats",
         "run", "commit")


def settings(points):
    """In words, those that all have in common."""
    return ", ".join(f"{key.replace('_', ' ')} {str(value).lower()}"
                     for key, value in points[0].settings.items()
                     if all(point.settings.get(key) == value for point in points))


def figure(title, caption, drawing):
    """Nothing where there is no drawing."""
    return drawing and (f"<figure><figcaption><b>{html.escape(title)}</b>{html.escape(caption)}"
                        f"</figcaption>\n{drawing}</figure>\n")


def section(title, figures):
    """Nothing where there is no figure."""
    joined = "".join(figures)
    return joined and f'<h2>{title}</h2>\n<div class="charts">\n{joined}</div>\n'


def spread(line, form):
    """The median, and in parentheses the quartiles."""
    if not line:
        return ""
    median, low, high = (format(line[key], form)
                         for key in ("median", "lower_quartile", "upper_quartile"))
    return f"{median} ({low}–{high})"


def table(points):
    body = []
    for point in points:
        body.append(f'<tbody><tr><th colspan="{len(HEADS)}">{html.escape(point.suite)} '
                    f"<span>{html.escape(settings([point]))}</span></th></tr>\n")
        for threads in point.threads():
            for subject in point.subjects():
                metrics = point.figures.get((threads, subject))
                if not metrics:
                    continue
                time, tokens, memory = map(metrics.get, results.METRICS)
                first = next(iter(metrics.values()))
                share = first["roof_share"]
                cells = (str(threads), charts.shown(subject), spread(time, ",.4g"),
                         spread(tokens, ",.0f"), f"{memory['median'] / 1e6:,.0f}" if memory else "",
                         f"{1 / share:.2f}" if share else "", str(first["repeats"]),
                         "-".join((first["run"][:4], first["run"][4:6], first["run"][6:8])),
                         first["commit"])
                body.append("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) +
                            "</tr>\n")
        body.append("</tbody>\n")
    head = "".join(f"<th>{head}</th>" for head in HEADS)
    return (f'<h2>All figures</h2>\n<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n'
            f'{"".join(body)}</table></div>\n')


def of_machine(machine, points):
    steps = [point for point in points if point.suite not in charts.GROWTH and point.has("time_ms")]
    curves = {suite: [point for point in points if point.suite == suite]
              for suite in charts.GROWTH}
    return "".join((
        f"<p>Machine: {html.escape(machine)}.</p>\n",
        section("Time", [figure(point.suite, settings([point]), charts.times(point))
                         for point in steps]),
        section("Floor and memory", [figure("Floor", FLOOR, charts.floors(steps)),
                                     figure("Memory", MEMORY, charts.memory(steps))]),
        section("Growth", [figure(suite, settings(curve), charts.growth(suite, curve))
                           for suite, curve in curves.items() if curve]),
        table(points)))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    folder = pathlib.Path(sys.argv[1])
    machines = results.by_machine(results.read(folder / "bench.jsonl"))
    body = "".join(of_machine(machine, points) for machine, points in machines.items())
    style = (ROOT / "docs/site/style.css").read_text(encoding="utf-8") + STYLE
    (folder / "index.html").write_text(PAGE.format(style=style, body=body), encoding="utf-8")


main()
