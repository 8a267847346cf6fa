# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""The step of benchmarks/language_model_step.cpp in PyTorch, as its pipeline tutorial has it."""
import math

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import nn

from peer import Trainer, load_encoder_layer, load_linear, serve_step, settings
from positions import sinusoids

C, H, LAYERS, VOCABULARY = 512, 16, 4, 28782


class Model(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, C)
        layer = nn.TransformerEncoderLayer(C, H, C, dropout, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.decoder = nn.Linear(C, VOCABULARY)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("positions", sinusoids(1024, C))

    def forward(self, tokens):
        length = tokens.shape[1]
        x = self.dropout(self.embedding(tokens) * math.sqrt(C) + self.positions[:length])
        mask = nn.Transformer.generate_square_subsequent_mask(length)
        return self.decoder(self.encoder(x, mask=mask, is_causal=True))

    @torch.no_grad()
    def load(self, path):
        weights = load_file(path)
        self.embedding.weight.copy_(weights["embedding.weight"])
        for i, layer in enumerate(self.encoder.layers):
            load_encoder_layer(layer, weights, f"encoder.layers.{i}")
        load_linear(self.decoder, weights, "generator")


def main():
    s = settings()
    model = Model(s["dropout"])
    i = torch.arange(s["sequences"] * s["length"]).reshape(s["sequences"], s["length"])
    tokens, labels = (((i + shift) * 7919 + 13) % VOCABULARY for shift in (0, 1))
    serve_step(model,
               lambda: F.cross_entropy(model(tokens).flatten(0, 1), labels.flatten()), s["variant"],
               lambda: Trainer(model, s["variant"], torch.optim.SGD, clip_norm=0.5, lr=0.1))


main()
