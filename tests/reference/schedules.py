# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Prints the rates that tests/optim/schedules.cpp expects. Run: python3 schedules.py

Made with torch 2.15.0: its optimizer is stepped and its rate read before each step. The rule of
Noam is that of The Annotated Transformer, in a LambdaLR whose step 0 is update 1. fairseq's
inverse_sqrt is written down again after its description: linspace(initial, peak, warmup)[update],
then peak * sqrt(warmup) / sqrt(update). LinearLR and CosineAnnealingLR are read after as many steps
as there were updates since the warm-up.
"""

import torch
from torch.optim.lr_scheduler import CosineAnnealingLR, LambdaLR, LinearLR, StepLR


def noam(update, d_model, factor, warmup):
    return factor * (d_model ** -0.5 * min(update ** -0.5, update * warmup ** -1.5))


def inverse_square_root(update, peak, warmup, initial):
    if update < warmup:
        return initial + update * (peak - initial) / warmup
    return peak * warmup ** 0.5 * update ** -0.5


def rates(make, rate, updates):
    """The rate of each of the updates, as torch.optim sees it."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=rate)
    scheduler = make(optimizer)
    found = []
    for update in range(1, max(updates) + 1):
        if update in updates:
            found.append((update, optimizer.param_groups[0]["lr"]))
        optimizer.step()
        scheduler.step()
    return found


def show(name, pairs):
    print(name, ", ".join(f"{{{update}, {rate:.17g}}}" for update, rate in pairs))


show("Noam{512, 1.0, 4000}",
     rates(lambda o: LambdaLR(o, lambda step: noam(step + 1, 512, 1.0, 4000)), 1.0,
           [1, 2, 3999, 4000, 4001, 20000]))
show("Noam{64, 2.0, 10}",
     rates(lambda o: LambdaLR(o, lambda step: noam(step + 1, 64, 2.0, 10)), 1.0, [1, 10, 11, 40]))
show("InverseSquareRoot{0.005, 2000, 1e-7}",
     [(u, inverse_square_root(u, 0.005, 2000, 1e-7)) for u in (1, 2, 1999, 2000, 2001, 8000)])
show("InverseSquareRoot{5e-4, 4, 0}",
     [(u, inverse_square_root(u, 5e-4, 4, 0)) for u in (1, 3, 4, 5, 16)])
show("StepDecay{0.5, 3, 0.1}", rates(lambda o: StepLR(o, 3, 0.1), 0.5, [1, 3, 4, 6, 7, 30]))
show("StepDecay{5.0, 1, 0.95}", rates(lambda o: StepLR(o, 1, 0.95), 5.0, [1, 2, 3, 50]))


def decay(make, peak, warmup, updates):
    """What a decay gives after `warmup` updates: its step 0 is the last update of the warm-up."""
    return [(warmup + step - 1, rate)
            for step, rate in rates(make, peak, [u - warmup + 1 for u in updates])]


show("LinearDecay{0.05, 100, 20}",
     decay(lambda o: LinearLR(o, 1.0, 0.0, 80), 0.05, 20, [20, 21, 60, 99, 100, 130]))
show("LinearDecay{0.5, 10, 0, 0.1}",
     decay(lambda o: LinearLR(o, 1.0, 0.2, 10), 0.5, 0, [1, 5, 10, 11]))
show("CosineDecay{0.003, 100, 20}",
     decay(lambda o: CosineAnnealingLR(o, 80), 0.003, 20, [20, 21, 60, 90, 100]))
show("CosineDecay{0.5, 10, 0, 0.1}",
     decay(lambda o: CosineAnnealingLR(o, 10, 0.1), 0.5, 0, [1, 5, 9, 10]))
