# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Writes what PyTorch computes for small models, as safetensors files under weft's names.

    python3 parity.py        writes tests/nn/data/ and tests/parallel/data/

Made with torch 2.15.0, numpy 2.4.6 and safetensors 0.8.0. The models are the stock modules of
torch.nn and torch.optim on padded batches, with padding masks. Inputs and parameters are numbers of
float32; everything is computed in float64 and rounded once, when it is stored. weft packs the
sequences of a batch end to end, so of PyTorch's batches the rows that are no padding are stored.

The parameters here are random, all of them: a gain of 1 or a bias of 0 would hide mistakes.
"""

import math
import pathlib

import numpy
import torch
from safetensors.numpy import save_file
from torch import nn
from torch.nn import functional

TESTS = pathlib.Path(__file__).resolve().parent.parent
C, HEADS, D_FF, VOCABULARY = 24, 4, 40, 29
SMOOTHING = 0.1
PADDING = -100  # the label of rows that weft does not have

random = numpy.random.default_rng(2026)


def normal(*shape, scale=1.0):
    """Random numbers of float32, as float64."""
    return torch.from_numpy((random.standard_normal(shape) * scale).astype(numpy.float32)).double()


# Packed rows and padded batches


def padded(packed, lengths, fill=0):
    """(N, ...) as (B, T, ...)."""
    batch = packed.new_full((len(lengths), max(lengths), *packed.shape[1:]), fill)
    for b, rows in enumerate(torch.split(packed, lengths)):
        batch[b, :len(rows)] = rows
    return batch


def packed(batch, lengths):
    """(B, T, ...) as (N, ...), without the padding."""
    return torch.cat([batch[b, :length] for b, length in enumerate(lengths)])


def padding_mask(lengths):
    return torch.arange(max(lengths))[None, :] >= torch.tensor(lengths)[:, None]


def causal_mask(length):
    return torch.ones(length, length, dtype=torch.bool).triu(1)


# The parameters of PyTorch's modules by weft's names: (name, parameter, which rows of it)


def plain(name, module):
    for part, parameter in module.named_parameters(recurse=False):
        if parameter.requires_grad:
            yield f"{name}.{part}", parameter, slice(None)


def attention(name, module):
    for part in ("weight", "bias"):
        joint = getattr(module, f"in_proj_{part}")
        if joint.requires_grad:
            for i, projection in enumerate(("query", "key", "value")):
                yield f"{name}.{projection}.{part}", joint, slice(i * C, (i + 1) * C)
    yield from plain(f"{name}.output", module.out_proj)


def layer(prefix, module):
    cross = hasattr(module, "multihead_attn")
    yield from attention(f"{prefix}self_attention", module.self_attn)
    yield from plain(f"{prefix}self_attention.norm", module.norm1)
    if cross:
        yield from attention(f"{prefix}cross_attention", module.multihead_attn)
        yield from plain(f"{prefix}cross_attention.norm", module.norm2)
    yield from plain(f"{prefix}feed_forward.inner", module.linear1)
    yield from plain(f"{prefix}feed_forward.outer", module.linear2)
    yield from plain(f"{prefix}feed_forward.norm", module.norm3 if cross else module.norm2)


def stack(prefix, module):
    for i, member in enumerate(module.layers):
        yield from layer(f"{prefix}.layers.{i}.", member)
    if module.norm is not None:
        yield from plain(f"{prefix}.norm", module.norm)


def randomised(module, attention_bias):
    """In float64, with random parameters; without biases of attention if so wished."""
    module.double()
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if not attention_bias and name.endswith(("in_proj_bias", "out_proj.bias")):
                parameter.zero_()
                parameter.requires_grad_(False)
            elif parameter.dim() == 2:
                parameter.copy_(normal(*parameter.shape, scale=1 / math.sqrt(parameter.shape[1])))
            else:
                centre = 1.0 if "norm" in name and name.endswith("weight") else 0.0
                parameter.copy_((normal(*parameter.shape, scale=0.2) + centre).float().double())
    return module


def values(entries, prefix):
    return {prefix + name: parameter.detach()[rows] for name, parameter, rows in entries}


def gradients(entries, prefix):
    return {prefix + name: parameter.grad[rows] for name, parameter, rows in entries}


# Layers


def encoder_layers():
    """An encoder layer before and after normalisation, with its options."""
    cases = {
        "pre_relu": (True, "relu", False, False),
        "pre_relu_causal": (True, "relu", False, True),
        "post_relu_bias": (False, "relu", True, False),
        "pre_gelu_bias_causal": (True, "gelu", True, True),
        "post_gelu": (False, "gelu", False, False),
    }
    yield from encoder_layers_of({
        "short": ([7, 3, 5], cases),
        "long": ([130, 1, 67], {"pre_relu_causal": cases["pre_relu_causal"]}),
    })


def silu_layers():
    """The same with SiLU. Written last: the numbers of all else stay."""
    yield from encoder_layers_of(
        {"short": ([7, 3, 5], {"post_silu_bias": (False, functional.silu, True, False)})})


def encoder_layers_of(batches):
    for batch, (lengths, cases) in batches.items():
        yield f"{batch}/lengths", torch.tensor(lengths)
        yield f"{batch}/x", (x := normal(sum(lengths), C))
        yield f"{batch}/dy", (dy := normal(sum(lengths), C))
        for case, (pre, activation, bias, causal) in cases.items():
            module = randomised(nn.TransformerEncoderLayer(
                C, HEADS, D_FF, dropout=0.0, activation=activation, batch_first=True,
                norm_first=pre), bias)
            entries = list(layer("", module))
            read = padded(x, lengths).requires_grad_()
            y = module(read, src_mask=causal_mask(max(lengths)) if causal else None,
                       src_key_padding_mask=padding_mask(lengths), is_causal=causal)
            y.backward(padded(dy, lengths))
            yield from values(entries, f"{batch}/{case}/value/").items()
            yield f"{batch}/{case}/y", packed(y, lengths)
            yield f"{batch}/{case}/dx", packed(read.grad, lengths)
            yield from gradients(entries, f"{batch}/{case}/gradient/").items()


def decoder_layers():
    lengths, memory_lengths = [4, 1, 6], [5, 8, 2]
    yield "lengths", torch.tensor(lengths)
    yield "memory_lengths", torch.tensor(memory_lengths)
    yield "x", (x := normal(sum(lengths), C))
    yield "memory", (memory := normal(sum(memory_lengths), C))
    yield "dy", (dy := normal(sum(lengths), C))
    for case, pre, activation, bias in [("pre_relu", True, "relu", False),
                                        ("post_relu_bias", False, "relu", True),
                                        ("pre_gelu_bias", True, "gelu", True),
                                        ("post_gelu", False, "gelu", False)]:
        module = randomised(nn.TransformerDecoderLayer(
            C, HEADS, D_FF, dropout=0.0, activation=activation, batch_first=True,
            norm_first=pre), bias)
        entries = list(layer("", module))
        read = padded(x, lengths).requires_grad_()
        recalled = padded(memory, memory_lengths).requires_grad_()
        y = module(read, recalled, tgt_mask=causal_mask(max(lengths)), tgt_is_causal=True,
                   tgt_key_padding_mask=padding_mask(lengths),
                   memory_key_padding_mask=padding_mask(memory_lengths))
        y.backward(padded(dy, lengths))
        yield from values(entries, f"{case}/value/").items()
        yield f"{case}/y", packed(y, lengths)
        yield f"{case}/dx", packed(read.grad, lengths)
        yield f"{case}/dmemory", packed(recalled.grad, memory_lengths)
        yield from gradients(entries, f"{case}/gradient/").items()


# Models


def sinusoids(length):
    """Row t, columns 2i and 2i + 1: sine and cosine of t / 10000^(2i / C)."""
    angles = torch.arange(length)[:, None] * 10000.0 ** (-torch.arange(0, C, 2).double() / C)
    return torch.stack([angles.sin(), angles.cos()], dim=2).reshape(length, C)


class Transformer(nn.Module):
    """Embeddings, torch.nn's encoder and decoder, and a generator."""

    def __init__(self, layers, pre, activation, tie, learned_positions):
        super().__init__()
        options = dict(dropout=0.0, activation=activation, batch_first=True, norm_first=pre)

        def norm():
            return nn.LayerNorm(C) if pre else None

        self.encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(C, HEADS, D_FF, **options), layers, norm=norm(),
            enable_nested_tensor=False)
        self.decoder = nn.TransformerDecoder(
            nn.TransformerDecoderLayer(C, HEADS, D_FF, **options), layers, norm=norm())
        self.source = nn.Embedding(VOCABULARY, C)
        self.target = self.source if tie == "all" else nn.Embedding(VOCABULARY, C)
        self.generator = nn.Linear(C, VOCABULARY, bias=False)
        if tie != "none":
            self.generator.weight = self.target.weight
        self.positions = nn.ParameterList(
            nn.Parameter(torch.empty(learned_positions, C)) for _ in range(2)
        ) if learned_positions else [sinusoids(16)] * 2
        self.tie, self.learned = tie, learned_positions

    def entries(self):
        yield from plain("source_embedding", self.source)
        if self.learned:
            yield "source_embedding.positions", self.positions[0], slice(None)
        if self.tie != "all":
            yield from plain("target_embedding", self.target)
        if self.learned:
            yield "target_embedding.positions", self.positions[1], slice(None)
        yield from stack("encoder", self.encoder)
        yield from stack("decoder", self.decoder)
        if self.tie == "none":
            yield from plain("generator", self.generator)

    def embedded(self, embedding, positions, tokens):
        return embedding(tokens) * math.sqrt(C) + positions[:tokens.shape[1]]

    def forward(self, source, source_lengths, target, target_lengths):
        source_padding = padding_mask(source_lengths)
        memory = self.encoder(self.embedded(self.source, self.positions[0], source),
                              src_key_padding_mask=source_padding)
        return self.decoder(self.embedded(self.target, self.positions[1], target), memory,
                            tgt_mask=causal_mask(target.shape[1]), tgt_is_causal=True,
                            tgt_key_padding_mask=padding_mask(target_lengths),
                            memory_key_padding_mask=source_padding)


