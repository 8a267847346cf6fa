# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""What PyTorch makes of a GPU: the figures of benchmarks/gpu.cu, line by line.

usage: torch_gpu.py [--small] [SUITE...]    small sizes, on a processor if there is no GPU; all suites
                                            or those named
"""
import gc
import json
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

REPEATS = 10
CALLS = 100  # of what is measured with nothing that waits between
LEAST_WARM_UP, WARM_UP_S = 5, 0.3  # of rounds and of seconds, as benchmarks/gpu.cu does
SMALL = "--small" in sys.argv[1:]
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def synchronize():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def seconds_of_each(*calls):
    def seconds_of(call):
        synchronize()
        begin = time.perf_counter()
        call()
        synchronize()
        return time.perf_counter() - begin

    begin, rounds = time.perf_counter(), 0
    while rounds < LEAST_WARM_UP or time.perf_counter() - begin < WARM_UP_S:
        for call in calls:
            seconds_of(call)
        rounds += 1
    times = [[] for _ in calls]
    for _ in range(REPEATS):
        for call, of_call in zip(calls, times):
            of_call.append(seconds_of(call))
    return [statistics.quantiles(of_call, n=4, method="inclusive") for of_call in times]


def seconds(call):
    return seconds_of_each(call)[0]


def report(suite, subject, metric, amount, time_s):
    low, middle, high = time_s
    print(json.dumps({"suite": suite, "subject": subject, "metric": metric,
                      "median": amount / middle, "lower_quartile": amount / high,
                      "upper_quartile": amount / low, "time_ms": 1000 * middle,
                      "repeats": REPEATS}), flush=True)


def attempt(suite, subject, measure):
    """What fails (memory, a compiler that is not there) is a line of its own, and the rest goes on."""
    try:
        measure()
    except Exception as error:
        print(json.dumps({"suite": suite, "subject": subject, "error": str(error)[:200]}), flush=True)


def forget():
    """What compiled code and cycles of objects hold of a model that is gone: memory of the next."""
    torch.compiler.reset()
    gc.collect()
    if DEVICE == "cuda":
        torch.cuda.empty_cache()


def attention(tokens, length, size, causal, dropout=0.0):
    """2,048 channels in all; by whatever kernel PyTorch chooses. Causal counts as half."""
    shape = (tokens // length, 2048 // size, length, size)
    q, k, v = (torch.randn(shape, device=DEVICE, dtype=torch.bfloat16, requires_grad=True)
               for _ in range(3))
    dy = torch.randn(shape, device=DEVICE, dtype=torch.bfloat16)
    work = 4e-12 * tokens * length * 2048 / (2 if causal else 1)
    name = f"head_{size}.length_{length}" + (".causal" if causal else "") + \
        (".dropout" if dropout > 0 else "")
    forward = lambda: F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=causal)
    report(f"attention.forward.{name}", "torch_sdpa_bfloat16", "teraflops_per_second", work,
           seconds(forward))
    y = forward()
    report(f"attention.backward.{name}", "torch_sdpa_bfloat16", "teraflops_per_second", 2.5 * work,
           seconds(lambda: torch.autograd.grad(y, (q, k, v), dy, retain_graph=True)))


def product(n):
    a, b = (torch.randn(n, n, device=DEVICE, dtype=torch.bfloat16) for _ in range(2))
    report("product", "torch_bfloat16", "teraflops_per_second", 2e-12 * n**3, seconds(lambda: a @ b))


def adam(n):
    parameter = nn.Parameter(torch.randn(n, device=DEVICE))
    parameter.grad = torch.randn_like(parameter)
    optimizer = torch.optim.Adam([parameter], lr=1e-4, fused=True)
    report("adam", "torch_fused", "gigabytes_per_second", 28e-9 * n, seconds(optimizer.step))


def encoder_layer(sequences, length):
    """The layer of "your training is not fast enough yet", pre-norm. `flat`: one parameter, of
    which the layer's are views. The loss is half the sum of the output's squares; what is before
    the layer wants a gradient too."""
    x = torch.randn(sequences, length, 128, device=DEVICE, requires_grad=True)
    modes = {"torch_compile": "default", "torch_compile_graphs": "reduce-overhead"}
    for subject in ("torch_eager", *modes, "torch_flat"):
        layer = nn.TransformerEncoderLayer(128, 16, 512, 0.1, batch_first=True,
                                           norm_first=True).to(DEVICE)
        parameters = list(layer.parameters())
        if subject == "torch_flat":
            flat = nn.Parameter(torch.cat([p.detach().flatten() for p in parameters]))
            flat.grad = torch.zeros_like(flat)
            offset = 0
            for p in parameters:
                part = slice(offset, offset + p.numel())
                p.data, p.grad = flat.data[part].view_as(p), flat.grad[part].view_as(p)
                offset += p.numel()
            parameters = [flat]
        optimizer = torch.optim.Adam(parameters, lr=1e-3, fused=True)
        output_of = torch.compile(layer, mode=modes[subject]) if subject in modes else layer
        y = None

        def forward():
            nonlocal y
            torch.compiler.cudagraph_mark_step_begin()  # the graph's last output may go
            y = output_of(x)

        def backward():
            y.backward(y.detach())

        def step():
            optimizer.step()
            optimizer.zero_grad(set_to_none=subject != "torch_flat")
            x.grad = None

        def everything():
            forward()
            backward()
            step()

        def queued(call):
            for _ in range(CALLS):
                call()

        def measure():
            times = seconds_of_each(forward, backward, step)
            for part, time_s in zip((".forward", ".backward", ".step", ".all"),
                                    [*times, seconds(everything)]):
                report("encoder_layer" + part, subject, "calls_per_second", 1, time_s)
            for part, call in ((".step_queued", optimizer.step), (".all_queued", everything)):
                report("encoder_layer" + part, subject, "calls_per_second", CALLS,
                       seconds(lambda: queued(call)))

        attempt("encoder_layer", subject, measure)
    forget()


class LanguageModel(nn.Module):
    def __init__(self, width, heads, layers, vocabulary):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        layer = nn.TransformerEncoderLayer(width, heads, width, 0.2, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.decoder = nn.Linear(width, vocabulary)

    def forward(self, tokens):
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1], device=DEVICE)
        return self.decoder(self.encoder(self.embedding(tokens), mask=mask, is_causal=True))


class Translator(nn.Module):
    def __init__(self, width, heads, inner, layers, vocabulary):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.transformer = nn.Transformer(width, heads, layers, layers, inner, 0.1,
                                          batch_first=True)
        self.generator = nn.Linear(width, vocabulary, bias=False)
        self.generator.weight = self.embedding.weight

    def forward(self, tokens):
        x = self.embedding(tokens)
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1], device=DEVICE)
        return self.generator(self.transformer(x, x, tgt_mask=mask, tgt_is_causal=True))


def training(suite, make_model, shape, vocabulary, smoothing):
    tokens = torch.arange(shape[0] * shape[1], device=DEVICE).reshape(shape) * 7919 % vocabulary
    labels = ((tokens + 7919) % vocabulary).flatten()
    for subject in ("torch_eager_bfloat16", "torch_compile_bfloat16"):
        torch.manual_seed(1)
        with torch.device(DEVICE):
            model = make_model()
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)

        def loss():
            with torch.autocast(DEVICE, dtype=torch.bfloat16):
                logits = model(tokens).flatten(0, 1)
                return F.cross_entropy(logits, labels, label_smoothing=smoothing)

        loss_of = torch.compile(loss) if "compile" in subject else loss

        def step():
            loss_of().backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

        attempt(suite, subject, lambda: report(suite, subject, "tokens_per_second",
                                               tokens.numel(), seconds(step)))
        del model, optimizer
        forget()


def language_models():
    if SMALL:
        toy = lambda: LanguageModel(64, 4, 2, 100)
        training("language_model_toy.step", toy, (2, 9), 100, 0.0)
        training("language_model_toy.step_longer", toy, (1, 20), 100, 0.0)
        return
    large = lambda: LanguageModel(4096, 16, 12, 28782)
    training("language_model_large.step", large, (20, 25), 28782, 0.0)
    training("language_model_large.step_16384", large, (16, 1024), 28782, 0.0)


def transformer():
    if SMALL:
        training("transformer_toy.step", lambda: Translator(64, 4, 64, 1, 100), (3, 8), 100, 0.1)
        return
    training("transformer_big.step", lambda: Translator(1024, 16, 4096, 6, 32768), (800, 32), 32768,
             0.1)


def attention_of_lengths():
    for length in (24,) if SMALL else (512, 2048, 8192, 16384):
        for causal in (False, True):
            for size in (64, 128):
                attempt(f"attention.head_{size}.length_{length}", "torch_sdpa_bfloat16",
                        lambda: attention(48 if SMALL else 16384, length, size, causal))


def attention_of_sentences():
    for length in (32, 64):
        for dropout in (0.0, 0.1):
            attempt(f"attention.head_64.length_{length}", "torch_sdpa_bfloat16",
                    lambda: attention(64 if SMALL else 16384, length, 64, False, dropout))


def attention_with_dropout():
    for size in (64, 128, 256):
        attempt(f"attention.head_{size}.dropout", "torch_sdpa_bfloat16",
                lambda: attention(*((128, 64) if SMALL else (16384, 1024)), size, True, 0.1))


SUITES = {
    "roofs": lambda: attempt("product", "torch_bfloat16", lambda: product(64 if SMALL else 8192)),
    "language_model": language_models,
    "transformer": transformer,
    "encoder_layer": lambda: encoder_layer(*((1, 5) if SMALL else (50, 80))),
    "adam": lambda: attempt("adam", "torch_fused", lambda: adam(10_000 if SMALL else 1_500_000_000)),
    "attention": attention_of_lengths,
    "attention_of_sentences": attention_of_sentences,
    "attention_with_dropout": attention_with_dropout,
    "rows": lambda: None,  # PyTorch does not fuse the same
    "translate": lambda: None,  # it has no search
    "loss_curves": lambda: None,  # of weft's precisions, beside each other
}


def main():
    names = [argument for argument in sys.argv[1:] if argument != "--small"] or list(SUITES)
    for name in names:
        if name not in SUITES:
            sys.exit(f"torch_gpu.py: there is no suite '{name}'")
    for name in names:
        SUITES[name]()
        forget()


main()
