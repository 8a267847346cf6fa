# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""The positions of "Attention is all you need"."""
import math

import torch


def sinusoids(longest, channels):
    """Sines in even channels, cosines in odd ones: (longest, channels)."""
    t = torch.arange(longest).unsqueeze(1)
    rates = torch.exp(torch.arange(0, channels, 2) * (-math.log(10000.0) / channels))
    table = torch.zeros(longest, channels)
    table[:, 0::2], table[:, 1::2] = torch.sin(t * rates), torch.cos(t * rates)
    return table
