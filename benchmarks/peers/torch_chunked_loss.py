# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Generator and loss of benchmarks/chunked_loss.cpp in PyTorch, all positions at once."""
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
    loss_of = compiled(lambda: F.cross_entropy(
        F.linear(x, weight).flatten(0, 1), labels.flatten(), label_smoothing=0.1,
        reduction="sum"), s["variant"])

    def once():
        weight.grad = x.grad = None
        loss = loss_of()
        loss.backward()
        return loss.item()

    def repeat():
        clock = Clock()
        once()
        return {"step": clock.lap()}

    serve({"load": lambda path: True, "check": lambda: [once(), torch.linalg.vector_norm(x.grad, dtype=torch.float64).item()],
           "repeat": repeat, "memory": memory})


main()
