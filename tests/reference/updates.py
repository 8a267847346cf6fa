# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Prints what tests/ops/updates.cpp expects: three steps of PyTorch's optimizers in double.

The values start as 1, -2, 3, ...; the gradient of step t is sin(i + 10 t). Needs torch.
"""
import torch

N = 5


def run(optimizer, **options):
    values = torch.tensor([(i + 1) * (-1) ** i for i in range(N)], dtype=torch.float64,
                          requires_grad=True)
    stepper = optimizer([values], foreach=False, **options)
    for t in range(1, 4):
        values.grad = torch.tensor([i + 10.0 * t for i in range(N)], dtype=torch.float64).sin()
        stepper.step()
    print(optimizer.__name__, options)
    print("  {" + ", ".join(f"{value:.17g}" for value in values.tolist()) + "}")


run(torch.optim.Adam, lr=0.1, betas=(0.9, 0.98), eps=1e-9)
run(torch.optim.Adam, lr=0.01, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.1)
run(torch.optim.AdamW, lr=0.01, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.1)
run(torch.optim.SGD, lr=0.1)
run(torch.optim.SGD, lr=0.1, weight_decay=0.01)
run(torch.optim.SGD, lr=0.1, momentum=0.9)
run(torch.optim.SGD, lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=True)
