#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of docs/concepts.md: draw.py FOLDER

The pictures of schedules are drawn by weft itself (examples/guides/schedule_pictures.cpp). A picture
follows the reader's choice of light or dark.
"""
import html
import pathlib
import sys

STYLE = """
text { font: 13px system-ui, "Liberation Sans", sans-serif; fill: #1f2328; }
.small { font-size: 11.5px; fill: #59636e; }
.code { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: 12px; }
.box { fill: #f5f7f9; stroke: #8c959f; }
.a { fill: #dbe9fb; stroke: #5b8fcf; }
.b { fill: #dcefdf; stroke: #5fa371; }
.c { fill: #fbe7cc; stroke: #cf9440; }
.off { fill: none; stroke: #b5bcc4; stroke-dasharray: 3 3; }
.line { fill: none; stroke: #59636e; stroke-width: 1.3; }
.head { fill: #59636e; }
@media (prefers-color-scheme: dark) {
  text { fill: #dfe4ea; }
  .small { fill: #98a2ad; }
  .box { fill: #1d2228; stroke: #6b7580; }
  .a { fill: #20344f; stroke: #6b9bd8; }
  .b { fill: #213d2a; stroke: #6cb380; }
  .c { fill: #493418; stroke: #d9a252; }
  .off { stroke: #4b545e; }
  .line { stroke: #98a2ad; }
  .head { fill: #98a2ad; }
}
"""


class Picture:
    def __init__(self, width, height, title):
        self.size, self.title, self.parts = (width, height), title, []

    def box(self, x, y, width, height, kind="box", label="", code=False, small=""):
        self.parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="4" '
                          f'class="{kind}"/>')
        middle = y + height / 2 + 4.5 - (8 if small else 0)
        if label:
            self.text(x + width / 2, middle, label, "middle", "code" if code else "")
        if small:
            self.text(x + width / 2, middle + 16, small, "middle", "small")

    def text(self, x, y, words, anchor="start", kind=""):
        named = f' class="{kind}"' if kind else ""
        self.parts.append(f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{named}>'
                          f'{html.escape(words)}</text>')

    def arrow(self, *points, label="", above=True):
        path = " ".join(f"{'M' if i == 0 else 'L'}{x} {y}" for i, (x, y) in enumerate(points))
        self.parts.append(f'<path d="{path}" class="line" marker-end="url(#head)"/>')
        if label:
            (x1, y1), (x2, y2) = points[0], points[-1]
            self.text((x1 + x2) / 2, (y1 + y2) / 2 + (-6 if above else 16), label, "middle", "small")

    def svg(self):
        width, height = self.size
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" role="img" aria-label="{html.escape(self.title)}">',
            f"<style>{STYLE}</style>",
            '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
            'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" class="head"/></marker></defs>',
            *self.parts, "</svg>", ""])


def module():
    """A module between its values, its gradients, and what it saves."""
    p = Picture(640, 250, "A module's two passes")
    p.box(40, 20, 560, 34, "box", "values: all parameters of the model, in one buffer")
    p.box(40, 196, 560, 34, "box", "gradients: one buffer for each lane")
    p.box(150, 92, 130, 52, "a", "forward", True, "(ctx, x)")
    p.box(360, 92, 130, 52, "b", "backward", True, "(ctx, saved, dy)")
    p.arrow((215, 54), (215, 90))
    p.text(222, 76, "ctx.value(weight)", kind="code small")
    p.arrow((425, 146), (425, 194))
    p.text(432, 176, "ctx.gradient(weight, f)", kind="code small")
    p.arrow((40, 118), (148, 118), label="x")
    p.arrow((282, 110), (358, 110), label="Saved")
    p.arrow((600, 118), (492, 118), label="dy")
    p.arrow((215, 146), (215, 170), (120, 170))
    p.text(112, 174, "y", "end", "small")
    p.arrow((390, 146), (390, 170), (310, 170))
    p.text(302, 174, "dx", "end", "small")
    return p


def adjoints():
    """Primitives beside their adjoints, on four devices or ranks."""
    p = Picture(640, 400, "Primitives and their adjoints")
    p.text(140, 20, "forward", "middle")
    p.text(500, 20, "backward", "middle")
    rows = (("scatter", "gather"), ("broadcast", "reduce_add"), ("all_gather", "reduce_scatter"),
            ("send", "receive"))
    for row, (left, right) in enumerate(rows):
        y = 40 + row * 90
        p.text(320, y + 34, "<->", "middle")
        for x, name in ((20, left), (380, right)):
            p.box(x, y, 240, 76, "box")
            p.text(x + 120, y + 16, name, "middle", "code")

    def cells(x, y, kinds):
        for i, kind in enumerate(kinds):
            p.box(x + i * 20, y, 18, 10, kind)

    # scatter: one array to pieces; gather: back
    for x, back in ((20, False), (380, True)):
        y = 40
        a, b = (x + 134, x + 8) if back else (x + 8, x + 134)
        for i in range(4):
            p.box(a + 4, y + 26 + i * 11, 60, 10, "a")
            p.box(b + 20, y + 24 + i * 12, 60, 9, "a")
        p.arrow((x + 98, y + 48), (x + (128 if back else 142), y + 48))
    # broadcast: one to all; reduce_add: the sum of all
    y = 130
    p.box(32, y + 40, 60, 12, "a")
    for i in range(4):
        p.box(174, y + 24 + i * 12, 60, 9, "a")
        p.box(408, y + 24 + i * 12, 60, 9, "b")
    p.arrow((100, y + 46), (164, y + 46))
    p.arrow((476, y + 46), (530, y + 46))
    p.text(503, y + 40, "+", "middle")
    p.box(540, y + 40, 60, 12, "b")
    # all_gather: every rank gets all pieces; reduce_scatter: every rank its piece of the sum
    y = 220
    for r in range(4):
        cells(28, y + 24 + r * 12, ["a" if c == r else "off" for c in range(4)])
        cells(166, y + 24 + r * 12, ["a"] * 4)
        cells(388, y + 24 + r * 12, ["b"] * 4)
        cells(530, y + 24 + r * 12, ["b" if c == r else "off" for c in range(4)])
    p.arrow((116, y + 46), (158, y + 46))
    p.arrow((478, y + 46), (522, y + 46))
    p.text(500, y + 40, "+", "middle")
    # send: rank r to rank r + 1; receive: back
    y = 310
    for x, back in ((20, False), (380, True)):
        p.box(x + 16, y + 34, 74, 24, "c" if back else "a", "stage r")
        p.box(x + 150, y + 34, 80, 24, "c" if back else "a", "stage r + 1")
        if back:
            p.arrow((x + 148, y + 46), (x + 94, y + 46), label="dy")
        else:
            p.arrow((x + 92, y + 46), (x + 146, y + 46), label="y")
    return p


def packing():
    """Sentences of 5, 2 and 4 words, padded and packed."""
    p = Picture(640, 190, "Sentences in packed rows")
    lengths, kinds = (5, 2, 4), ("a", "b", "c")
    p.text(20, 22, "padded: 15 places, 4 of them nothing")
    for b, (length, kind) in enumerate(zip(lengths, kinds)):
        for t in range(5):
            p.box(20 + t * 40, 34 + b * 26, 36, 22, kind if t < length else "off",
                  str(t) if t < length else "")
    p.text(290, 22, "packed: 11 rows, and where each sentence begins")
    n = 0
    for length, kind in zip(lengths, kinds):
        for t in range(length):
            p.box(290 + n * 30, 40, 27, 22, kind, str(t))
            n += 1
    p.text(290, 92, "offsets = {0, 5, 7, 11}", kind="code")
    p.text(290, 114, "Operations work on rows and never notice.", kind="small")
    p.text(290, 132, "Attention reads the offsets. Random numbers are", kind="small")
    p.text(290, 150, "keyed by (sentence, position), never by the row.", kind="small")
    return p


def buffers():
    """The two buffers, and what is a slice of them."""
    p = Picture(640, 250, "One buffer of values, one of gradients")
    parts = (("encoder.layers.0", 150, "a"), ("encoder.layers.1", 150, "a"), ("decoder", 150, "b"),
             ("generator", 90, "c"))
    for y, name in ((30, "values"), (80, "gradients")):
        p.text(8, y + 20, name, kind="small")
        x = 80
        for label, width, kind in parts:
            p.box(x, y, width, 30, kind, label if y == 30 else "", True)
            x += width
    p.text(8, 148, "buckets", kind="small")
    for i, (x, width) in enumerate(((80, 190), (270, 210), (480, 140))):
        p.box(x, 130, width, 26, "box", f"bucket {2 - i}")
    p.text(8, 196, "shards", kind="small")
    for x, width in ((80, 190), (270, 210), (480, 140)):
        for r in range(2):
            p.box(x + r * width / 2, 178, width / 2, 26, "a" if r == 0 else "c", f"rank {r}")
    p.text(80, 234, "A bucket, a shard and an entry of a saved model are slices: nothing is copied to "
           "make them.", kind="small")
    return p


def strategies():
    """What each of two ranks holds under every strategy."""
    p = Picture(640, 420, "What every device or rank holds")
    heads = ("values", "gradients", "Adam's buffers")
    for i, head in enumerate(heads):
        p.text(275 + i * 130, 20, head, "middle", "small")
    rows = (("GradientAccumulation", 1, "1 1 1"), ("DataParallel", 2, "s 1 s"),
            ("DistributedDataParallel", 2, "1 1 1"), ("... Zero<1>", 2, "1 1 h"),
            ("... Zero<2>", 2, "1 h h"), ("... Zero<3>", 2, "h h h"),
            ("PipelineParallel", 2, "l l l"))
    y = 32
    for name, devices, held in rows:
        p.text(8, y + (14 if devices == 1 else 26), name, kind="code")
        if name == "DataParallel":
            p.text(8, y + 42, "devices share memory", kind="small")
        if name == "PipelineParallel":
            p.text(8, y + 42, "each rank its layers", kind="small")
        for d in range(devices):
            for i, how in enumerate(held.split()):
                x, top = 215 + i * 130, y + d * 25
                kind = "abc"[i]
                if how == "1" or (how == "s" and d == 0):
                    p.box(x, top, 120, 20, kind)
                elif how == "s":
                    p.box(x, top, 120, 20, "off")
                else:
                    p.box(x, top, 120, 20, "off")
                    p.box(x + 60 * d, top, 60, 20, kind)
        y += 30 if devices == 1 else 58
    return p


def lanes():
    """Eight micro-batches in four lanes, added on two devices."""
    p = Picture(640, 230, "Lanes and the tree across them")
    for lane in range(4):
        x = 30 + lane * 150
        kind = "a" if lane < 2 else "c"
        for m in range(2):
            p.box(x + m * 56, 30, 50, 26, kind, f"m{2 * lane + m}")
        p.arrow((x + 24, 58), (x + 48, 84))
        p.arrow((x + 80, 58), (x + 56, 84))
        p.box(x + 22, 86, 60, 26, kind, f"lane {lane}")
    for pair in range(2):
        x = 30 + pair * 300
        p.arrow((x + 52, 114), (x + 116, 142))
        p.arrow((x + 202, 114), (x + 138, 142))
        p.box(x + 97, 144, 60, 26, "a" if pair == 0 else "c", f"{2 * pair} + {2 * pair + 1}")
    p.arrow((157, 172), (262, 196))
    p.arrow((457, 172), (352, 196))
    p.box(264, 194, 86, 28, "box", "the sum")
    p.text(8, 20, "device 0", kind="small")
    p.text(308, 20, "device 1", kind="small")
    return p


PICTURES = {"module": module, "adjoints": adjoints, "packing": packing, "buffers": buffers,
            "strategies": strategies, "lanes": lanes}


def main():
    folder = pathlib.Path(sys.argv[1])
    for name, draw in PICTURES.items():
        (folder / f"{name}.svg").write_text(draw().svg(), encoding="utf-8")


if __name__ == "__main__":
    main()
