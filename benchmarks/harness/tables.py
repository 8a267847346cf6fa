# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Tables of results in a page of Markdown: between `<!-- bench: KIND, MACHINE -->` and
`<!-- end -->` stands what a file of results says of the machine whose name has MACHINE in it.

KIND is one of TABLES. Values of several numbers of threads are separated by commas.
"""
import functools
import re

from harness import results, run

STEPS = {
    "encoder_layer.forward": "encoder layer, d_model 128, 16 heads, 50 x 80 words: forward",
    "encoder_layer.backward": "its backward pass",
    "encoder_layer.step": "its optimizer's step",
    "encoder_layer.iteration": "all three",
    "optimizer_step": "Adam's step on 75.7 million parameters",
    "translation_base.step": "base Transformer, 32 x (32 + 32) words",
    "translation_tiny.step": "`transformer_tiny`, 256 x (16 + 16) words",
    "language_model.step": "language model, d_model 512, 28,782 words, 20 x 25 words",
    "chunked_loss": "generator and loss in chunks, 32 x 256 words of 32,000",
    "long_context_4096": "layer of d_model 512, one sequence of 4,096 words",
    "long_context_16384": "layer of d_model 512, one sequence of 16,384 words",
}
TRANSLATION = {
    "greedy_1": "greedy, one sentence",
    "greedy_64": "greedy, 64 sentences",
    "beam5_1": "a beam of 5, one sentence",
    "beam5_64": "a beam of 5, 64 sentences",
}
GROWTH = {
    "growth_batch": "1 to 64 sentences of 32 words",
    "growth_length": "1,024 words, in sentences of 16 to 1,024",
    "growth_layers": "1 to 24 layers, 16 sentences of 32 words",
}
SUBJECTS = (("weft", ""), ("weft_bfloat16", ", bfloat16"))
NOT_MEASURED = "–"
REGION = re.compile(r"(<!-- bench: (\w+), ([^>]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def number(value):
    """Three digits at least."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def each(threads, value, *arguments):
    """value(*arguments, n) for each number n of threads; None is what was not measured."""
    shown = [value(*arguments, count) or NOT_MEASURED for count in threads]
    return NOT_MEASURED if set(shown) == {NOT_MEASURED} else ", ".join(shown)


def own_time(point, subject, threads):
    median = point.medians(threads, "time_ms").get(subject)
    return median and number(median)


def peer_time(point, subject, peer, threads):
    """`peer` chooses one from medians, as run.best_peer does."""
    found = peer(point.medians(threads, "time_ms"), subject)
    return found and number(found[1])


def peer_time_and_name(point, subject, peer, threads):
    found = peer(point.medians(threads, "time_ms"), subject)
    return found and (number(found[1]) + " " +
                      found[0].removeprefix("torch_").replace("bfloat16", "autocast"))


def times_as_fast(point, subject, peer, threads):
    medians = point.medians(threads, "time_ms")
    found = peer(medians, subject)
    return found and subject in medians and f"{found[1] / medians[subject]:.2f}"


def floors(point, subject, threads):
    """The time over the floor's, which is that of products of float32."""
    line = point.line(threads, subject, "time_ms")
    share = line and not run.is_rounded(subject) and line["roof_share"]
    return share and f"{1 / share:.2f}"


def memory(point, subject, threads):
    """weft's peak over that of the peer with the least."""
    medians = point.medians(threads, "peak_bytes")
    found = run.best_peer(medians, subject)
    return found and subject in medians and f"{medians[subject] / found[1]:.2f}"


def named(name, medians, subject):
    """A peer by its name, as run.best_peer chooses the best of all."""
    if run.is_rounded(subject):
        name += "_bfloat16"
    return (name, medians[name]) if name in medians else None


def table(heads, rows):
    return "".join("| " + " | ".join(row) + " |\n" for row in (heads, ("---",) * len(heads), *rows))


def rows_of(points, titles, cells):
    """A row for each point that has a title, and for its products of bfloat16."""
    for point in points:
        for subject, suffix in SUBJECTS:
            if point.suite in titles and subject in point.subjects():
                yield (f"{titles[point.suite]}{suffix} (`{point.suite}`)", *cells(point, subject))


def steps(points, threads):
    def cells(point, subject):
        best = (point, subject, run.best_peer)
        return (each(threads, own_time, point, subject), each(threads, peer_time_and_name, *best),
                each(threads, times_as_fast, *best), each(threads, floors, point, subject),
                each(threads, memory, point, subject))
    return table(("training", "weft, ms", "best peer, ms", "times as fast", "time / floor",
                  "memory / least peer's"), rows_of(points, STEPS, cells))


def translation(points, threads):
    peers = [functools.partial(named, name) for name in ("torch_cached", "ctranslate2")]

    def cells(point, subject):
        yield each(threads, own_time, point, subject)
        for peer in peers:
            yield each(threads, peer_time, point, subject, peer)
            yield each(threads, times_as_fast, point, subject, peer)
        yield each(threads, floors, point, subject)
    return table(("translation", "weft, ms", "PyTorch, ms", "times as fast", "CTranslate2, ms",
                  "times as fast", "time / floor"), rows_of(points, TRANSLATION, cells))


def growth(points, threads):
    def span(curve, value, *arguments):
        found = [float(shown) for point in curve if (shown := value(point, *arguments))]
        return found and f"{min(found):.2f} to {max(found):.2f}"

    rows = []
    for suite, title in GROWTH.items():
        curve = [point for point in points if point.suite == suite]
        rows.append((f"{title} (`{suite}`)",
                     each(threads, span, curve, times_as_fast, "weft", run.best_peer),
                     each(threads, span, curve, floors, "weft")))
    return table(("layers of d_model 512", "times as fast as PyTorch eager", "time / floor"), rows)


TABLES = {"steps": steps, "translation": translation, "growth": growth}


def filled(page, lines):
    """The page with its tables as the lines say.

    **Errors.** SystemExit for a table or a machine that there is not.
    """
    machines = results.by_machine(lines)

    def region(match):
        begin, kind, name, _, end = match.groups()
        found = [points for machine, points in machines.items() if name in machine]
        if len(found) != 1 or kind not in TABLES:
            run.fail(f"'bench: {kind}, {name}': {len(found)} machines; the tables are "
                     f"{', '.join(TABLES)}")
        threads = sorted({count for point in found[0] for count in point.threads()})
        return f"{begin}{TABLES[kind](found[0], threads)}{end}"
    return REGION.sub(region, page)


def fill(path, lines):
    """Writes what `filled` says into a file. **Errors.** As `filled`'s."""
    path.write_text(filled(path.read_text(encoding="utf-8"), lines), encoding="utf-8")