class Batch:
    """Three sentences of different lengths, and how they become a loss."""

    def __init__(self):
        self.source_lengths, self.target_lengths = [5, 3, 7], [4, 7, 2]
        self.source, self.target, self.labels = (
            torch.from_numpy(random.integers(0, VOCABULARY, sum(lengths)))
            for lengths in (self.source_lengths, self.target_lengths, self.target_lengths))

    def output(self, model):
        return model(padded(self.source, self.source_lengths), self.source_lengths,
                     padded(self.target, self.target_lengths), self.target_lengths)

    def loss(self, model, output):
        labels = padded(self.labels, self.target_lengths, PADDING)
        return functional.cross_entropy(model.generator(output).flatten(0, 1), labels.flatten(),
                                        reduction="sum", label_smoothing=SMOOTHING,
                                        ignore_index=PADDING)

    def tensors(self):
        yield "source_lengths", torch.tensor(self.source_lengths)
        yield "target_lengths", torch.tensor(self.target_lengths)
        yield "source", self.source.int()
        yield "target", self.target.int()
        yield "labels", self.labels.int()


def seed_1_model():
    """As seed 1's model, but small: before normalisation, no biases in attention."""
    return randomised(Transformer(2, True, "relu", "none", 0), False)


def transformers(batch, first):
    """`first` is the model that the optimizers start from."""
    yield from batch.tensors()
    models = {
        "pre": first,
        # As fairseq's transformer_tiny: after normalisation, one weight for all embeddings.
        "post_tied": randomised(Transformer(2, False, "relu", "all", 0), True),
        "pre_gelu_learned": randomised(Transformer(1, True, "gelu", "target", 9), True),
    }
    for case, model in models.items():
        model.zero_grad()
        entries = list(model.entries())
        output = batch.output(model)
        loss = batch.loss(model, output)
        loss.backward()
        yield from values(entries, f"{case}/value/").items()
        yield f"{case}/output", packed(output, batch.target_lengths)
        yield f"{case}/loss", loss
        yield from gradients(entries, f"{case}/gradient/").items()


