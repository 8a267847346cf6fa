# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Draws a schedule and has a bad one refused: draw_schedule.py PROGRAM"""
import subprocess
import sys
import xml.dom.minidom


def main(program):
    def draw(schedule, *costs):
        return subprocess.run([program, *map(str, costs)], input=schedule, capture_output=True,
                              text=True, check=False)

    good = draw("F0 F1 B0 B1\nF0 B0 F1 B1\n")
    assert good.returncode == 0, good.stderr
    assert good.stderr == "2 ranks, 2 stages, 2 micro-batches: 3 of 9 units are lost\n", good.stderr
    boxes = xml.dom.minidom.parseString(good.stdout).getElementsByTagName("rect")
    assert len(boxes) == 8, good.stdout
    bad = draw("F0 B0\nB0 F0\n")
    assert bad.returncode == 1 and not bad.stdout, bad
    assert "backward of micro-batch 0 in stage 0 waits for what comes only after it" in bad.stderr
    assert draw("F0 B0", 0, 1, 1).returncode == 1


if __name__ == "__main__":
    main(*sys.argv[1:])
