# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""basic_english as torchtext documents it, on Python's own str.lower, str.replace and str.split.

    python3 basic_english.py              prints the cases of tests/data/basic_english.cpp
    python3 basic_english.py train.txt    prints the words and the distinct words of a corpus
"""

import json
import sys

STEPS = [("'", " '  "), ('"', ""), (".", " . "), ("<br />", " "), (",", " , "), ("(", " ( "),
         (")", " ) "), ("!", " ! "), ("?", " ? "), (";", " "), (":", " ")]


def basic_english(line):
    line = line.lower()
    for mark, replacement in STEPS:
        line = line.replace(mark, replacement)
    return line.split()


LINES = [
    "",
    " \t ",
    "You can now install TorchText using pip!",
    "Don't stop; it's 5:30 (p.m.), isn't it?",
    'He said "yes" and 5"x7" , then <br />left<BR />.',
    # The quote goes before the line break is looked for, colons and full stops after it.
    'a<br" />b a<b."r />c <br: />d <br  />e <br/>f',
    "= Valkyria Chronicles III = <unk> @-@ @,@ 3 @.@ 5",
    "É ÅØ ÆON Ł Ž Ÿ Ð",
    "ΑΣ ΑΣΑ Σ ΣΑΣ. Α.ΣΑ ΑΣ'",
    "ЖЁ Ѐ Џ Ԛ İI ẞ Ａ 𐐀",
    "nbsp\u00a0em\u2003thin\u2009ideographic\u3000line\u2028next\u0085file\u001csep",
    "zero\u200bwidth soft\u00adhyphen e\u0301",
]

if __name__ == "__main__":
    if len(sys.argv) > 1:
        counts = {}
        with open(sys.argv[1], encoding="utf-8", newline="\n") as lines:
            for line in lines:
                for word in basic_english(line):
                    counts[word] = counts.get(word, 0) + 1
        print(sum(counts.values()), "words,", len(counts), "distinct")
    else:
        for line in LINES:
            words = ", ".join(json.dumps(word, ensure_ascii=False) for word in basic_english(line))
            print(f"{{{json.dumps(line, ensure_ascii=False)}, {{{words}}}}},")
