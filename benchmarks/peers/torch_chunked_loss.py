# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Generator and loss of benchmarks/chunked_loss.cpp in PyTorch: all positions at once, or, as
torch_chunked, `chunk` positions of each sentence at a time, each with its own backward pass."""
import torch
import torch.nn.functional as F

from peer import Clock, compiled, memory, serve, settings

C, V = 512, 32000


def numbers(count, divisor, shift):
    i = torch.arange(count)
    return (((i * 7919 + 13) % 2001).float() / divisor) - shift


def main():
    s = settings()
    B, T = s["sentences"], s["length"]
    weight = numbers(V * C, 20000.0, 0.05).reshape(V, C).requires_grad_()
    x = numbers(B * T * C, 500.0, 2.0).reshape(B, T, C).requires_grad_()
    labels = (37 * torch.arange(B * T) % V).reshape(B, T)
    chunk = s["chunk"] if s["variant"] == "torch_chunked" else T
    loss_of = compiled(lambda x, labels: F.cross_entropy(
        F.linear(x, weight).flatten(0, 1), labels.flatten(), label_smoothing=0.1,
        reduction="sum"), s["variant"])

    def once():
        weight.grad = x.grad = None
        total = 0.0
        for begin in range(0, T, chunk):
            part = slice(begin, begin + chunk)
            loss = loss_of(x[:, part], labels[:, part])
            loss.backward()
            total += loss.item()
        return total

    def repeat():
        clock = Clock()
        once()
        return {"step": clock.lap()}

    serve({"load": lambda path: True, "check": lambda: [once(), x.grad.norm().item()],
           "repeat": repeat, "memory": memory})


main()
