# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""How much a step has to do at least: what its floor is made of."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Work:
    """The least work of one repetition.

    products: {(M, N, K): how often}, matrix products of rows and weights.
    attention: operations of attention's two products a pass; what a causal mask hides is not
      counted. Their rate is that of all `products` together.
    bytes: what the optimizer's pass reads and writes.
    reads: bytes of weights that all `products` read from memory, where there are too many for a
      cache to keep; products of few rows take as long as that.
    tokens: target tokens.
    """
    products: dict = dataclasses.field(default_factory=dict)
    attention: float = 0.0
    bytes: float = 0.0
    reads: float = 0.0
    tokens: int = 0

    def __add__(self, other):
        products = dict(self.products)
        for size, count in other.products.items():
            products[size] = products.get(size, 0) + count
        return Work(products, self.attention + other.attention, self.bytes + other.bytes,
                    self.reads + other.reads, max(self.tokens, other.tokens))

    def sizes(self):
        return ["x".join(map(str, size)) for size in self.products]

    def floor_ms(self, roofs):
        """Milliseconds at the rates that roofs.cpp measured."""
        operations = seconds = 0.0
        for size, count in self.products.items():
            amount = 2.0 * size[0] * size[1] * size[2] * count
            operations += amount
            seconds += amount / roofs["products"]["x".join(map(str, size))]
        if self.attention:
            rate = operations / seconds if seconds else max(roofs["products"].values())
            seconds += self.attention / rate
        seconds = max(seconds, self.reads / roofs["read"])
        return 1000 * (seconds + self.bytes / roofs["copy"])


def linear(rows, outputs, inputs, count=1):
    """The product of a linear layer's forward pass."""
    return Work({(rows, outputs, inputs): count})


def linear_backward(rows, outputs, inputs, count=1):
    """Those of its backward pass: of its input's gradient and of its weight's."""
    return Work({(rows, inputs, outputs): count}) + Work({(outputs, inputs, rows): count})


def attention(sequences, queries, keys, C, causal, count=1):
    """Both products of attention over all heads."""
    return Work(attention=count * 4.0 * sequences * queries * keys * C * (0.5 if causal else 1.0))


def attention_backward(sequences, queries, keys, C, causal, count=1):
    """Five: attention's probabilities are computed again instead of being kept."""
    forward = attention(sequences, queries, keys, C, causal, count)
    return Work(attention=2.5 * forward.attention)


def layer(linear, attention, rows, queries, sequences, C, F, causal=False, memory=None):
    """An encoder layer, or with `memory`, which is (rows, keys), a decoder layer."""
    work = (linear(rows, 3 * C, C) + linear(rows, C, C) + linear(rows, F, C) + linear(rows, C, F) +
            attention(sequences, queries, queries, C, causal))
    if memory is not None:
        memory_rows, keys = memory
        work += (linear(rows, C, C, 2) + linear(memory_rows, 2 * C, C) +
                 attention(sequences, queries, keys, C, False))
    return work


def times(work, count):
    """The same work, some times over."""
    return Work({size: count * n for size, n in work.products.items()}, count * work.attention,
                count * work.bytes, count * work.reads, work.tokens)


def adam(parameters):
    """Reads four arrays and writes three."""
    return Work(bytes=28.0 * parameters)


def sgd(parameters):
    """Reads two arrays and writes one."""
    return Work(bytes=12.0 * parameters)
