# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Prints random lines and corpora with what sacreBLEU 2.6.0 makes of them, as JSON.

    python3 bleu.py > ../metrics/data/bleu.json      what tests/metrics/bleu.cpp reads
    python3 bleu.py 5000 7 > elsewhere/bleu.json     more of the same: corpora, seed

The corpora are short and hostile: punctuation, digits, entities, white space of all kinds, Chinese
and what the zh tokenizer wrongly takes for it, empty lines, hypotheses without a match.
"""

import json
import random
import sys

from sacrebleu import __version__
from sacrebleu.metrics.bleu import BLEU, _get_tokenizer

TOKENIZERS = ["13a", "none", "char", "zh"]
SMOOTHINGS = [("exp", None)] * 5 + [("none", None), ("floor", None), ("floor", 0.3),
                                   ("add-k", None), ("add-k", 0.5)]

WORDS = "the a cat sat mat U.S. 3.14 1,000 2020-21 don't e.g. well-known 50% x,y .5 5. - 7-".split()
ENTITIES = ["&quot;", "&amp;", "&lt;", "&gt;", "&amp;lt;", "&amp;quot;", "<skipped>", "&", "&amp",
            "-\n", "\n"]
SPACES = [" ", "  ", "\t", "\r", "\x0b", "\x1c", "\x1f", "\x85", "\xa0", "\u1680", "\u2000",
          "\u2009", "\u2028", "\u3000", "\u200b", "\ufeff", "\u180e"]
CHINESE = list("增长创新高中国的，。、（）《》！？：；１２３ＡＢ㐀䶵龥龦龻龼﨎﨩﨑﩯")
ODD = list("…—“”‘’→√≠☃✂éßÀñЖж한글かなカナ\u0301\u202e\u0660²½") + \
    ["\U00020000", "\U0002f800", "\U0001f600", "\u2001", "\u2a6d", "\u2a6e", "\u2f80", "\x00", "\x7f"]
ASCII = [chr(c) for c in range(0x20, 0x7F)]
DIGITS = list("0123456789.,-")


def random_line(rng):
    kinds = rng.choices([WORDS, ENTITIES, SPACES, CHINESE, ODD, ASCII, DIGITS], k=3,
                        weights=[6, 1, 1, 3, 2, 3, 3])
    spaced = rng.random() < 0.7
    parts = []
    for _ in range(rng.choice([0, 1, 2, 3, 4, 5, 8, 12])):
        parts.append(rng.choice(rng.choice(kinds)))
        if spaced and rng.random() < 0.7:
            parts.append(" " if rng.random() < 0.9 else rng.choice(SPACES))
    return "".join(parts)


def mutated(rng, line):
    choice = rng.random()
    if choice < 0.3:
        return line
    if choice < 0.4:
        return random_line(rng)
    at, to = sorted(rng.randrange(len(line) + 1) for _ in range(2))
    if choice < 0.6:
        return line[:at] + line[to:]
    if choice < 0.8:
        return line[:at] + random_line(rng) + line[at:]
    return line[:to] + line[at:]


def corpus(rng):
    lines = rng.choice([1, 1, 2, 3, 5])
    references = [[random_line(rng) for _ in range(lines)]]
    for _ in range(rng.choice([0, 0, 0, 1, 2])):
        references.append([mutated(rng, line) for line in references[0]])
    hypotheses = [mutated(rng, line) for line in references[0]]
    tokenizer = rng.choice(TOKENIZERS)
    method, value = rng.choice(SMOOTHINGS)
    metric = BLEU(tokenize=tokenizer, smooth_method=method, smooth_value=value)
    segments = metric._extract_corpus_statistics(hypotheses, references)
    statistics = [sum(column) for column in zip(*segments)]
    score = metric.corpus_score(hypotheses, references)
    return {
        "tokenizer": tokenizer,
        "smoothing": method,
        "value": BLEU.SMOOTH_DEFAULTS[method] if value is None else value,
        "hypotheses": hypotheses,
        "references": references,
        "statistics": statistics,
        "score": score.score,
        "precisions": score.precisions,
        "brevity_penalty": score.bp,
        "text": str(score),
    }


def line_case(rng):
    line = random_line(rng)
    return {"line": line,
            "tokens": {name: _get_tokenizer(name)()(line.rstrip()).split() for name in TOKENIZERS}}


def main():
    corpora = int(sys.argv[1]) if len(sys.argv) > 1 else 150
    rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    lines = [line_case(rng) for _ in range(corpora)]
    cases = [corpus(rng) for _ in range(corpora)]
    print('{"sacrebleu": "%s",' % __version__)
    print('"lines": [\n' + ",\n".join(map(json.dumps, lines)) + "],")
    print('"corpora": [\n' + ",\n".join(map(json.dumps, cases)) + "]}")


main()
