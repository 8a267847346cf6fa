# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Prints the table of include/weft/data/lower_case.hpp and the checksum of its test.

Python's str.lower is the reference; 3.11 has Unicode 14. Run: python3 lower_case.py
"""

import unicodedata

CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]

# Of the one whose lower case is two characters, the first: a letter; the second is its accent.
lower = {c: ord(chr(c).lower()[0]) for c in CODE_POINTS if chr(c).lower() != chr(c)}


def ranges():
    """Runs of every or every other code point that move by the same distance."""
    keys = sorted(lower)
    at = 0
    while at < len(keys):
        first = keys[at]
        distance = lower[first] - first

        def run(step):
            count = 1
            while lower.get(first + count * step, -1) == first + count * step + distance and \
                    (step == 1 or first + count * step - 1 not in lower):
                count += 1
            return count

        step = max((1, 2), key=run)
        yield first, first + (run(step) - 1) * step, step, distance
        at += run(step)


def fnv1a(values):
    hash = 0xCBF29CE484222325
    for value in values:
        for byte in value.to_bytes(4, "little"):
            hash = (hash ^ byte) * 0x100000001B3 % 2**64
    return hash


print(f"// Unicode {unicodedata.unidata_version}. Followed by a second character:",
      [hex(c) for c in CODE_POINTS if len(chr(c).lower()) > 1])
for first, last, step, distance in ranges():
    print(f"{{0x{first:04X}, 0x{last:04X}, {step}, {distance}}},")
print(f"checksum: 0x{fnv1a(lower.get(c, c) for c in CODE_POINTS):016X}")
