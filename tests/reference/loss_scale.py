# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Prints the scales that tests/optim/loss_scale.cpp expects. Run: python3 loss_scale.py

Made with torch 2.15.0.
"""

import torch

scaler = torch.amp.GradScaler("cpu", growth_interval=3)
print("at first", scaler.get_scale())
weight = torch.nn.Parameter(torch.ones(1))
optimizer = torch.optim.SGD([weight], lr=0.1)
for is_finite in (True, True, True, True, True, False, True, True, True):
    optimizer.zero_grad()
    scaler.scale((weight * (1.0 if is_finite else float("inf"))).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    print(is_finite, scaler.get_scale(), scaler._get_growth_tracker())
