# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Writes what tests/data/bpe_codes.cpp reads: bpe_codes.py ../data/data/bpe   (subword-nmt 0.3.8)

For each file of codes, with or without a vocabulary, the text `input` as apply-bpe cuts it.
"""
import io
import pathlib
import random
import sys

from subword_nmt.apply_bpe import BPE, read_vocabulary
from subword_nmt.get_vocab import get_vocab
from subword_nmt.learn_bpe import learn_bpe

folder = pathlib.Path(sys.argv[1])

TEXT = """\
der alte Müller mahlt das Mehl in der alten Mühle
die Mühlen mahlen langsam aber fein
the old miller grinds flour in the old mill
mills grind slowly but they grind fine
am Abend wandern die Wanderer über den Wanderweg zum Bahnhof
in the evening walkers walk along the walkway to the station
wer wandert braucht feste Schuhe und einen Regenmantel
whoever walks needs sturdy shoes and a raincoat
der Regen fällt auf die Dächer der Häuser und auf die Straßen
the rain falls on the roofs of the houses and on the streets
"""
INPUT = TEXT + """\
die Müllerin wanderte langsamer über den Mühlenweg

  two spaces  before,  between and after  \n\
 \n\
a é ß 層 😀 x 😀😀 層層層 naïveté
aaaaaaaaa nnnnn ffff eeeeeeeeeeeeeeeeeeeeeeeee
a\u00a0hard\u00a0space and\ta\ttab are characters
</w> the</w> der</w>der @@ der@@ @@der
abababab aabbaabbaab bbbbbbb ababbabaababbababbabaabba baab aaaaaa bababababababab abbbbabbba pqrs
WANDERWEG Straßenbahnhofsregenmantelwanderschuhe
"""

learned = io.StringIO()
learn_bpe(io.StringIO(TEXT), learned, 80)
codes = learned.getvalue()

# As version 0.1 would have it: the end of a word is a symbol that is merged with the last one.
ends = "".join(f"{c} </w>\n" for c in "nredst")
merges = "".join(f"{a} {b}\n" for a, b in (
    ("e", "r"), ("er", "</w>"), ("e", "n</w>"), ("d", "er</w>"), ("t", "h"), ("th", "e"),
    ("the", "</w>"), ("a", "a"), ("aa", "aa"), ("w", "a"), ("wa", "n")))
old = ends + merges

# Merges in an order that no text gives, some twice, some making the same symbol: what comes first
# decides, and a merge can make a pair that comes before it.
generator = random.Random(1)
symbols, last, shuffled = list("ab"), ["a</w>", "b</w>"], []
while len(shuffled) < 40:
    left, right = generator.choice(symbols), generator.choice(symbols + last)
    shuffled.append(f"{left} {right}")
    if len(left + right) < 12:
        (last if right in last else symbols).append(left + right)
generator.shuffle(shuffled)
shuffled += generator.sample(shuffled, 10)
shuffled += ["q r", "p qr", "p q", "pq r", "p qr"]  # pqr is made by the second, undone by the fourth
shuffled = "#version: 0.2\n" + "\n".join(shuffled) + "\n"

vocabulary = io.StringIO()
get_vocab(io.StringIO("".join(BPE(io.StringIO(codes)).process_line(line + "\n")
                              for line in TEXT.splitlines())), vocabulary)
vocabulary = vocabulary.getvalue()

# Too little for the codes in no order: most of their subwords are split, down to single letters.
short = "".join(f"{word} 1\n" for word in "a a@@ b b@@ ab ba@@ bab@@ aab@@ abb pq@@".split())


def write(name, text):
    (folder / name).write_text(text, encoding="utf-8", newline="\n")


def expect(name, codes, vocabulary=None):
    bpe = BPE(io.StringIO(codes), vocab=vocabulary)
    lines = INPUT.removesuffix("\n").split("\n")
    write(name, "".join(bpe.process_line(line + "\n") for line in lines))


write("input", INPUT)
write("codes", codes)
write("codes-0.1", old)
write("codes-shuffled", shuffled)
write("vocabulary", vocabulary)
write("vocabulary-short", short)
expect("expected", codes)
expect("expected-0.1", old)
expect("expected-shuffled", shuffled)
expect("expected-shuffled-known", shuffled, read_vocabulary(io.StringIO(short), None))
expect("expected-known", codes, read_vocabulary(io.StringIO(vocabulary), None))
expect("expected-known-3", codes, read_vocabulary(io.StringIO(vocabulary), 3))