def updates(batch, start):
    """Ten steps of each optimizer, from `start`, all on one batch, of the mean over its tokens."""
    # AdamW's epsilon is large: with 1e-8 an element whose gradient is tiny shows the gradient's
    # relative error undamped, and PyTorch in float32 is 1e-5 away from PyTorch in float64. The rates
    # are such that no hidden value comes so near to 0 that rounding moves it to the other side.
    optimizers = {
        "adam": lambda p: torch.optim.Adam(p, lr=3e-3, betas=(0.9, 0.98), eps=1e-9,
                                           weight_decay=0.01),
        "adamw": lambda p: torch.optim.AdamW(p, lr=4e-3, eps=1e-5, weight_decay=0.1),
        "sgd": lambda p: torch.optim.SGD(p, lr=0.06, momentum=0.9, weight_decay=0.01),
    }
    for case, make in optimizers.items():
        model = seed_1_model()
        model.load_state_dict(start)
        optimizer = make([p for p in model.parameters() if p.requires_grad])
        losses, nearest = [], []
        for name, module in model.named_modules():
            if name.endswith("linear1"):
                module.register_forward_hook(
                    lambda _, __, hidden: nearest.append(hidden.detach().abs().min().item()))
        for _ in range(10):
            optimizer.zero_grad()
            loss = batch.loss(model, batch.output(model))
            losses.append(loss.detach())
            (loss / sum(batch.target_lengths)).backward()
            optimizer.step()
        assert min(nearest) > 4e-5, (case, min(nearest))
        losses.append(batch.loss(model, batch.output(model)).detach())
        yield f"{case}/losses", torch.stack(losses)  # before each step, and after the last
        yield from values(model.entries(), f"{case}/value/").items()


