# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Prints what tests/testing/reference*.cpp expect, from PyTorch in double. Needs torch."""
import torch
import torch.nn.functional as F

x = torch.tensor([[0.5, -1.25, 2.0, 0.0]], dtype=torch.float64)
gain = torch.tensor([1.0, 2.0, -1.0, 0.5], dtype=torch.float64)
bias = torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64)


def show(name, values):
    print(name, ", ".join(f"{value:.17g}" for value in values.flatten().tolist()))


show("softmax", F.softmax(x, -1))
show("layer_norm", F.layer_norm(x, (4,), gain, bias, 1e-5))
show("rms_norm", F.rms_norm(x, (4,), gain, 1e-5))
show("cross_entropy", F.cross_entropy(x, torch.tensor([2])))
show("smoothed", F.cross_entropy(x, torch.tensor([1]), label_smoothing=0.1))
show("gelu", F.gelu(x))
show("silu", F.silu(x))

q, k, v = (torch.tensor(rows, dtype=torch.float64, requires_grad=True) for rows in (
    [[0.5, -1.0], [1.5, 0.25], [-0.75, 2.0]],
    [[1.0, 0.5], [-0.5, 1.25], [0.25, -2.0]],
    [[2.0, -1.0], [0.5, 0.75], [-1.5, 1.0]]))
out = F.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True)[0]
out.backward(torch.tensor([[1.0, -0.5], [0.25, 2.0], [-1.0, 0.75]], dtype=torch.float64))
show("attention", out.detach())
show("dq", q.grad)
show("dk", k.grad)
show("dv", v.grad)
