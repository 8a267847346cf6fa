# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Whether two subjects find the same: each function says how they differ, or nothing."""
import math


def agree(ours, theirs, tolerance):
    """Of numbers: each differs by a share of itself at most."""
    if len(ours) == len(theirs) and all(math.isclose(x, y, rel_tol=tolerance)
                                        for x, y in zip(ours, theirs)):
        return ""
    return f"{ours} and {theirs}"


def same_translations(ours, theirs, tolerance):
    """Of the best translation of each sentence, and its score.

    Where two words are equally good but for rounding, either may be chosen, and another translation
    follows. So one sentence in 50 may differ; the scores of the others must agree.
    """
    pairs = [(ours["scores"][i], theirs["scores"][i])
             for i, words in enumerate(ours["translations"]) if words == theirs["translations"][i]]
    sentences = len(ours["translations"])
    if len(theirs["translations"]) != sentences or len(pairs) < 0.98 * sentences:
        return f"{len(pairs)} of {sentences} translations are the same"
    return agree(*zip(*pairs), tolerance)