# The loss over rows


def losses():
    """Generator and criterion over two batches; the second, the last of an epoch, is short."""
    batches = {"first": [7, 3, 5], "last": [2]}
    inputs = {}
    for name, lengths in batches.items():
        x = normal(sum(lengths), C)
        labels = torch.from_numpy(random.integers(1, VOCABULARY, sum(lengths)))
        labels[[0, -1]] = 0  # in "last" nothing is left to learn
        if name == "last":
            labels[0] = 5
        inputs[name] = x, labels
        yield f"{name}/lengths", torch.tensor(lengths)
        yield f"{name}/x", x
        yield f"{name}/labels", labels.int()
    weight, bias = normal(VOCABULARY, C, scale=1 / math.sqrt(C)), normal(VOCABULARY, scale=0.2)
    yield "generator.weight", weight
    yield "generator.bias", bias
    for case, has_bias, smoothing, ignored in [("smoothed", True, SMOOTHING, 0),
                                               ("plain", False, 0.0, PADDING)]:
        generator = nn.Linear(C, VOCABULARY, bias=has_bias).double()
        with torch.no_grad():
            generator.weight.copy_(weight)
            if has_bias:
                generator.bias.copy_(bias)
        for name, (x, labels) in inputs.items():
            read = x.clone().requires_grad_()
            loss = functional.cross_entropy(generator(read), labels, reduction="sum",
                                            label_smoothing=smoothing, ignore_index=ignored)
            loss.backward()
            yield f"{case}/{name}/loss", loss
            yield f"{case}/{name}/dx", read.grad
        yield from gradients(plain("generator", generator), f"{case}/gradient/").items()


def write(path, tensors):
    stored = {}
    for name, tensor in tensors:
        array = tensor.detach().numpy()
        if name.endswith(("loss", "losses")):
            array = array.reshape(-1)  # stays float64
        elif array.dtype == numpy.float64:
            array = array.astype(numpy.float32)
        assert name not in stored, name
        assert numpy.isfinite(array).all(), name
        stored[name] = numpy.ascontiguousarray(array)
    save_file(stored, TESTS / path)
    print(f"{path}: {len(stored)} tensors, {(TESTS / path).stat().st_size} bytes")


def main():
    torch.set_num_threads(1)
    write("nn/data/encoder_layer.safetensors", encoder_layers())
    write("nn/data/decoder_layer.safetensors", decoder_layers())
    batch, model = Batch(), seed_1_model()
    start = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    write("nn/data/transformer.safetensors", transformers(batch, model))
    write("parallel/data/updates.safetensors", updates(batch, start))
    write("parallel/data/losses.safetensors", losses())
    write("nn/data/silu_layer.safetensors", silu_layers())


if __name__ == "__main__":
    main()
