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


def similar_scores(ours, theirs, tolerance):
    """Of translations by a model that hardly prefers one word to another, with rounded products: where
    they part, each goes on by itself. So half of them begin with the same two words, and their mean
    score stays within ten tolerances.
    """
    alike = sum(x[:2] == y[:2] for x, y in zip(ours["translations"], theirs["translations"]))
    sentences = len(ours["translations"])
    if len(theirs["translations"]) != sentences or alike < sentences / 2:
        return f"{alike} of {sentences} translations begin with the same two words"
    means = [[sum(found["scores"]) / sentences] for found in (ours, theirs)]
    return agree(*means, 10 * tolerance)


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
