# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Prints the plans of tests/data/batches.cpp, made by a second program. Run: python3 batches.py"""

MASK = 2**64 - 1


class SplitMix64:
    def __init__(self, *keys):
        self.state = 0
        for key in keys:
            self.state = self.next() ^ key

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def shuffle(self, values):
        for last in range(len(values) - 1, 0, -1):
            while (number := self.next()) < 2**64 % (last + 1):
                pass
            chosen = number % (last + 1)
            values[last], values[chosen] = values[chosen], values[last]


def plan(lengths, size_of, budget, by_length, seed, epoch):
    random = SplitMix64(seed, epoch)
    order = list(range(len(lengths)))
    random.shuffle(order)
    if by_length:
        order.sort(key=lambda sentence: lengths[sentence])
    batches = []
    for sentence in order:
        if batches and size_of([lengths[s] for s in batches[-1] + [sentence]]) <= budget:
            batches[-1].append(sentence)
        else:
            batches.append([sentence])
    random.shuffle(batches)
    for batch in batches:
        random.shuffle(batch)
    return batches


# Source and target lengths with the sentence's end.
LENGTHS = [(2 + 7 * n % 5, 2 + 5 * n % 7) for n in range(12)]

if __name__ == "__main__":
    print(LENGTHS)
    for name, size_of, budget, by_length in [
            ("sentences", len, 5, False),
            ("padded_tokens", lambda rows: len(rows) * max(map(max, rows)), 20, True),
            ("target_tokens", lambda rows: sum(target for _, target in rows), 20, True)]:
        for epoch in range(2):
            print(name, by_length, epoch, plan(LENGTHS, size_of, budget, by_length, 42, epoch))
