# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""The suites of tools/bench: which programs, at which sizes, and what their floor is."""
import dataclasses
import typing

from harness.work import (Work, adam, attention, attention_backward, layer, linear,
                          linear_backward, sgd, times)

from harness.agreement import agree, same_translations, similar_scores

TORCH = ("torch_eager", "torch_compile", "torch_flat")
BFLOAT16 = {"weft_bfloat16": {"precision": "bfloat16"}}


@dataclasses.dataclass(frozen=True)
class Suite:
    """One program of weft's, the same work by its peers, and the names of what they time.

    Suites of one name are the points of a curve and run together; run.SETTINGS tells them apart.

    times: {what the program calls a time: (the suite's name, its work)}. "total" is their sum.
    peers: {subject: program in benchmarks/peers}.
    settings: for weft and its peers; "threads" and "variant" are added.
    compare: what `check` answers, weft's and a peer's, and the tolerance: says how they differ, or
      nothing.
    tolerance: how far results may differ, as a share of themselves.
    data: {setting: a file in the folder of `tools/bench --data`}; such a suite needs the folder, and
      its `check` answers the tokens of a repetition.
    quick: whether `tools/bench --quick` runs it.
    own: {subject: settings} of weft's program that are measured beside the others.
    compare_rounded: the same as `compare`, for subjects whose products are of bfloat16.
    """
    name: str
    program: str
    peers: dict
    settings: dict
    times: typing.Dict[str, typing.Tuple[str, Work]]
    tolerance: float = 1e-5
    quick: bool = False
    own: dict = dataclasses.field(default_factory=dict)
    compare: typing.Callable = agree
    compare_rounded: typing.Callable = agree
    data: dict = dataclasses.field(default_factory=dict)

    def names(self):
        return [name for name, _ in self.times.values()]


def torch(program, variants=TORCH):
    return {variant: program for variant in variants}


def encoder(name, shape, sequences, length, causal, dropout, layers=1, variants=TORCH, quick=False,
            timed=("forward", "backward", "step", "total"), own=None):
    """Encoder layers: forward, backward and step apart, and together as NAME.iteration; or one of
    these as NAME."""
    C, F = {"small": (128, 512), "base": (512, 2048)}[shape]
    rows = sequences * length
    sizes = (rows, length, sequences, C, F, causal)
    work = {"forward": times(layer(linear, attention, *sizes), layers),
            "backward": times(layer(linear_backward, attention_backward, *sizes), layers),
            "step": adam(layers * (4 * C * C + 2 * C * F + 9 * C + F))}
    work["total"] = sum(work.values(), Work(tokens=rows))

    def called(time):
        suffix = {"total": "iteration"}.get(time, time)
        return f"{name}.{suffix}" if len(timed) > 1 else name
    return Suite(name, "encoder", torch("torch_encoder.py", variants),
                 {"shape": shape, "layers": layers, "causal": causal, "dropout": dropout,
                  "sequences": sequences, "length": length},
                 {time: (called(time), work[time]) for time in timed}, quick=quick, own=own or {})


def growth(name, sequences, length, layers=1):
    """A point of a curve: layers of the base Transformer beside PyTorch as most programs use it."""
    return encoder(f"growth_{name}", "base", sequences, length, False, 0.1, layers,
                   ("torch_eager",), timed=("total",))


def translation(shape, sentences, source, target, quick=False):
    C, F, N, V = {"base": (512, 2048, 6, 32000), "tiny": (128, 256, 4, 9712)}[shape]
    S, T = sentences * source, sentences * target
    work = Work(tokens=T)
    for product, heads in ((linear, attention), (linear_backward, attention_backward)):
        work += times(layer(product, heads, S, source, sentences, C, F), N)
        work += times(layer(product, heads, T, target, sentences, C, F, True, (S, source)), N)
        work += product(T, V, C)
    work += adam({"base": 93255680, "tiny": 2568192}[shape])
    name = f"translation_{shape}.step"
    return Suite(name, "translation_step", torch("torch_translation.py", (*TORCH, "torch_bfloat16")),
                 {"shape": shape, "sentences": sentences, "source_length": source,
                  "target_length": target, "chunk": 5, "dropout": 0.1},
                 {"step": (name, work)}, quick=quick, own=BFLOAT16)


def language_model():
    """The language model of PyTorch's pipeline tutorial, an eighth as wide, of 4 layers."""
    C, N, V, sequences, length = 512, 4, 28782, 20, 25
    rows = sequences * length
    work = Work(tokens=rows) + sgd(2 * V * C + V + N * (6 * C * C + 10 * C))
    for product, heads in ((linear, attention), (linear_backward, attention_backward)):
        work += times(layer(product, heads, rows, length, sequences, C, C, True), N)
        work += product(rows, V, C)
    return Suite("language_model.step", "language_model_step",
                 torch("torch_language_model.py", (*TORCH, "torch_bfloat16")),
                 {"sequences": sequences, "length": length, "dropout": 0.2},
                 {"step": ("language_model.step", work)}, own=BFLOAT16)


def chunked_loss():
    """The generator and the loss: all logits at once, or 5 positions of every sentence."""
    sentences, length, C, V = 32, 256, 512, 32000
    rows = sentences * length
    work = linear(rows, V, C) + linear_backward(rows, V, C) + Work(tokens=rows)
    return Suite("chunked_loss", "chunked_loss",
                 torch("torch_chunked_loss.py", ("torch_eager", "torch_compile")),
                 {"sentences": sentences, "length": length, "chunk": 5},
                 {"step": ("chunked_loss", work)}, own={"weft_whole": {"chunk": length}},
                 # Sums of 32,000 terms that cancel: PyTorch's gradient is 1.4e-5 (eager) and
                 # 5e-5 (compiled) from that in double, weft's 5e-7.
                 tolerance=1e-4)


def decoding(beam, sentences):
    """Translation by the base Transformer of sentences of one length, a word at a time. The encoder
    runs once; a step reads all weights of the decoder."""
    C, F, N, V, source, most_words = 512, 2048, 6, 32000, 24, 32
    memory_rows = sentences * source
    work = times(layer(linear, attention, memory_rows, source, sentences, C, F) +
                 linear(memory_rows, 2 * C, C), N)
    for words in range(1, most_words + 1):
        rows = sentences * (1 if words == 1 else beam)
        one_layer = (linear(rows, 3 * C, C) + linear(rows, C, C, 3) + linear(rows, F, C) +
                     linear(rows, C, F) + attention(rows, 1, words + source, C, False))
        work += times(one_layer, N) + linear(rows, V, C)
        work += Work(reads=4.0 * (N * (6 * C * C + 2 * C * F) + V * C))
    name = f"{'greedy' if beam == 1 else f'beam{beam}'}_{sentences}"
    # The best of a beam have other first words when such a model's products are rounded.
    rounded = ("torch_cached_bfloat16",) if beam == 1 else ()
    return Suite(name, "translate",
                 {**torch("torch_translate.py", ("torch_cached", *rounded)),
                  "ctranslate2": "ctranslate2_translate.py"},
                 {"beam": beam, "sentences": sentences, "source_length": source,
                  "most_words": most_words},
                 {"translate": (name, work + Work(tokens=sentences * most_words))},
                 own=BFLOAT16 if rounded else {}, tolerance=1e-4, compare=same_translations,
                 compare_rounded=similar_scores)


def loader(name, **data):
    """Reading a corpus, and making all batches of an epoch."""
    return Suite(name, "loader", {}, {},
                 {"read": (f"{name}.read", Work()), "epoch": (f"{name}.epoch", Work())}, data=data)


SUITES = [
    encoder("encoder_layer", "small", 50, 80, False, 0.1, quick=True),
    translation("base", 32, 32, 32),
    translation("tiny", 256, 16, 16, quick=True),
    language_model(),
    chunked_loss(),
    # Parameters and moments far beyond any cache.
    encoder("optimizer_step", "base", 1, 32, False, 0.1, 24, timed=("step",)),
    encoder("long_context_4096", "base", 1, 4096, True, 0.0, timed=("total",), own=BFLOAT16,
            variants=(*TORCH, "torch_bfloat16")),
    encoder("long_context_16384", "base", 1, 16384, True, 0.0, timed=("total",), own=BFLOAT16,
            variants=("torch_eager", "torch_compile", "torch_bfloat16")),
    *(growth("batch", sequences, 32) for sequences in (1, 2, 4, 8, 16, 32, 64)),
    *(growth("length", 1024 // length, length) for length in (16, 32, 64, 128, 256, 512, 1024)),
    *(growth("layers", 16, 32, layers) for layers in (1, 2, 4, 8, 16, 24)),
    *(decoding(beam, sentences) for beam in (1, 5) for sentences in (1, 64)),
    loader("loader_multi30k", source="multi30k/bpe/train.de.gz",
           target="multi30k/bpe/train.en.gz"),
    loader("loader_wikitext2", text="wikitext-2/train.txt.gz"),
]
